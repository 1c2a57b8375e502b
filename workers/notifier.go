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
	// roomSettle is the time for which a slot must be free before a message. The slot's last run sends its next job
	// within that time.
	roomSettle = 200 * time.Millisecond
	// roomTimeout bounds one message; roomRetry is the pause after a failure.
	roomTimeout = 5 * time.Second
	roomRetry   = 5 * time.Second
	// maxRefusals bounds the stored runs. Those beyond it retry later by themselves.
	maxRefusals = 256
)

type refusal struct{ workflow, handler string }

// refusals holds, in order, the runs whose jobs were refused for lack of a slot, each once.
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

// notifier sends messages to runs with refused jobs, one at a time. Without a message a run retries by itself.
type notifier struct {
	refused *refusals
	gate    *gate
	// others counts the running jobs of other groups, in total and of one handler.
	others func(group, handler string) (all, ofHandler int)
	// A [serviceerror.NotFound] means that the workflow is gone.
	signal   func(ctx context.Context, workflow string, in contract.WorkerRoomInput) error
	worker   string
	instance string
	logger   *slog.Logger
}

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
