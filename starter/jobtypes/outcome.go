package jobtypes

import (
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/starter"
)

// AddOutcomes adds outcomes to the newest runs of job types, at most that many of each. A request per run has no lag;
// for many job types a list comes first. An ended run is removed from Running, and [JobType.Standing] shows whether the others wait.
func (c Client) AddOutcomes(ctx context.Context, types []JobType, most int) {
	if len(types) > exactOutcomes {
		c.addListed(ctx, types, most)
	}
	var group errgroup.Group
	group.SetLimit(planParallel)
	for i := range types {
		recent := types[i].Recent
		for k := range recent[:min(most, len(recent))] {
			if recent[k].Status != "" {
				continue
			}
			group.Go(func() error {
				c.addOutcome(ctx, &recent[k])
				return nil
			})
		}
	}
	_ = group.Wait() // addOutcome ignores errors.
	for i := range types {
		types[i].Running = stillRunning(types[i])
	}
	c.addWaits(ctx, types)
}

// A Schedule notices the end of a run with the next tick only, unless it is queried.
func stillRunning(known JobType) []starter.RunRef {
	return slices.DeleteFunc(known.Running, func(open starter.RunRef) bool {
		return slices.ContainsFunc(known.Recent, func(run ScheduledRun) bool { return run.RunRef == open && !run.EndedAt.IsZero() })
	})
}

// startSkew is ample: the Schedule notes the start of a run milliseconds after it.
const startSkew = time.Second

// exactOutcomes is the most job types whose runs are requested one by one.
const exactOutcomes = 20

func (c Client) addListed(ctx context.Context, types []JobType, most int) {
	wanted := map[string]*ScheduledRun{}
	for i := range types {
		recent := types[i].Recent
		for k := range recent[:min(most, len(recent))] {
			if id := recent[k].WorkflowID; recent[k].Status == "" && wanted[id] == nil { // The newest comes first.
				wanted[id] = &recent[k]
			}
		}
	}
	runs, err := c.client.Runs().Named(ctx, slices.Collect(maps.Keys(wanted)))
	if err != nil {
		c.client.Logger().Debug("how runs ended is not listed", "error", err)
	}
	slices.SortFunc(runs, func(a, b starter.Run) int { return a.Started.Compare(b.Started) })
	for _, run := range runs {
		of := wanted[run.WorkflowID]
		if !run.Ended.IsZero() && run.Ended.Add(startSkew).Before(of.StartedAt) {
			continue // The Schedule has started it again under its id.
		}
		of.Status, of.Outcome, of.EndedAt = run.Status, run.Outcome, run.Ended
	}
}

func (c Client) addOutcome(ctx context.Context, run *ScheduledRun) {
	// Without the run id: the group may have continued as new.
	described, err := c.client.Runs().Describe(ctx, starter.RunRef{WorkflowID: run.WorkflowID})
	if err != nil {
		c.client.Logger().Debug("how a run ended is not known", "run", run.WorkflowID, "error", err)
		return
	}
	run.Status, run.Outcome, run.EndedAt = described.Status, described.Outcome, described.Ended
}
