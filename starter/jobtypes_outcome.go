package starter

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// AddOutcomes adds to the newest runs of job types, at most that many of each, how
// they ended. Each run is asked for by itself, which unlike a list is exact at once
// and not limited per namespace. What the server keeps no more stays empty.
func (j JobTypes) AddOutcomes(ctx context.Context, types []JobType, most int) {
	var group errgroup.Group
	group.SetLimit(planParallel)
	for i := range types {
		recent := types[i].Recent
		for k := range recent[:min(most, len(recent))] {
			group.Go(func() error {
				j.addOutcome(ctx, &recent[k])
				return nil
			})
		}
	}
	_ = group.Wait() // Nothing fails: see addOutcome.
}

func (j JobTypes) addOutcome(ctx context.Context, run *ScheduledRun) {
	// Without the run id: the group may have continued as new.
	described, err := j.client.Runs().describe(ctx, RunRef{WorkflowID: run.WorkflowID})
	if err != nil {
		j.client.logger.Debug("how a run ended is not known", "run", run.WorkflowID, "error", err)
		return
	}
	run.Status, run.Outcome, run.EndedAt = described.Status, described.Outcome, described.Ended
}
