package starter

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// DefaultWatchInterval is how often a watched run is asked. Each look costs the
// server one describe and one query, and visibility nothing.
const DefaultWatchInterval = time.Second

// Watch yields a snapshot of the run at once, then one per interval, and a last
// one, with the result, as soon as it has ended: the end is a long poll, not
// noticed by the clock. It stops after the last one, after a failure that
// retrying cannot heal, or when ctx ends. A server that is away for a moment
// does not end it: that shows as Unanswered.
func (r Runs) Watch(ctx context.Context, ref RunRef, interval time.Duration) iter.Seq2[Snapshot, error] {
	first := Snapshot{Run: Run{RunRef: ref, JobType: JobTypeOfRun(ref.WorkflowID), Status: StatusRunning}}
	return watch(ctx, r.client, ref, interval, first, r.Show)
}

// watched is a snapshot of something that ends.
type watched[S any] interface {
	Open() bool
	// unanswered is the snapshot with why there is no newer one.
	unanswered(why error) S
}

// watch is the loop of all Watch methods. last is what is yielded as long as
// nothing is known.
func watch[S watched[S]](ctx context.Context, c *Client, ref RunRef, interval time.Duration, last S, show func(context.Context, RunRef) (S, error)) iter.Seq2[S, error] {
	return func(yield func(S, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := c.Runs().endOf(ctx, ref)
		tick := time.NewTicker(cmp.Or(interval, DefaultWatchInterval))
		defer tick.Stop()
		for last := last; ; {
			snapshot, err := show(ctx, ref)
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

// Result waits until the run has ended and returns what it left. A run that
// left nothing gives a [*RunFailedError].
func (r Runs) Result(ctx context.Context, ref RunRef) (contract.JobGroupResult, error) {
	return r.result(ctx, ref)
}
