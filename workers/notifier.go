package workers

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	// roomSettle is how long a slot must be free before a run is told: the one that
	// had it sends its next job within that, and one that was told takes what it
	// needs before the next is told.
	roomSettle = 200 * time.Millisecond
	// roomTimeout bounds telling one, roomRetry is the wait after the server did
	// not take it.
	roomTimeout = 5 * time.Second
	roomRetry   = 5 * time.Second
	// maxRefusals bounds the runs that are remembered. Those beyond it try again by
	// themselves, only later.
	maxRefusals = 256
)

// refusal is a run of which a job was sent back, and the handler of the job.
type refusal struct{ workflow, handler string }

// refusals remembers, in order, whom this worker sent jobs back to for want of a
// slot, each once.
type refusals struct {
	mu   sync.Mutex
	list []refusal
}

func (r *refusals) note(one refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) < maxRefusals && !slices.Contains(r.list, one) {
		r.list = append(r.list, one)
	}
}

// take removes the first for whose handler there is room.
func (r *refusals) take(room func(handler string) bool) (one refusal, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, waits := range r.list {
		if room(waits.handler) {
			r.list = slices.Delete(r.list, i, i+1)
			return waits, true
		}
	}
	return refusal{}, false
}

// back returns one that was taken and could not be told.
func (r *refusals) back(one refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.list, one) {
		r.list = slices.Insert(r.list, 0, one)
	}
}

func (r *refusals) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list) == 0
}

// notifier tells those whose jobs were sent back that there is room again: one at a
// time, the one that has waited longest first. Nothing depends on it: a run that is not
// told tries again by itself.
type notifier struct {
	refused *refusals
	gate    *gate
	// others counts what jobs of other groups run, in all and of one handler.
	others func(group, handler string) (all, ofHandler int)
	// signal tells a group or run; a workflow that is gone is a
	// [serviceerror.NotFound].
	signal func(ctx context.Context, workflow string, in contract.WorkerRoomInput) error
	worker string
	// instance is the process.
	instance string
	logger   *slog.Logger
}

// run continues until ctx ends.
func (h *notifier) run(ctx context.Context) {
	for {
		select {
		case <-h.gate.changed:
		case <-ctx.Done():
			return
		}
		for h.tellOne(ctx) {
		}
	}
}

// tellOne reports whether there may be another one to tell.
func (h *notifier) tellOne(ctx context.Context) bool {
	if h.refused.empty() || rpc.Wait(ctx, roomSettle) != nil {
		return false
	}
	next, ok := h.refused.take(h.gate.Room)
	if !ok {
		return false
	}
	err := h.tell(ctx, next)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); err == nil || gone {
		return true
	}
	h.logger.Debug("could not tell a group that there is room", "worker", h.worker, "group", next.workflow, "error", err)
	h.refused.back(next)
	return rpc.Wait(ctx, roomRetry) == nil
}

func (h *notifier) tell(ctx context.Context, one refusal) error {
	ctx, cancel := context.WithTimeout(ctx, roomTimeout)
	defer cancel()
	in := contract.WorkerRoomInput{Worker: h.worker, Instance: h.instance, Handler: one.handler, At: time.Now().UTC()}
	in.Others, in.OthersOfHandler = h.others(one.workflow, one.handler)
	return h.signal(ctx, one.workflow, in)
}
