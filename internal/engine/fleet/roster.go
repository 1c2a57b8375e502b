package fleet

import (
	"cmp"
	"slices"

	"github.com/roundsman/roundsman/contract"
)

type roster struct {
	workers map[string]*worker
	pulses  map[contract.Incarnation]*contract.WorkerPulse
	// away are neither ONLINE nor DELETED; deleted has the oldest first.
	order, away names
	deleted     []string
	counts      map[contract.WorkerState]int
}

func newRoster() roster {
	return roster{workers: map[string]*worker{}, pulses: map[contract.Incarnation]*contract.WorkerPulse{}, counts: map[contract.WorkerState]int{}}
}

// Known reports whether exactly this incarnation holds its id. Any other should register again.
func (r *roster) Known(who contract.Incarnation) bool {
	w := r.workers[who.ID]
	return w != nil && w.Instance == who.Instance && w.Liveness != contract.WorkerDeleted
}

func (r *roster) fresh(w *worker) bool {
	p := r.pulses[w.Incarnation]
	return p != nil && p.Fresh
}

func (r *roster) recount(w *worker) {
	state := w.shown()
	if state == w.counted {
		return
	}
	if w.counted == "" {
		r.order.add(w.ID)
	} else {
		r.counts[w.counted]--
	}
	if w.counted == contract.WorkerDeleted {
		r.deleted = slices.DeleteFunc(r.deleted, func(id string) bool { return id == w.ID })
	}
	w.counted = state
	r.counts[state]++
	switch state { //nolint:exhaustive // the others are away
	case contract.WorkerOnline:
		r.away.remove(w.ID)
	case contract.WorkerDeleted:
		r.away.remove(w.ID)
		at, _ := slices.BinarySearchFunc(r.deleted, w, func(id string, w *worker) int {
			return cmp.Or(r.workers[id].Since.Compare(w.Since), cmp.Compare(id, w.ID))
		})
		r.deleted = slices.Insert(r.deleted, at, w.ID)
	default:
		r.away.add(w.ID)
	}
}

func (r *roster) strike() *worker {
	w := r.workers[r.deleted[0]]
	r.deleted = r.deleted[1:]
	r.counts[contract.WorkerDeleted]--
	r.order.remove(w.ID)
	delete(r.workers, w.ID)
	return w
}

func (r *roster) pulse(who contract.Incarnation) *contract.WorkerPulse {
	p := r.pulses[who]
	if p == nil {
		p = &contract.WorkerPulse{Incarnation: who}
		r.pulses[who] = p
	}
	return p
}

func (r *roster) prune(who contract.Incarnation) {
	if p := r.pulses[who]; p != nil && !p.Fresh && !r.Known(who) {
		delete(r.pulses, who)
	}
}

// strangers reports whether an unregistered incarnation beats that did not lose an id.
func (r *roster) strangers() bool {
	//workflowcheck:ignore whether there is one does not depend on the order
	for who, p := range r.pulses {
		if p.Fresh && !p.ShuttingDown && !r.Known(who) && !r.isFenced(who) {
			return true
		}
	}
	return false
}

func (r *roster) isFenced(who contract.Incarnation) bool {
	w := r.workers[who.ID]
	return w != nil && slices.Contains(w.Fenced, who.Instance)
}

func (r *roster) live() []*worker {
	return r.filter(func(w *worker) bool { return w.Liveness != contract.WorkerDeleted })
}

func (r *roster) filter(keep func(*worker) bool) []*worker {
	list := make([]*worker, 0, len(r.order))
	for _, id := range r.order {
		if w := r.workers[id]; keep(w) {
			list = append(list, w)
		}
	}
	return list
}

// Counts returns the number of workers in a state.
func (r *roster) Counts(state contract.WorkerState) int { return r.counts[state] }
