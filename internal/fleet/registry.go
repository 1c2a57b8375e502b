package fleet

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Registry is all that is known of the workers. It is not safe for concurrent
// use: its caller serialises.
type Registry struct {
	config Config
	// seq grows with every change that others can see.
	seq     int64
	workers map[string]*worker
	pulses  map[Identity]*pulse
	// sightSince and sightUntil are the last span without a gap in which the
	// observer looked.
	sightSince, sightUntil time.Time
	// goodbyes are the latest, in order.
	goodbyes []goodbye
	out      []Decision
}

// New returns an empty registry. Its sequence numbers start at now, so that
// they are higher than those of any registry that lived before under the same
// name: a view of a lost registry never beats a view of its successor.
func New(config Config, now time.Time) *Registry {
	return &Registry{
		config:  config.WithDefaults(),
		seq:     now.UnixMilli() * 1000,
		workers: map[string]*worker{},
		pulses:  map[Identity]*pulse{},
	}
}

// Next takes an event that happened at now and returns what follows from it,
// in a fixed order.
func (r *Registry) Next(now time.Time, event Event) []Decision {
	r.out = nil
	event.apply(r, now)
	decisions := r.out
	r.out = nil
	return decisions
}

// Seq grows with every change that [Registry.View] shows.
func (r *Registry) Seq() int64 { return r.seq }

// Config returns the thresholds in force.
func (r *Registry) Config() Config { return r.config }

// Known reports whether exactly this incarnation holds its id. An incarnation
// that is not known should register again.
func (r *Registry) Known(who Identity) bool {
	w := r.workers[who.ID]
	return w != nil && w.Instance == who.Instance && w.Liveness != Deleted
}

func (r *Registry) decide(d Decision) { r.out = append(r.out, d) }

// changed marks a change that others can see.
func (r *Registry) changed() { r.seq++ }

// ids returns the workers' ids in order: nothing here may depend on the order
// of a map.
func (r *Registry) ids() []string { return slices.Sorted(maps.Keys(r.workers)) }

func (r *Registry) identities() []Identity {
	return slices.SortedFunc(maps.Keys(r.pulses), func(a, b Identity) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Instance, b.Instance))
	})
}

// fresh reports whether the worker's own incarnation beats.
func (r *Registry) fresh(w *worker) bool {
	p := r.pulses[w.Identity]
	return p != nil && p.Fresh
}

// move changes the liveness.
func (r *Registry) move(w *worker, at time.Time, to State, reason, by string) {
	from := w.shown()
	w.Liveness, w.Since = to, at
	w.Why = r.note(w, at, from, reason, by)
}

// note records a change whose new state is already in force, and returns it.
func (r *Registry) note(w *worker, at time.Time, from State, reason, by string) Transition {
	t := Transition{At: at, From: from, To: w.shown(), Reason: reason, By: by}
	w.Transitions = append(w.Transitions, t)
	if surplus := len(w.Transitions) - MaxTransitions; surplus > 0 {
		w.Transitions = slices.Delete(w.Transitions, 0, surplus)
	}
	r.changed()
	r.decide(Transitioned{ID: w.ID, Transition: t})
	return t
}

// delete turns the worker into a memory of itself.
func (r *Registry) delete(w *worker, at time.Time, reason, by string) {
	r.move(w, at, Deleted, reason, by)
	r.prunePulses()
	r.pruneDeleted()
}

// prunePulses forgets incarnations that neither hold an id nor beat.
func (r *Registry) prunePulses() {
	maps.DeleteFunc(r.pulses, func(who Identity, p *pulse) bool { return !p.Fresh && !r.Known(who) })
}

// pruneDeleted forgets the oldest deleted workers above MaxDeleted.
func (r *Registry) pruneDeleted() {
	var deleted []*worker
	for _, id := range r.ids() {
		if w := r.workers[id]; w.Liveness == Deleted {
			deleted = append(deleted, w)
		}
	}
	slices.SortStableFunc(deleted, func(a, b *worker) int { return a.Since.Compare(b.Since) })
	for len(deleted) > MaxDeleted {
		delete(r.workers, deleted[0].ID)
		deleted = deleted[1:]
	}
}
