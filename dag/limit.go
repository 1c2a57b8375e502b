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

type fanOut struct {
	limit, running, ready int
	// parked holds the tasks that wait for the limit, unbegun those of items that have not begun.
	parked, unbegun parking
}

// parking holds ready tasks that were passed over, with flagParked, by the set that they return to: each set continues
// with its first task. Stale entries are dropped when encountered.
type parking [6]ready.Heap

// FanOut is the use of a fan-out's own limit.
type FanOut struct {
	Name string
	// Limit is the maximum number of running tasks.
	Limit, Running, Ready int
}

// Full reports whether the limit is reached.
func (f FanOut) Full() bool { return f.Running >= f.Limit }

// FanOut returns the limited fan-out of i; ok is false without one.
func (q *queue) FanOut(i Index) (f FanOut, ok bool) {
	own := q.fanOutOf(i)
	if own == nil {
		return f, false
	}
	return own.view(graph.EntryOf(q.defs.ID(i))), true
}

// FanOuts returns the limited fan-outs in the order of their names.
func (q *queue) FanOuts() []FanOut {
	list := make([]FanOut, 0, len(q.fanOuts))
	for _, name := range slices.Sorted(maps.Keys(q.fanOuts)) {
		list = append(list, q.fanOuts[name].view(name))
	}
	return list
}

func (f *fanOut) view(name string) FanOut {
	return FanOut{Name: name, Limit: f.limit, Running: f.running, Ready: f.ready}
}

// fanOutOf returns the limited fan-out of a task, or nil. Runs without limits have no cost.
func (q *queue) fanOutOf(i Index) *fanOut {
	if q.fanOuts == nil {
		return nil
	}
	return q.fanOuts[graph.EntryOf(q.defs.ID(i))]
}

func (q *queue) limitFanOuts(limits map[string]int) {
	//workflowcheck:ignore each is set by itself, and which tasks are ready does not depend on the order
	for name, limit := range limits {
		if limit <= 0 || name == "" {
			continue
		}
		if q.fanOuts == nil {
			q.fanOuts = map[string]*fanOut{}
		}
		own := q.fanOuts[name]
		if own == nil {
			if c := q.chains.byEntry[name]; c != nil {
				q.unparkAll(&c.parked) // Those of the fan-out park in it from now on.
			}
			own = &fanOut{}
			q.fanOuts[name] = own
			for _, i := range q.defs.Family(name) {
				own.count(q.states.nodes[i].state, +1)
			}
		}
		own.limit = limit
		q.unparkFanOut(own)
		if c := q.chains.byEntry[name]; c != nil {
			q.unparkItem(c)
		}
	}
}

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

func (q *queue) inheritFanOuts(prior *Run) {
	limits := map[string]int{}
	//workflowcheck:ignore each goes to a place of its own
	for name, f := range prior.fanOuts {
		if _, declared := q.defs.Lookup(name); !declared && q.fanOuts[name] == nil && len(q.defs.Family(name)) == 0 {
			limits[name] = f.limit
		}
	}
	q.limitFanOuts(limits)
}

func (q *queue) appendFanOuts(buf []byte) []byte {
	if len(q.fanOuts) == 0 {
		return buf
	}
	buf = binary.AppendUvarint(buf, uint64(len(q.fanOuts)))
	for _, f := range q.FanOuts() {
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

// A place left in the limit makes a parked task available. Its start makes the next one available.
func (q *queue) follow(i Index, from, to State) {
	f := q.fanOutOf(i)
	if f == nil {
		return
	}
	f.count(from, -1)
	f.count(to, +1)
	q.unparkFanOut(f)
}

func (f *fanOut) full() bool { return f.running >= f.limit }

func (f *fanOut) count(s State, n int) {
	switch s { //nolint:exhaustive // the others are not counted
	case Ready:
		f.ready += n
	case Running:
		f.running += n
	}
}

func (q *queue) unparkFanOut(f *fanOut) {
	if !f.full() {
		q.unpark(&f.parked)
	}
}

// unpark returns the first task of each set.
func (q *queue) unpark(from *parking) (found bool) {
	for kind := range from {
		if k, ok := q.firstParked(from, kind); ok {
			from[kind].Pop()
			q.states.nodes[k.Task].flag &^= flagParked
			q.enqueue(k.Task, q.states.nodes[k.Task].attr)
			found = true
		}
	}
	return found
}

// firstParked drops entries of tasks that have started since, or are parked elsewhere.
func (q *queue) firstParked(of *parking, kind int) (ready.Key, bool) {
	for {
		k, ok := ready.Peek(&of[kind], q.states.nodes, isParked)
		if !ok || q.parkingOf(k.Task) == of {
			return k, ok
		}
		of[kind].Pop()
	}
}

func (q *queue) unparkAll(from *parking) {
	for q.unpark(from) {
	}
}

func isParked(n node) bool { return n.state == Ready && n.flag&flagParked != 0 }

func (q *queue) barred(i Index) bool {
	it, f := q.chains.of[i], q.fanOutOf(i)
	return it != nil && it.of.bars(it) || f != nil && f.full()
}

func (q *queue) park(k ready.Key) {
	n := &q.states.nodes[k.Task]
	if n.flag&flagParked == 0 {
		n.flag |= flagParked
		q.parkingOf(k.Task)[kindOf(n.attr, q.chains.of[k.Task])].Push(k)
	}
}

// parkingOf returns where a task waits. Before its item begins that is one place, whichever limit bars it: no task moves
// from one limit to another.
func (q *queue) parkingOf(i Index) *parking {
	it, f := q.chains.of[i], q.fanOutOf(i)
	switch {
	case it == nil || it.begun:
		return &f.parked
	case f != nil:
		return &f.unbegun
	}
	return &it.of.parked
}

func kindOf(a attr, it *chainItem) (kind int) {
	switch {
	case a.Unmetered():
		kind = 1
	case a.Gated():
		kind = 2
	}
	if it != nil && it.done > 0 {
		kind += 3
	}
	return kind
}

// limited reports whether ready tasks may have to wait for a limit other than the run's.
func (q *queue) limited() bool { return q.fanOuts != nil || q.chains.byName != nil }

func (q *queue) parkFirst(set *readySet) {
	for {
		k, ok := q.first(set)
		if !ok || !q.barred(k.Task) {
			return
		}
		if q.defs.ranked(k.Task) {
			set.own.Remove(q.defs.rankOf(k.Task))
		} else {
			set.added.Pop()
		}
		q.park(k)
	}
}
