package workers

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/registry"
)

// heartbeat beats at the registry's interval, unless the SDK's is short enough. The SDK's interval is fixed before
// the registry's is known.
type heartbeat struct {
	service   registry.Beats
	namespace string
	worker    contract.WorkerRegistration
	started   time.Time
	// sdk is the interval of the SDK's heartbeats; 0 if unknown.
	sdk time.Duration
	// interval is the registry's; 0 if unknown.
	interval atomic.Int64
	changed  chan struct{}
	stopping func() bool
	debug    func(message string, args ...any)
}

func (h *heartbeat) follow(config *contract.FleetConfig) {
	if config == nil || h.interval.Swap(int64(config.HeartbeatInterval)) == int64(config.HeartbeatInterval) {
		return
	}
	select {
	case h.changed <- struct{}{}:
	default: // The loop has not seen the last change yet.
	}
}

func (h *heartbeat) pause() time.Duration {
	interval := time.Duration(h.interval.Load())
	if h.sdk > 0 && h.sdk <= interval {
		return 0
	}
	return interval
}

// The interval includes the call, so a slow server does not make a worker look silent.
func (h *heartbeat) run(ctx context.Context) {
	for ctx.Err() == nil {
		var due <-chan time.Time
		if pause := h.pause(); pause > 0 {
			due = time.After(pause)
			h.beat(ctx)
		}
		select {
		case <-due:
		case <-h.changed:
		case <-ctx.Done():
		}
	}
}

// beat sends one heartbeat. A failed one is not repeated: the next one follows.
func (h *heartbeat) beat(ctx context.Context) {
	beat := registry.Beat{Namespace: h.namespace, Worker: h.worker, Started: h.started, Stopping: h.stopping()}
	if err := beat.Send(ctx, h.service); err != nil && ctx.Err() == nil {
		h.debug("a heartbeat was not taken", "worker", h.worker.ID, "error", err)
	}
}
