package dag

import (
	"bytes"
	"errors"
	"fmt"
	"math"
)

// ErrOtherGraph is returned by [Restore] when the snapshot belongs to another graph.
var ErrOtherGraph = errors.New("dag: the snapshot was made of another graph; restore it with the graph it was started with")

// Restore is the inverse of [Run.Snapshot]: the run it returns answers every
// further event as the original would. g must be the graph of the original run.
// Damaged bytes give an error that wraps [ErrCorrupt] or [ErrVersion].
func Restore(g *Graph, snapshot []byte) (*Run, error) {
	in, err := unseal(snapshot, snapshotMagic)
	if err != nil {
		return nil, err
	}
	hash := g.Hash()
	if of := in.take(len(hash)); in.err == nil && !bytes.Equal(of, hash[:]) {
		return nil, ErrOtherGraph
	}
	r := NewRun(g, Options{
		Concurrency: in.count(math.MaxInt32, "places"),
		OnFailure:   FailurePolicy(in.byte(uint8(policyCount), "failure policy")),
		Hold:        in.byte(2, "truth value") == 1,
	})
	r.phase = phase(in.byte(uint8(phaseFinished)+1, "phase"))
	r.paused = in.byte(2, "truth value") == 1
	r.ending = ending(in.byte(uint8(endingCount), "way of ending"))
	r.readGrowth(in)
	r.readStates(in)
	r.readOrigins(in)
	if err := in.end(); err != nil {
		return nil, err
	}
	r.recount()
	if err := r.consistent(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Run) readGrowth(in *reader) {
	batches := in.count(in.left(), "batches")
	if batches == 0 || in.err != nil {
		return
	}
	var payloads, args []uint64
	for range batches {
		p, a := r.readBatch(in)
		payloads, args = append(payloads, p...), append(args, a...)
		if in.err != nil {
			return
		}
	}
	table := readTable(in, "payloads")
	for k := range r.growth.tasks {
		t := &r.growth.tasks[k]
		if payloads[k] > uint64(len(table)) || args[k] > uint64(len(table)) {
			in.fail("added task %d has a payload that is not stored", k)
			return
		}
		if payloads[k] > 0 {
			t.payload = r.growth.intern(table[payloads[k]-1])
		}
		if args[k] > 0 {
			t.args = r.growth.intern(table[args[k]-1])
		}
	}
	if in.err == nil && r.tangled() {
		in.fail("the added tasks form a cycle")
	}
}

// readBatch carries a growth out again; the payloads' numbers are returned
// because the payloads themselves follow later.
func (r *Run) readBatch(in *reader) (payloads, args []uint64) {
	first := Index(len(r.nodes))
	b := batch{parent: Index(in.count(int(first), "splitter")) - 1, first: first}
	n := in.count(min(in.left(), MaxTasks-int(first)), "added tasks")
	tasks := make([]addedTask, 0, n)
	fresh := map[string]bool{}
	for k := range n {
		t := addedTask{id: string(in.bytes("id")), attr: attr(in.byte(uint8(attrMax)+1, "attribute")), parent: b.parent}
		t.priority = in.int32()
		payloads, args = append(payloads, in.uvarint()), append(args, in.uvarint())
		b.needs = append(b.needs, in.row(int(first)+n))
		b.before = append(b.before, in.row(int(first)+n))
		if _, taken := r.Lookup(t.id); taken || fresh[t.id] || t.id == "" || len(t.id) > MaxIDLength {
			in.fail("the id of added task %d is malformed", k)
		}
		if in.err == nil && t.attr.rule() == OneFailed && len(b.needs[k]) == 0 {
			in.fail("added task %d has the rule one_failed and no dependencies", k)
		}
		if in.err != nil {
			return nil, nil
		}
		fresh[t.id] = true
		tasks = append(tasks, t)
	}
	if n == 0 {
		in.fail("a batch is empty")
	}
	if edges := len(r.heirs(b.parent)) * n; in.err == nil && edges > maxGrowthEdges {
		in.fail("a batch has %d dependencies", edges)
	}
	if in.err == nil {
		r.insert(tasks, b)
	}
	return payloads, args
}

func (r *reader) int32() int32 {
	v := unzigzag(r.uvarint())
	if v != int64(int32(v)) {
		r.fail("a priority is out of range")
	}
	return int32(v)
}

// row reads what appendRow wrote; members are below limit.
func (r *reader) row(limit int) []Index {
	n := r.count(min(r.left(), limit), "dependencies")
	row := make([]Index, 0, n)
	prev := -1
	for range n {
		prev += 1 + r.count(limit-prev-2, "as a dependency")
		row = append(row, Index(prev))
	}
	return row
}

// tangled reports whether the graph with its growth has a cycle; the growth of
// an intact snapshot cannot, so this only guards against hostile ones.
func (r *Run) tangled() bool {
	wait := make([]int, len(r.nodes))
	var queue []Index
	for i := range wait {
		wait[i] = len(r.Needs(Index(i)))
		if wait[i] == 0 {
			queue = append(queue, Index(i))
		}
	}
	for head := 0; head < len(queue); head++ {
		for _, d := range r.Dependants(queue[head]) {
			if wait[d]--; wait[d] == 0 {
				queue = append(queue, d)
			}
		}
	}
	return len(queue) < len(wait)
}

func (r *Run) readStates(in *reader) {
	packed := in.take((len(r.nodes) + 1) / 2)
	if in.err != nil {
		return
	}
	for i := range r.nodes {
		code := packed[i/2] >> (4 * (i & 1)) & 15
		n := &r.nodes[i]
		switch {
		case code == codeSwept:
			n.state, n.flag = Canceled, flagSwept
		case code == codeCanceling:
			n.state, n.flag = Running, flagCanceling
		case code >= codeGate && code <= codeAdmitted && !n.attr.gated():
			in.fail("task %d cannot be at a gate", i)
			return
		case code == codeUntriggered && n.attr.rule() != OneFailed:
			in.fail("task %d reacts to no failure", i)
			return
		case code == codeUntriggered:
			n.state, n.flag = Skipped, flagUntriggered
		case code == codeGate:
			n.state, n.flag = Running, flagGate
		case code == codeGateCanceling:
			n.state, n.flag = Running, flagGate|flagCanceling
		case code == codeAdmitted:
			n.state, n.flag = Running, flagGate|flagAdmitted
		case code < codeCount:
			n.state = State(code)
		default:
			in.fail("task %d has no state %d", i, code)
			return
		}
	}
	if len(r.nodes)&1 == 1 && packed[len(packed)-1]>>4 != 0 {
		in.fail("the padding is not empty")
	}
}

func (r *Run) readOrigins(in *reader) {
	n := in.count(min(in.left(), maxOrigins), "earlier runs")
	if n == 0 || in.err != nil {
		return
	}
	o := origins{of: make([]uint16, len(r.nodes))}
	for range n {
		id := in.bytes("run id")
		if len(id) == 0 || len(id) > maxRunIDLength {
			in.fail("the id of an earlier run is malformed")
			return
		}
		o.runs = append(o.runs, string(id))
	}
	in.runs(len(r.nodes), 0, int64(n), func(i int, v int64) { o.of[i] = uint16(v) })
	r.origins = o
}

// recount derives everything that follows from the states.
func (r *Run) recount() {
	r.counts = [stateCount]int{}
	for i := range r.nodes {
		r.nodes[i].wait = 0
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		r.counts[n.state]++
		switch {
		case n.state != Running || n.attr.unmetered():
		case n.flag&flagGate != 0:
			r.gates++
		default:
			r.flight++
		}
		if isAdmitted(*n) {
			r.admitted.push(startKey{r.Priority(Index(i)), Index(i)})
		}
		if n.state == Ready {
			r.enqueue(Index(i), n.attr)
		}
		if n.state.Terminal() {
			continue
		}
		base, more := r.dependants(Index(i))
		for _, d := range base {
			r.nodes[d].wait++
		}
		for _, d := range more {
			r.nodes[d].wait++
		}
	}
}

// consistent refuses states that no run can be in, which would leave it waiting
// for ever.
func (r *Run) consistent() error {
	live := r.counts[Pending] + r.counts[Ready] + r.counts[Running]
	switch {
	case r.phase == phaseNew && r.counts[Ready]+r.counts[Running] > 0,
		r.phase == phaseActive && live == 0,
		r.phase >= phaseHeld && live > 0:
		return fmt.Errorf("%w: the states do not fit the phase of the run", ErrCorrupt)
	}
	if r.phase != phaseActive {
		return nil
	}
	for i := range r.nodes {
		if n := &r.nodes[i]; n.state == Pending && r.overdue(Index(i), n) {
			return fmt.Errorf("%w: task %q is pending but waits for nothing", ErrCorrupt, r.ID(Index(i)))
		}
	}
	return nil
}

// overdue reports whether a pending task should have been decided already.
func (r *Run) overdue(i Index, n *node) bool {
	if n.wait == 0 {
		return true
	}
	for _, d := range r.Needs(i) {
		s := r.nodes[d].state
		if (n.attr.rule() == AllSuccess && s.blocks()) || (n.attr.rule() == OneFailed && s.failure()) {
			return true
		}
	}
	return false
}
