package fleet

import (
	"fmt"
	"time"
)

func (e Observed) apply(r *Registry, _ time.Time) {
	if e.At.Before(r.sightUntil) {
		// An older observation that reports late knows less than what is known.
		return
	}
	r.sightSince, r.sightUntil = e.Since, e.At
	for _, change := range e.Changes {
		r.take(change, e.At)
	}
	settled := e.At.Sub(e.Since) >= r.config.Settle()
	for _, id := range r.ids() {
		r.judge(r.workers[id], e.At, settled)
	}
	r.prunePulses()
}

// take stores a pulse. Its worker's beat grows when it becomes fresh.
func (r *Registry) take(change Pulse, at time.Time) {
	p := r.pulses[change.Identity]
	if p == nil {
		p = &pulse{}
		r.pulses[change.Identity] = p
	}
	before := p.Pulse
	if change.LastChange.Before(before.LastChange) && !before.Seen {
		// Its registration is younger than its first observed beat.
		change.LastChange = before.LastChange
	}
	p.Pulse, p.Watched = change, true
	w := r.workers[change.ID]
	if w == nil || !r.Known(change.Identity) {
		return
	}
	if before.Fresh != change.Fresh {
		r.changed()
	}
	if !before.Fresh && change.Fresh {
		w.Beat = r.seq
	}
	if change.ShuttingDown && !w.Left {
		r.leave(w, at, "its process is shutting down")
	}
}

// judge moves one worker to the state that its silence calls for: to a worse one
// only if the observer has settled.
func (r *Registry) judge(w *worker, at time.Time, settled bool) {
	p := r.pulses[w.Identity]
	if w.Liveness == Deleted || p == nil {
		return
	}
	to := r.calledFor(w, p.Fresh, at.Sub(p.LastChange))
	if to != w.Liveness && (settled || to == Online) {
		r.move(w, at, to, w.reasonFor(to, at, p.LastChange), "")
	}
	if settled && w.Liveness == Offline && !at.Before(r.deleteAt(w, p)) {
		r.delete(w, at, "OFFLINE for "+span(at.Sub(w.Since)), "")
	}
}

func (r *Registry) calledFor(w *worker, fresh bool, silent time.Duration) State {
	switch {
	case w.Left:
		return Offline
	case fresh || silent < r.config.Unreachable:
		return Online
	case silent < r.config.Offline:
		return Unreachable
	default:
		return Offline
	}
}

// deleteAt is when an OFFLINE worker is deleted: counted from its last heartbeat
// like all thresholds, or from its goodbye.
func (r *Registry) deleteAt(w *worker, p *pulse) time.Time {
	if w.Left {
		return w.Since.Add(r.config.Delete)
	}
	return p.LastChange.Add(r.config.Delete)
}

func (w *worker) reasonFor(to State, at, last time.Time) string {
	if to == Online {
		return fmt.Sprintf("its heartbeat is back after %s %s", span(at.Sub(w.Since)), w.Liveness)
	}
	return fmt.Sprintf("no heartbeat for %s (last at %s)", span(at.Sub(last)), last.UTC().Format(time.RFC3339))
}

// Watch is what an observation has to know.
type Watch struct {
	// Pulses are all incarnations that are known, in order.
	Pulses []Pulse
	// WakeAt is when the observer reports even if nothing has changed, because
	// a worker's silence reaches a threshold; zero: never.
	WakeAt time.Time
	// Since and Until are the last span without a gap in which it looked.
	Since, Until time.Time
}

// Watch returns what the next observation has to know. Say [Watching] when it
// has been started.
func (r *Registry) Watch() Watch {
	watch := Watch{Since: r.sightSince, Until: r.sightUntil}
	for _, who := range r.identities() {
		watch.Pulses = append(watch.Pulses, r.pulses[who].Pulse)
	}
	//workflowcheck:ignore the earliest of all, whatever their order
	for _, w := range r.workers {
		watch.WakeAt = earlier(watch.WakeAt, r.threshold(w))
	}
	return watch
}

// threshold is when the worker's state gets worse if it stays silent; zero:
// not as long as it beats.
func (r *Registry) threshold(w *worker) time.Time {
	p := r.pulses[w.Identity]
	switch {
	case p == nil || w.Liveness == Deleted:
		return time.Time{}
	case w.Liveness == Offline:
		return r.deleteAt(w, p)
	case p.Fresh:
		return time.Time{}
	case w.Liveness == Unreachable:
		return p.LastChange.Add(r.config.Offline)
	default:
		return p.LastChange.Add(r.config.Unreachable)
	}
}

func (Watching) apply(r *Registry, _ time.Time) {
	for _, p := range r.pulses {
		p.Watched = true
	}
}

// NextDeadline is when the registry wants a [Tick]; zero: never. Thresholds are
// not among them: those are reached in the eyes of the observer, see
// [Watch.WakeAt].
func (r *Registry) NextDeadline() time.Time {
	var next time.Time
	//workflowcheck:ignore the earliest of all, whatever their order
	for who, p := range r.pulses {
		if !p.Watched && r.Known(who) {
			next = earlier(next, p.LastChange.Add(r.config.FreshFor()))
		}
	}
	return next
}

func (Tick) apply(r *Registry, now time.Time) {
	if next := r.NextDeadline(); !next.IsZero() && !now.Before(next) {
		r.decide(Observe{})
	}
}

func (e Configure) apply(r *Registry, _ time.Time) {
	if config := e.Config.WithDefaults(); config != r.config {
		r.config = config
		r.decide(Observe{})
	}
}

// earlier returns the earlier of two times of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
