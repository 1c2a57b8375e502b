package retention

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
)

// Options describe a [Sweeper].
type Options struct {
	Client    Client
	Namespace string
	// Age after its end at which a run is deleted.
	After time.Duration
	// Default one hour. After an incomplete sweep it is a sixtieth of that.
	Every time.Duration
	// Pause is the time between two deletions. Default 50ms.
	Pause  time.Duration
	Logger *slog.Logger
}

// Sweeper deletes old runs.
type Sweeper struct {
	options Options

	mu    sync.Mutex
	state State
}

// State holds the totals of a sweeper since its creation.
type State struct {
	Deleted int
	// Fault of the last sweep; nil if it was complete.
	Fault error
}

// New returns a sweeper. A namespace may have several.
func New(options Options) *Sweeper {
	options.Every = cmp.Or(options.Every, time.Hour)
	options.Pause = cmp.Or(options.Pause, 50*time.Millisecond)
	return &Sweeper{options: options}
}

// State returns the totals so far.
func (s *Sweeper) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Sweep deletes at most 2,000 runs that ended before the limit.
func (s *Sweeper) Sweep(ctx context.Context, now time.Time) (Swept, error) {
	work := &sweep{client: s.options.Client, namespace: s.options.Namespace, before: now.Add(-s.options.After), pause: s.options.Pause, most: mostDeleted}
	err := work.run(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Deleted += work.Deleted
	if ctx.Err() == nil {
		s.state.Fault = err
	}
	return work.Swept, err
}

// Keep sweeps until ctx ends. It begins at a random moment, so that control planes do not sweep together. A repeated
// fault is logged once.
func (s *Sweeper) Keep(ctx context.Context) {
	wait, failing := time.Duration(rand.Int64N(int64(s.options.Every/10)+1)), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		swept, err := s.Sweep(ctx, time.Now())
		if wait = s.options.Every; swept.More || err != nil && !isDenied(err) {
			wait /= 60
		}
		if ctx.Err() != nil {
			return
		}
		s.tell(swept, err, failing)
		failing = err != nil
	}
}

func (s *Sweeper) tell(swept Swept, err error, failing bool) {
	log := s.options.Logger
	if swept.Deleted > 0 {
		log.Info("Runs that ended long ago were deleted.", "deleted", swept.Deleted, "after", s.options.After)
	}
	if err == nil || failing {
		return
	}
	if isDenied(err) {
		log.Warn("RETENTION_DENIED: old runs stay, because these credentials may not delete runs. "+
			"Allow DeleteWorkflowExecution in the namespace, or remove retention.runs.", "namespace", s.options.Namespace, "error", err)
		return
	}
	log.Warn("Old runs cannot be deleted.", "namespace", s.options.Namespace, "error", err)
}

func isDenied(err error) bool {
	_, denied := errors.AsType[*serviceerror.PermissionDenied](err)
	return denied
}
