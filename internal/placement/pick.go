package placement

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Want is what a piece of work asks of its worker.
type Want[O any] struct {
	// Node pins it to one worker, Labels to workers that carry them all.
	Node   string
	Labels map[string]string
	// Handler does it; work of one handler has a cap of its own on a worker.
	Handler string
	// Slots is how many pieces of this kind the worker can run at once; 0: none.
	Slots func(O) int
	// Total is how much it runs at once over all kinds; nil: as Slots says.
	Total func(O) int
	// Avoid is the worker on which it failed last: taken only if no other is free.
	Avoid string
	// Ahead: a worker may be sent more than it has slots for, see [AheadWindow].
	Ahead bool
	// PerWorker caps what the owner runs on one worker; 0: no cap.
	PerWorker int
}

// Choice is what [Fleet.Pick] found.
type Choice[O any] struct {
	// Worker is nil if none has room.
	Worker *Member[O]
	// Possible: some worker could serve if it were not busy.
	Possible bool
	// Again is when a worker that looks full may be tried, where there is no
	// Worker now; zero: none is full because of others.
	Again time.Time
}

// Pick chooses the worker with most free slots; among equals the next in turn.
// Where none has a slot that is known to be free, it chooses one that will have one
// in a moment, see [AheadWindow], and else one of those that only others' work seems
// to fill, if it is time to try that one, see [Load].
func (f *Fleet[O]) Pick(w Want[O], now time.Time) Choice[O] {
	var found Choice[O]
	var best rank
	for i := range f.list {
		m := f.list[(f.Turn+i)%len(f.list)]
		if w.Slots(m.Offer) <= 0 || !m.Alive() || !m.Fits(w.Node, w.Labels) {
			continue
		}
		found.Possible = true
		free, ahead, most := m.room(w)
		known := free > 0 || ahead > 0
		switch {
		case !known && most <= 0:
			continue
		case known && m.CoolUntil.After(now):
			continue // Whoever cools it wakes its owner, too.
		case !known && latest(m.Load.TryAt, m.CoolUntil).After(now):
			found.Again = earliest(found.Again, latest(m.Load.TryAt, m.CoolUntil))
			continue
		}
		r := rank{free: free > 0, soon: ahead > 0, wanted: m.ID != w.Avoid, room: max(free, ahead), waits: m.Load.TryAt}
		if found.Worker == nil || r.better(best) {
			found.Worker, best = m, r
		}
	}
	if found.Worker != nil {
		found.Again = time.Time{}
		f.Turn = (slices.Index(f.list, found.Worker) + 1) % len(f.list)
	}
	return found
}

// rank orders workers that may be chosen.
type rank struct {
	// free: it has a free slot, as far as is known. soon: it will have one in a
	// moment. wanted: the work has not failed there.
	free, soon, wanted bool
	// room is how many of either kind.
	room int
	// waits is since when it may be tried.
	waits time.Time
}

func (r rank) better(than rank) bool {
	switch {
	case r.free != than.free:
		return r.free
	case r.soon != than.soon:
		return r.soon
	case r.wanted != than.wanted:
		return r.wanted
	case r.free || r.soon:
		return r.room > than.room
	}
	return r.waits.Before(than.waits)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// earliest takes a zero time for none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Fits reports whether work pinned to node, if that is not empty, and to labels may
// run on the worker.
func (m *Member[O]) Fits(node string, labels map[string]string) bool {
	if node != "" && node != m.ID {
		return false
	}
	//workflowcheck:ignore a conjunction does not depend on the order
	for name, value := range labels {
		if m.Labels[name] != value {
			return false
		}
	}
	return true
}

// Spell names what kind of worker is wanted, for people and programs: a handler
// and labels, separated by spaces.
func Spell(handler string, labels map[string]string) string {
	return strings.TrimSpace(handler + " " + Labels(labels))
}

// Labels spells labels, sorted by name and separated by spaces.
func Labels(labels map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, name+"="+labels[name])
	}
	return strings.Join(words, " ")
}
