package fleet

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	// A living worker needs at most 10 s to reconnect to the server, and one interval to beat.
	settleIntervals = 6
	// MaxTransitions bounds the stored transitions of a worker.
	MaxTransitions = 50
	// MaxNote bounds an operator's note, in bytes: the state of thousands of workers is sent whole.
	MaxNote = 1024
	// MaxDeleted bounds the stored deleted workers.
	MaxDeleted = 200
	maxFenced  = 5
)

// Registry is the state of all workers. It is not safe for concurrent use.
type Registry struct {
	thresholds
	roster
	seq int64
	// unseen has the workers missing in the running observation, by the time at which it should have seen them.
	silent, unseen         agenda
	troubles               troubles
	sightSince, sightUntil time.Time
	rebuilt                time.Time
	departures             departures
	descriptors            descriptors
	watchers               watchers
	revisions              revisions
	planes                 planes
	out                    []Decision
}

// New returns an empty registry. Sequence numbers start at now, so a view of a lost registry never replaces a view of
// its successor.
func New(config *contract.FleetConfig, now time.Time) *Registry {
	r := empty(config)
	r.seq = now.UnixMilli() * 1000
	r.revisions.floor = r.seq
	r.rebuilt = now.Add(contract.RebuildTime)
	return r
}

func empty(config *contract.FleetConfig) *Registry {
	r := &Registry{
		roster: newRoster(), silent: newAgenda(), unseen: newAgenda(), troubles: troubles{newAgenda()},
		departures: newDepartures(), watchers: newWatchers(),
	}
	if config != nil {
		r.configured, r.config = true, *config
	}
	r.config = r.config.WithDefaults()
	return r
}

// Next applies an event that happened at now and returns the decisions, in a fixed order.
func (r *Registry) Next(now time.Time, event Event) []Decision {
	r.out = nil
	event.apply(r, now)
	decisions := r.out
	r.out = nil
	return decisions
}

// Seq grows with every change that [Registry.View] shows.
func (r *Registry) Seq() int64 { return r.seq }

// NextDeadline returns the time of the next [Tick]. It excludes thresholds, which the observer reports.
func (r *Registry) NextDeadline() time.Time {
	return instant.Earlier(instant.Earlier(instant.Earlier(r.unseen.first(), r.rebuilt), r.adoptAt), r.troubles.first())
}

func (Tick) apply(r *Registry, now time.Time) {
	if reached(r.rebuilt, now) {
		r.complete()
	}
	r.endTroubles(now)
	if reached(r.adoptAt, now) {
		r.adopt()
		return
	}
	if reached(r.unseen.first(), now) {
		r.decide(Observe{})
	}
}

// The whole view that follows shows watchers which workers never returned.
func (r *Registry) complete() {
	r.rebuilt = time.Time{}
	r.seq++
	r.revisions.floor = r.seq
}

func (r *Registry) decide(d Decision) { r.out = append(r.out, d) }

func (r *Registry) changed(w *worker) {
	r.seq++
	r.revisions.revise(w, r.seq)
	r.watchers.stale(w.ID)
	r.recount(w)
}

func (r *Registry) move(w *worker, at time.Time, to contract.WorkerState, t contract.WorkerTransition) {
	from := w.shown()
	w.Liveness, w.Since = to, at
	w.Why = r.note(w, at, from, t)
	r.await(w)
}

func (r *Registry) note(w *worker, at time.Time, from contract.WorkerState, t contract.WorkerTransition) contract.WorkerTransition {
	t.At, t.From, t.To, t.Note = at, from, w.shown(), jobtype.Clip(t.Note, MaxNote)
	w.Transitions = append(w.Transitions, t)
	if surplus := len(w.Transitions) - MaxTransitions; surplus > 0 {
		w.Transitions = slices.Delete(w.Transitions, 0, surplus)
	}
	r.changed(w)
	r.decide(Transitioned{ID: w.ID, WorkerTransition: t})
	return t
}

func (r *Registry) delete(w *worker, at time.Time, t contract.WorkerTransition) {
	r.move(w, at, contract.WorkerDeleted, t)
	r.unseen.drop(w.Incarnation)
	r.troubles.forget(w)
	r.prune(w.Incarnation)
	for len(r.deleted) > MaxDeleted {
		oldest := r.strike()
		r.revisions.forget(oldest)
		r.descriptors.release(oldest.registration)
	}
}

// await schedules the judgement of a silent worker at its next threshold. A state that does not match the silence is
// judged at the next observation.
func (r *Registry) await(w *worker) {
	p := r.pulses[w.Incarnation]
	at := r.worsens(w, p)
	if p != nil && w.Liveness != contract.WorkerDeleted && r.calledFor(w, p.Fresh, r.sightUntil.Sub(p.LastChange)) != w.Liveness {
		at = instant.Earlier(at, r.sightUntil)
	}
	r.silent.set(w.Incarnation, at)
}

func reached(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }
