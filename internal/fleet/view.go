package fleet

import (
	"slices"
	"time"
)

// Status is one worker as others see it.
type Status struct {
	Identity
	Host         string
	PID          int
	State        State
	Mode         Mode
	RegisteredAt time.Time
	// Since is when it became what State says; Cause is the transition that made
	// it so: an operator's, if that keeps work from it, which may be older.
	Since time.Time
	Cause Transition
	// Kept is the operator's transition that keeps work from it, or will when it
	// is back; zero if there is none.
	Kept Transition
	// Fresh: its heartbeat changed within three intervals.
	Fresh bool
	// Leaving: it said goodbye and still beats: what it runs may still end or
	// be handed back.
	Leaving bool
	// Beat grows whenever it becomes fresh.
	Beat     int64
	LastBeat time.Time
	Skew     time.Duration
	// Fenced are incarnations that lost the id while they may have been alive.
	Fenced      []string
	Transitions []Transition
}

// View returns all workers but the deleted ones, by id.
func (r *Registry) View() []Status {
	return r.list(func(w *worker) bool { return w.Liveness != Deleted })
}

// Deleted returns the deleted workers that are remembered, by id.
func (r *Registry) Deleted() []Status {
	return r.list(func(w *worker) bool { return w.Liveness == Deleted })
}

// Worker returns one worker, deleted ones included.
func (r *Registry) Worker(id string) (Status, bool) {
	w := r.workers[id]
	if w == nil {
		return Status{}, false
	}
	return r.status(w), true
}

func (r *Registry) list(keep func(*worker) bool) []Status {
	list := make([]Status, 0, len(r.workers))
	for _, id := range r.ids() {
		if w := r.workers[id]; keep(w) {
			list = append(list, r.status(w))
		}
	}
	return list
}

func (r *Registry) status(w *worker) Status {
	s := Status{
		Identity: w.Identity, Host: w.Host, PID: w.PID,
		State: w.shown(), Mode: w.Mode, RegisteredAt: w.RegisteredAt, Since: w.Since, Cause: w.Why, Kept: w.Kept,
		Beat: w.Beat, Fenced: append([]string(nil), w.Fenced...), Transitions: slices.Clone(w.Transitions),
	}
	if s.State == Draining || s.State == Cordoned {
		s.Cause = w.Kept
	}
	if p := r.pulses[w.Identity]; p != nil && w.Liveness != Deleted {
		s.Fresh, s.LastBeat, s.Skew = p.Fresh && !w.Left, p.LastChange, p.Skew
		s.Leaving = p.Fresh && w.Left
	}
	return s
}
