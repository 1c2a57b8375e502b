package starter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// DefaultWatchInterval is how often a watched run is asked. Each look costs the
// server one describe and one query, and visibility nothing.
const DefaultWatchInterval = time.Second

// Watch yields a snapshot of the run at once, then one per interval, and a last
// one, with the result and all its failures counted, as soon as it has ended: the
// end is a long poll, not noticed by the clock. It stops after the last one, after a failure that
// retrying cannot heal, or when ctx ends. A server that is away for a moment
// does not end it: that shows as Unanswered.
func (r Runs) Watch(ctx context.Context, ref RunRef, interval time.Duration) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := r.endOf(ctx, ref)
		tick := time.NewTicker(cmp.Or(interval, DefaultWatchInterval))
		defer tick.Stop()
		for last := unseen(ref); ; {
			snapshot, err := r.Show(ctx, ref)
			switch {
			case ctx.Err() != nil:
				yield(last, context.Cause(ctx))
				return
			case errors.Is(err, ErrNotFound):
				yield(last, err)
				return
			case err != nil:
				snapshot = last.unanswered(err)
			}
			snapshot.failures, snapshot.uncounted = r.Failures(ctx, snapshot)
			last = snapshot
			if !yield(snapshot, nil) || !snapshot.Open() {
				return
			}
			select {
			case <-ctx.Done():
			case <-ended:
				// Once: a closed channel would make the loop spin while the
				// server's describe still says Running.
				ended = nil
			case <-tick.C:
			}
		}
	}
}

// unseen is a run of which nothing is known but its name.
func unseen(ref RunRef) Snapshot {
	run := Run{RunRef: ref, Kind: ref.Kind(), Status: StatusRunning}
	if run.DAG, _, _ = contract.DAGOfWorkflow(ref.WorkflowID); run.Kind == KindGroup {
		run.JobType = JobTypeOfRun(ref.WorkflowID)
	}
	return Snapshot{Run: run}
}

// endOf returns a channel that is closed when the run has ended or can no
// longer be waited for.
func (r Runs) endOf(ctx context.Context, ref RunRef) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.client.temporal.GetWorkflow(ctx, ref.WorkflowID, ref.RunID).Get(ctx, nil); err != nil {
			r.client.logger.Debug("wait for the end of a run", "run", ref.WorkflowID, "error", err)
		}
	}()
	return ended
}

// awaitInterval is how often a run is looked at whose end is waited for: the end
// itself is a long poll.
const awaitInterval = time.Minute

// Await waits until the run has ended. A run that left nothing gives a
// [*RunFailedError]; a failed or canceled one is no error, look at the outcome.
func (r Runs) Await(ctx context.Context, ref RunRef) (last Snapshot, err error) {
	for last, err = range r.Watch(ctx, ref, awaitInterval) {
		if err != nil {
			return last, fmt.Errorf("wait for run %s: %w", ref.WorkflowID, err)
		}
	}
	if last.Result == nil && last.DAGResult == nil {
		return last, &RunFailedError{Ref: ref, Message: last.Failure}
	}
	return last, nil
}

// Result is Await for a group.
func (r Runs) Result(ctx context.Context, ref RunRef) (contract.JobGroupResult, error) {
	ended, err := r.Await(ctx, ref)
	if err != nil || ended.Result == nil {
		return contract.JobGroupResult{}, err
	}
	return *ended.Result, nil
}
