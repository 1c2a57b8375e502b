package fleet

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Each worker requests its settings within a minute, and would look silent with a shorter interval until then.
const adoptTime = contract.RebuildTime

type thresholds struct {
	configured bool
	config     contract.FleetConfig
	next       contract.FleetConfig
	adoptAt    time.Time
}

// Config returns the thresholds that were set last. Workers beat by these.
func (t *thresholds) Config() contract.FleetConfig {
	if !t.adoptAt.IsZero() {
		return t.next
	}
	return t.config
}

// Thresholds returns the thresholds in force, by which workers are judged.
func (t *thresholds) Thresholds() contract.FleetConfig { return t.config }

// Configured reports whether the thresholds are known.
func (t *thresholds) Configured() bool { return t.configured }

// settle is the time without a gap before a worker's state may get worse.
func (t *thresholds) settle() time.Duration {
	return settleIntervals * t.config.HeartbeatInterval.Std()
}

func (e Configure) apply(r *Registry, now time.Time) {
	config := contract.FleetConfig(e).WithDefaults()
	if r.configured && config == r.Config() {
		return
	}
	shorter := config.HeartbeatInterval < r.config.HeartbeatInterval
	r.next, r.adoptAt = config, now
	if r.configured && shorter && len(r.order) > len(r.deleted) {
		r.adoptAt = now.Add(adoptTime)
		return
	}
	r.adopt()
}

func (r *Registry) adopt() {
	r.configured, r.config, r.adoptAt = true, r.next, time.Time{}
	for _, id := range r.order {
		r.await(r.workers[id])
	}
	r.decide(Observe{})
}

func (t *thresholds) calledFor(w *worker, fresh bool, silent time.Duration) contract.WorkerState {
	switch {
	case w.Left:
		return contract.WorkerOffline
	case fresh || silent < t.config.UnreachableAfter.Std():
		return contract.WorkerOnline
	case silent < t.config.OfflineAfter.Std():
		return contract.WorkerUnreachable
	default:
		return contract.WorkerOffline
	}
}

func (t *thresholds) worsens(w *worker, p *contract.WorkerPulse) time.Time {
	switch {
	case p == nil || w.Liveness == contract.WorkerDeleted:
		return time.Time{}
	case w.Liveness == contract.WorkerOffline:
		return t.deleteAt(w, p)
	case p.Fresh:
		return time.Time{}
	case w.Liveness == contract.WorkerUnreachable:
		return p.LastChange.Add(t.config.OfflineAfter.Std())
	default:
		return p.LastChange.Add(t.config.UnreachableAfter.Std())
	}
}

// deleteAt counts from the last heartbeat like all thresholds, or from the deregistration.
func (t *thresholds) deleteAt(w *worker, p *contract.WorkerPulse) time.Time {
	if w.Left {
		return w.Since.Add(t.config.DeleteAfter.Std())
	}
	return p.LastChange.Add(t.config.DeleteAfter.Std())
}
