package jobtypes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/starter"
)

// listedMost is the most runs and next ticks of a job type in a list.
const listedMost = 5

// Reread updates the named job types in a list from visibility, which may lag by seconds.
func (c Client) Reread(ctx context.Context, listed []JobType, names []string) ([]JobType, error) {
	found := make([]*JobType, len(names))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(planParallel)
	for i, name := range names {
		group.Go(func() error {
			read, err := c.schedules().jobType(groupCtx, name)
			if _, foreign := errors.AsType[*starter.RefusedError](err); foreign || errors.Is(err, starter.ErrNotFound) {
				return nil
			}
			found[i] = read
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return listed, fmt.Errorf("read the changed job types: %w", err)
	}
	all := slices.DeleteFunc(slices.Clone(listed), func(t JobType) bool { return slices.Contains(names, t.Name) })
	for _, read := range found {
		if read != nil {
			all = append(all, read.asListed())
		}
	}
	slices.SortFunc(all, func(a, b JobType) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func (t JobType) asListed() JobType {
	t.Recent, t.Next = t.Recent[:min(len(t.Recent), listedMost)], t.Next[:min(len(t.Next), listedMost)]
	t.Counts, t.CreatedAt, t.UpdatedAt = JobTypeCounters{}, time.Time{}, time.Time{}
	return t
}
