package refs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/lib/suggest"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// nearWithin bounds the search for near names, and nearest their number.
const (
	nearWithin = 400 * time.Millisecond
	nearest    = 3
)

// Kinds lists the kinds of a name. A silent control plane is an error only if nothing else has the name.
func (r Resolver) Kinds(ctx context.Context, name string, wanted []ref.Kind) ([]ref.Kind, error) {
	var (
		group errgroup.Group
		lock  sync.Mutex
		found []ref.Kind
		fault error
	)
	for _, kind := range wanted {
		group.Go(func() error {
			has, err := r.has(ctx, kind, name)
			lock.Lock()
			defer lock.Unlock()
			if has {
				found = append(found, kind)
			}
			fault = errors.Join(fault, err)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("find %s: %w", name, err)
	}
	if len(found) > 0 {
		fault = nil
	}
	slices.Sort(found)
	return found, fault
}

func (r Resolver) has(ctx context.Context, kind ref.Kind, name string) (bool, error) {
	switch kind {
	case ref.JobType:
		_, err := r.client.DescribeSchedule(ctx, name)
		if errors.Is(err, starter.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	case ref.Worker:
		workers, err := r.client.Workers().List(ctx, contract.WorkersQueryInput{})
		return slices.ContainsFunc(workers, func(w contract.WorkerDetail) bool { return w.Registration.ID == name }), err
	case ref.DAG:
		runs, err := r.runs.List(ctx, starter.RunFilter{DAG: name, Limit: 1})
		return len(runs) > 0, err
	case ref.Lane, ref.Pool, ref.Object, ref.Receiver, ref.APIKey:
	}
	return false, nil // A bare name never means one of these.
}

// Unknown is the error for a name that nothing has: with near names, and the command that lists all.
func (r Resolver) Unknown(ctx context.Context, name string, wanted []ref.Kind) error {
	ctx, cancel := context.WithTimeout(ctx, nearWithin)
	defer cancel()
	var kinds, near []string
	known := map[string]bool{}
	for _, kind := range []ref.Kind{ref.JobType, ref.Worker, ref.DAG} {
		if !slices.Contains(wanted, kind) {
			continue
		}
		kinds = append(kinds, words[kind])
		for _, each := range r.Names(ctx, kind) {
			known[each] = true
		}
	}
	for len(near) < nearest {
		best := suggest.Word(name, slices.Sorted(maps.Keys(known)))
		if best == "" {
			break
		}
		near = append(near, best)
		delete(known, best)
	}
	hint := action.See(action.ListJobTypes, nil)
	if len(wanted) == 1 && wanted[0] == ref.Worker {
		hint = action.See(action.ListWorkers, nil)
	}
	text := fmt.Sprintf("%s is no %s", name, either(kinds))
	if len(near) > 0 {
		text += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return &unknownError{text + " (" + hint + ")"}
}

func either(kinds []string) string {
	last := len(kinds) - 1
	if last < 1 {
		return strings.Join(kinds, "")
	}
	return strings.Join(kinds[:last], ", ") + " or " + kinds[last]
}

// words are the kinds of bare names as messages write them.
var words = map[ref.Kind]string{ //nolint:gochecknoglobals // constant table
	ref.JobType: "job type", ref.Worker: "worker", ref.DAG: "DAG",
}

type unknownError struct{ text string }

func (e *unknownError) Error() string { return e.text }

// Is makes errors.Is(err, starter.ErrNotFound) true.
func (*unknownError) Is(target error) bool { return target == starter.ErrNotFound }

// Names lists the names of a kind, as far as the server answers in time.
func (r Resolver) Names(ctx context.Context, kind ref.Kind) (names []string) {
	switch kind {
	case ref.JobType:
		types, _ := jobtypes.Of(r.client).List(ctx)
		for _, known := range types {
			names = append(names, known.Name)
		}
	case ref.Worker:
		workers, _ := r.client.Workers().List(ctx, contract.WorkersQueryInput{})
		for _, worker := range workers {
			names = append(names, worker.Registration.ID)
		}
	case ref.DAG:
		runs, _ := r.runs.List(ctx, starter.RunFilter{Kind: starter.KindDAG, Limit: listed})
		for _, run := range runs {
			names = append(names, run.DAG)
		}
	case ref.Receiver:
		view, _ := r.client.Notifications().View(ctx)
		for _, receiver := range view.Receivers {
			names = append(names, receiver.Name)
		}
	case ref.Pool, ref.Lane, ref.Object, ref.APIKey:
	}
	slices.Sort(names)
	return slices.Compact(names)
}
