package fleet

import (
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
)

func (e Observed) apply(r *Registry, now time.Time) {
	if e.Config != nil {
		// The observation only requested the thresholds.
		if !r.configured {
			Configure(*e.Config).apply(r, now)
		}
		return
	}
	if e.SightUntil.Before(r.sightUntil) {
		// A late report of an older observation has nothing new.
		return
	}
	r.sightSince, r.sightUntil = e.SightSince, e.SightUntil
	settled := e.SightUntil.Sub(e.SightSince) >= r.settle()
	judged := r.silent.due(e.SightUntil)
	for _, change := range e.Changes {
		if r.take(change, e.SightUntil) {
			judged = append(judged, change.Incarnation)
		}
	}
	slices.SortFunc(judged, compareIncarnations)
	for _, who := range slices.Compact(judged) {
		if r.Known(who) {
			r.judge(r.workers[who.ID], e.SightUntil, settled)
		}
		r.prune(who)
	}
	if !r.rebuilt.IsZero() && settled && !r.strangers() {
		r.complete()
	}
}

// take reports whether the worker of a pulse must be judged.
func (r *Registry) take(change contract.WorkerPulse, at time.Time) bool {
	p := r.pulse(change.Incarnation)
	before := *p
	if change.LastChange.Before(before.LastChange) && !before.Seen {
		// Its registration is younger than its first observed beat.
		change.LastChange = before.LastChange
	}
	*p = change
	r.unseen.drop(change.Incarnation)
	w := r.workers[change.ID]
	if w == nil || !r.Known(change.Incarnation) {
		r.prune(change.Incarnation)
		return false
	}
	r.await(w)
	if before.Fresh != change.Fresh {
		r.changed(w)
	}
	if !before.Fresh && change.Fresh {
		w.Beat = r.seq
	}
	if change.ShuttingDown && !w.Left {
		r.leave(w, at, contract.WorkerTransition{Code: contract.WorkerShuttingDown})
	}
	return true
}

// judge: the state gets worse only if the observer has settled.
func (r *Registry) judge(w *worker, at time.Time, settled bool) {
	p := r.pulses[w.Incarnation]
	to := r.calledFor(w, p.Fresh, at.Sub(p.LastChange))
	if to != w.Liveness && (settled || to == contract.WorkerOnline) {
		r.move(w, at, to, w.causeOf(to, p.LastChange))
	}
	if settled && w.Liveness == contract.WorkerOffline && !at.Before(r.deleteAt(w, p)) {
		r.delete(w, at, contract.WorkerTransition{Code: contract.WorkerExpired, Since: w.Since})
		return
	}
	r.await(w)
}

func (w *worker) causeOf(to contract.WorkerState, last time.Time) contract.WorkerTransition {
	if to == contract.WorkerOnline {
		return contract.WorkerTransition{Code: contract.WorkerBack, Since: w.Since}
	}
	return contract.WorkerTransition{Code: contract.WorkerSilent, Since: last}
}

// Observation returns the input of the next observation. Send [Watching] when it has been started.
func (r *Registry) Observation() contract.ObserveWorkersInput {
	in := contract.ObserveWorkersInput{SightSince: r.sightSince, SightUntil: r.sightUntil, WakeAt: r.silent.first()}
	if r.configured {
		in.Config = new(r.config)
	}
	if !r.rebuilt.IsZero() && r.sightUntil.Sub(r.sightSince) < r.settle() {
		// The first report of an observer that has settled shows whether there are strangers.
		in.WakeAt = instant.Earlier(in.WakeAt, r.rebuilt.Add(-contract.RebuildTime))
	}
	for _, who := range slices.SortedFunc(maps.Keys(r.pulses), compareIncarnations) {
		p := *r.pulses[who]
		in.Known = append(in.Known, p)
		if p.Fresh && !p.ShuttingDown && !r.Known(who) {
			in.Strangers = append(in.Strangers, who)
		}
	}
	return in
}

func (Watching) apply(r *Registry, _ time.Time) { r.unseen = newAgenda() }
