package starter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/contract"
)

// DefaultWatchInterval is the default of a watch. A snapshot costs the server one describe and one query.
const DefaultWatchInterval = time.Second

// Watch yields a snapshot at once, then one per interval, and a last one with the result as soon as the run has
// ended. It stops after that, after a permanent error, or when ctx ends. A temporary failure shows as Unanswered.
func (r Runs) Watch(ctx context.Context, ref RunRef, interval time.Duration) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := r.endOf(ctx, ref)
		tick := time.NewTicker(cmp.Or(interval, DefaultWatchInterval))
		defer tick.Stop()
		for last := unseen(ref); ; {
			snapshot, err := r.Show(ctx, ref)
			_, invalid := errors.AsType[*serviceerror.InvalidArgument](err)
			switch {
			case ctx.Err() != nil:
				yield(last, context.Cause(ctx))
				return
			case errors.Is(err, ErrNotFound), invalid:
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
				// A closed channel would make the loop spin while the server still reports Running.
				ended = nil
			case <-tick.C:
			}
		}
	}
}

func unseen(ref RunRef) Snapshot {
	run := Run{RunRef: ref, Kind: ref.Kind(), Status: StatusRunning}
	if run.DAG, _, _ = contract.DAGOfWorkflow(ref.WorkflowID); run.Kind == KindGroup {
		run.JobType = JobTypeOfRun(ref.WorkflowID)
	}
	return Snapshot{Run: run.WithStanding()}
}

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

// awaitInterval is the interval of Await. The end itself is noticed by a long poll.
const awaitInterval = time.Minute

// Await waits until the run has ended. A run without a result gives a [*RunFailedError]. Check the outcome.
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

// Result is Await for a group, and returns its result.
func (r Runs) Result(ctx context.Context, ref RunRef) (contract.JobGroupResult, error) {
	ended, err := r.Await(ctx, ref)
	if err == nil && ended.Result == nil {
		err = Invalidf("run %s is a DAG run: use DAGs.Await", ref.WorkflowID)
	}
	if err != nil {
		return contract.JobGroupResult{}, err
	}
	return *ended.Result, nil
}
