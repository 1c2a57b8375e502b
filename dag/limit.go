package dag

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/roundsman/roundsman/dag/internal/graph"
	"github.com/roundsman/roundsman/dag/internal/ready"
	"github.com/roundsman/roundsman/dag/internal/wire"
)

// fanOut counts the tasks of a fan-out with its own limit.
type fanOut struct {
	limit, running, ready int
	// parked holds ready tasks passed over because of the limit. They have flagParked; stale entries
	// are dropped when encountered.
	parked ready.Heap
}

// FanOut is the use of a fan-out's own limit.
type FanOut struct {
	Name string
	// Limit is the maximum number of running tasks.
	Limit, Running, Ready int
}

// Full reports whether the limit is reached.
func (f FanOut) Full() bool { return f.Running >= f.Limit }

// FanOut returns the limited fan-out of i; ok is false without one.
func (r *Run) FanOut(i Index) (f FanOut, ok bool) {
	own := r.fanOutOf(i)
	if own == nil {
		return f, false
	}
	return own.view(graph.EntryOf(r.ID(i))), true
}

// FanOuts returns the limited fan-outs in the order of their names.
func (r *Run) FanOuts() []FanOut {
	list := make([]FanOut, 0, len(r.fanOuts))
	for _, name := range slices.Sorted(maps.Keys(r.fanOuts)) {
		list = append(list, r.fanOuts[name].view(name))
	}
	return list
}

func (f *fanOut) view(name string) FanOut {
	return FanOut{Name: name, Limit: f.limit, Running: f.running, Ready: f.ready}
}

// Family returns the tasks of a fan-out, ascending: those with an id of name, a dot and more. Do not
// modify the slice.
func (r *Run) Family(name string) []Index { return r.families.Of(name, len(r.nodes), r.ID) }

// fanOutOf returns the limited fan-out of a task, or nil. Runs without limits have no cost.
func (r *Run) fanOutOf(i Index) *fanOut {
	if r.fanOuts == nil {
		return nil
	}
	return r.fanOuts[graph.EntryOf(r.ID(i))]
}

func (r *Run) limitFanOuts(limits map[string]int) {
	//workflowcheck:ignore each is set by itself, and which tasks are ready does not depend on the order
	for name, limit := range limits {
		if limit <= 0 || name == "" {
			continue
		}
		if r.fanOuts == nil {
			r.fanOuts = map[string]*fanOut{}
		}
		own := r.fanOuts[name]
		if own == nil {
			own = &fanOut{}
			r.fanOuts[name] = own
			for _, i := range r.Family(name) {
				own.count(r.nodes[i].state, +1)
			}
		}
		own.limit = limit
		for r.unpark(own) {
		}
	}
}

// setConcurrency changes the limit of the run or of a fan-out, which may have had none.
func (r *Run) setConcurrency(ev Event) error {
	switch {
	case ev.FanOut == "":
		r.opts.Concurrency = max(ev.Limit, 0)
	case ev.Limit <= 0 || r.fanOuts[ev.FanOut] == nil && len(r.Family(ev.FanOut)) == 0:
		return r.refuse(ev, RefusedInvalid, "there is no fan-out %q yet that could run %d tasks at a time", ev.FanOut, ev.Limit)
	default:
		r.limitFanOuts(map[string]int{ev.FanOut: ev.Limit})
	}
	return nil
}

func (r *Run) inheritFanOuts(prior *Run) {
	limits := map[string]int{}
	//workflowcheck:ignore each goes to a place of its own
	for name, f := range prior.fanOuts {
		if _, declared := r.Lookup(name); !declared && r.fanOuts[name] == nil && len(r.Family(name)) == 0 {
			limits[name] = f.limit
		}
	}
	r.limitFanOuts(limits)
}

func (r *Run) appendFanOuts(buf []byte) []byte {
	if len(r.fanOuts) == 0 {
		return buf
	}
	buf = binary.AppendUvarint(buf, uint64(len(r.fanOuts)))
	for _, f := range r.FanOuts() {
		buf = wire.AppendBytes(buf, []byte(f.Name))
		buf = binary.AppendUvarint(buf, uint64(f.Limit))
	}
	return buf
}

func readFanOuts(in *wire.Reader) map[string]int {
	n := in.Count(in.Left(), "limits of fan-outs")
	limits, last := make(map[string]int, n), ""
	for range n {
		name := string(in.Bytes("name"))
		limit := in.Count(math.MaxInt32, "places")
		if name <= last || limit == 0 || len(name) > MaxIDLength {
			in.Fail("the limit of a fan-out is malformed")
			return nil
		}
		limits[name], last = limit, name
	}
	if n == 0 {
		in.Fail("the limits of fan-outs are missing")
	}
	return limits
}

// follow counts a task's change of state in its fan-out. A place left in the limit makes a parked task
// available.
func (r *Run) follow(i Index, from, to State) {
	f := r.fanOutOf(i)
	if f == nil {
		return
	}
	f.count(from, -1)
	f.count(to, +1)
	if to != Running && (from == Ready || from == Running) {
		r.unpark(f)
	}
}

func (f *fanOut) count(s State, n int) {
	switch s { //nolint:exhaustive // the others are not counted
	case Ready:
		f.ready += n
	case Running:
		f.running += n
	}
}

// unpark makes the first parked task available again; false if there is none.
func (r *Run) unpark(f *fanOut) bool {
	return r.unparkFirst(&f.parked)
}

func (r *Run) unparkFirst(parked *ready.Heap) bool {
	k, ok := ready.Peek(parked, r.nodes, isParked)
	if ok {
		parked.Pop()
		r.nodes[k.Task].flag &^= flagParked
		r.enqueue(k.Task, r.nodes[k.Task].attr)
	}
	return ok
}

func isParked(n node) bool { return n.state == Ready && n.flag&flagParked != 0 }

// barred reports whether a ready task may not start, because its fan-out or its chain has reached its limit.
func (r *Run) barred(i Index) bool {
	it, f := r.chains.of[i], r.fanOutOf(i)
	return it != nil && it.of.bars(it) || f != nil && f.running >= f.limit
}

// park parks a barred task, which the caller has removed from its set. If only one of the two limits is reached,
// the next task that waits for the other may start instead.
func (r *Run) park(k ready.Key) {
	it, f := r.chains.of[k.Task], r.fanOutOf(k.Task)
	if it != nil && it.of.bars(it) {
		r.parkIn(&it.of.parked[r.waitKind(k.Task, it)], k)
		if f != nil && f.running < f.limit {
			r.unpark(f)
		}
		return
	}
	r.parkIn(&f.parked, k)
	if it != nil && it.of.busy < it.of.InFlight {
		r.unparkItem(it.of)
	}
}

func (r *Run) parkIn(parked *ready.Heap, k ready.Key) {
	if n := &r.nodes[k.Task]; n.flag&flagParked == 0 {
		n.flag |= flagParked
		parked.Push(k)
	}
}

// limited reports whether ready tasks may have to wait for a limit other than the run's.
func (r *Run) limited() bool { return r.fanOuts != nil || r.chains.byName != nil }

// parkFirst parks the first tasks of a set until one may start.
func (r *Run) parkFirst(set *readySet) {
	for {
		k, ok := r.first(set)
		if !ok || !r.barred(k.Task) {
			return
		}
		if r.ranked(k.Task) {
			set.own.Remove(r.rankOf(k.Task))
		} else {
			set.added.Pop()
		}
		r.park(k)
	}
}
