package fleet

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// adoptTime is the time for which the old heartbeat interval stays in force after a shorter one
// was set. Each worker requests its settings within a minute, and would look silent until then.
const adoptTime = contract.RebuildTime

type thresholds struct {
	// configured is false until the thresholds are known; config has the defaults until then.
	configured bool
	config     contract.FleetConfig
	// next replaces config at adoptAt; zero for none.
	next    contract.FleetConfig
	adoptAt time.Time
}

// Config returns the thresholds that were set last. Workers beat by these.
func (r *Registry) Config() contract.FleetConfig {
	if !r.adoptAt.IsZero() {
		return r.next
	}
	return r.config
}

// Thresholds returns the thresholds in force, by which workers are judged.
func (r *Registry) Thresholds() contract.FleetConfig { return r.config }

// Configured reports whether the thresholds are known.
func (r *Registry) Configured() bool { return r.configured }

// settle is the time for which the observer must have looked without a gap before a worker's
// state may get worse.
func (r *Registry) settle() time.Duration {
	return settleIntervals * r.config.HeartbeatInterval.Std()
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

// threshold returns the time at which the state of a silent worker gets worse; zero while it
// beats.
func (r *Registry) threshold(w *worker) time.Time {
	p := r.pulses[w.Incarnation]
	switch {
	case p == nil || w.Liveness == contract.WorkerDeleted:
		return time.Time{}
	case w.Liveness == contract.WorkerOffline:
		return r.deleteAt(w, p)
	case p.Fresh:
		return time.Time{}
	case w.Liveness == contract.WorkerUnreachable:
		return p.LastChange.Add(r.config.OfflineAfter.Std())
	default:
		return p.LastChange.Add(r.config.UnreachableAfter.Std())
	}
}

// deleteAt returns the deletion time of an OFFLINE worker, counted from its last heartbeat like
// all thresholds, or from its deregistration.
func (r *Registry) deleteAt(w *worker, p *contract.WorkerPulse) time.Time {
	if w.Left {
		return w.Since.Add(r.config.DeleteAfter.Std())
	}
	return p.LastChange.Add(r.config.DeleteAfter.Std())
}
