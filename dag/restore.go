package dag

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/roundsman/roundsman/dag/internal/graph"
	"github.com/roundsman/roundsman/dag/internal/origin"
	"github.com/roundsman/roundsman/dag/internal/wire"
)

// ErrOtherGraph is returned by [Restore] for a snapshot of another graph.
var ErrOtherGraph = errors.New("dag: the snapshot was made of another graph; restore it with the graph it was started with")

// Restore is the inverse of [Run.Snapshot] for the same graph. Damaged bytes return an error that wraps [ErrCorrupt]
// or [ErrVersion].
func Restore(g *Graph, snapshot []byte) (*Run, error) {
	in, err := wire.Unseal(snapshot, snapshotMagic)
	if err != nil {
		return nil, err
	}
	hash := g.Hash()
	if of := in.Take(len(hash)); in.Err() == nil && !bytes.Equal(of, hash[:]) {
		return nil, ErrOtherGraph
	}
	opts := Options{Concurrency: in.Count(math.MaxInt32, "places"), OnFailure: FailurePolicy(in.Byte(uint8(graph.PolicyCount), "failure policy"))}
	switches := in.Byte(16, "set of truth values")
	opts.Hold = switches&1 != 0
	r := NewRun(g, opts)
	r.phase = phase(in.Byte(uint8(phaseFinished)+1, "phase"))
	r.paused = in.Byte(2, "truth value") == 1
	r.ending = ending(in.Byte(uint8(endingCount), "way of ending"))
	if switches&2 != 0 {
		r.limitFanOuts(readFanOuts(in))
	}
	r.readGrowth(in, switches&4 != 0)
	if switches&8 != 0 {
		r.readChains(in)
	}
	r.readStates(in)
	r.origins = origin.Read(in, len(r.nodes))
	if err := in.End(); err != nil {
		return nil, err
	}
	r.recount()
	if err := r.consistent(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Run) readGrowth(in *wire.Reader, redefined bool) {
	var steps replayedSteps
	if redefined {
		steps = readSteps(in)
	}
	batches := in.Count(in.Left(), "batches")
	if batches == 0 && !redefined || in.Err() != nil {
		return
	}
	var payloads, args []uint64
	for k := range batches {
		steps.carryOut(r, in, k)
		p, a := r.readBatch(in)
		payloads, args = append(payloads, p...), append(args, a...)
		if in.Err() != nil {
			return
		}
	}
	steps.carryOut(r, in, batches)
	if len(steps.list) > 0 && in.Err() == nil {
		in.Fail("a redefinition comes after %d batches", batches)
	}
	table := graph.ReadTable(in, "payloads")
	if in.Err() != nil {
		return
	}
	stored := func(n uint64) []byte {
		switch {
		case n == 0:
			return nil
		case n > uint64(len(table)):
			in.Fail("an added task has a payload that is not stored")
			return nil
		}
		return r.growth.intern(table[n-1])
	}
	for k := range r.growth.tasks {
		r.growth.tasks[k].payload, r.growth.tasks[k].args = stored(payloads[k]), stored(args[k])
	}
	for k := range r.growth.steps {
		r.growth.steps[k].payload, r.growth.steps[k].args = stored(steps.payloads[k]), stored(steps.args[k])
	}
	if in.Err() == nil && len(r.sorted(0)) < r.Len() { // A hostile snapshot.
		in.Fail("the added tasks form a cycle")
	}
}

// The payloads follow later, so readBatch returns their numbers.
func (r *Run) readBatch(in *wire.Reader) (payloads, args []uint64) {
	first := Index(len(r.nodes))
	b := batch{parent: Index(in.Count(int(first), "splitter")) - 1, first: first}
	n := in.Count(min(in.Left(), MaxTasks-int(first)), "added tasks")
	tasks := make([]addedTask, 0, n)
	fresh := map[string]bool{}
	for k := range n {
		t := addedTask{id: string(in.Bytes("id")), work: work{attr: attr(in.Byte(uint8(graph.AttrMax|attrUnder)+1, "attribute"))}, parent: b.parent, under: None}
		if t.attr&attrUnder != 0 {
			t.attr &^= attrUnder
			t.under = Index(in.Count(int(first)-1, "fan-out"))
			if in.Err() != nil || !r.IsFanOut(t.under) || b.parent == None {
				in.Fail("added task %d is of no fan-out", k)
				return nil, nil
			}
		}
		t.priority = in.Int32()
		payloads, args = append(payloads, in.Uvarint()), append(args, in.Uvarint())
		b.needs = append(b.needs, row(in, int(first)+n))
		b.before = append(b.before, row(in, int(first)+n))
		if _, taken := r.Lookup(t.id); taken || fresh[t.id] || t.id == "" || len(t.id) > MaxIDLength {
			in.Fail("the id of added task %d is malformed", k)
		}
		if in.Err() == nil && t.attr.Rule() == OneFailed && len(b.needs[k]) == 0 {
			in.Fail("added task %d has the rule one_failed and no dependencies", k)
		}
		if in.Err() != nil {
			return nil, nil
		}
		fresh[t.id] = true
		tasks = append(tasks, t)
	}
	if n == 0 {
		in.Fail("a batch is empty")
	}
	if edges := r.heirEdges(b, tasks); in.Err() == nil && edges > maxGrowthEdges {
		in.Fail("a batch has %d dependencies", edges)
	}
	if in.Err() == nil {
		r.insert(tasks, b)
	}
	return payloads, args
}

func row(r *wire.Reader, limit int) []Index {
	n := r.Count(min(r.Left(), limit), "dependencies")
	row := make([]Index, 0, n)
	prev := -1
	for range n {
		prev += 1 + r.Count(limit-prev-2, "as a dependency")
		row = append(row, Index(prev))
	}
	return row
}

func (s *states) readStates(in *wire.Reader) {
	packed := in.Take((len(s.nodes) + 1) / 2)
	if in.Err() != nil {
		return
	}
	for i := range s.nodes {
		code := packed[i/2] >> (4 * (i & 1)) & 15
		n := &s.nodes[i]
		switch {
		case code == codeSwept:
			n.state, n.flag = Canceled, flagSwept
		case code == codeCanceling:
			n.state, n.flag = Running, flagCanceling
		case (code >= codeGate && code <= codeAdmitted || code == codeCrowded) && n.attr.Unmetered():
			in.Fail("task %d cannot be at a gate", i)
			return
		case code == codeUntriggered && n.attr.Rule() != OneFailed:
			in.Fail("task %d reacts to no failure", i)
			return
		case code == codeUntriggered:
			n.state, n.flag = Skipped, flagUntriggered
		case code == codeGate:
			n.state, n.flag = Running, flagGate
		case code == codeCrowded:
			n.state, n.flag = Running, flagGate|flagCrowded
		case code == codeGateCanceling:
			n.state, n.flag = Running, flagGate|flagCanceling
		case code == codeAdmitted:
			n.state, n.flag = Running, flagGate|flagAdmitted
		case code < codeCount:
			n.state = State(code)
		default:
			in.Fail("task %d has no state %d", i, code)
			return
		}
	}
	if len(s.nodes)&1 == 1 && packed[len(packed)-1]>>4 != 0 {
		in.Fail("the padding is not empty")
	}
}

func (q *queue) resetCounts() {
	//workflowcheck:ignore each is reset by itself
	for _, f := range q.fanOuts {
		f.running, f.ready = 0, 0
	}
	q.chains.reset()
}

func (q *queue) count(i Index) {
	n := &q.states.nodes[i]
	if isAdmitted(*n) {
		q.enqueueAdmitted(i)
	}
	if n.state == Ready {
		q.enqueue(i, n.attr)
	}
	if f := q.fanOutOf(i); f != nil {
		f.count(n.state, +1)
	}
	if it := q.chains.of[i]; it != nil {
		q.countItem(it, i)
	}
}

func (r *Run) recount() {
	r.states.recount()
	r.resetCounts()
	for i := range r.nodes {
		r.count(Index(i))
		if r.nodes[i].state.Terminal() {
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

// consistent refuses impossible states, in which the run would wait for ever.
func (r *Run) consistent() error {
	live := r.counts[Pending] + r.counts[Ready] + r.counts[Running]
	switch {
	case r.phase == phaseNew && r.counts[Ready]+r.counts[Running] > 0,
		r.phase == phaseActive && live == 0,
		r.phase >= phaseHeld && live > 0,
		r.chains.idle():
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

func (r *Run) overdue(i Index, n *node) bool {
	if n.wait == 0 {
		return true
	}
	for _, d := range r.Needs(i) {
		s := r.nodes[d].state
		if (n.attr.Rule() == AllSuccess && s.blocks()) || (n.attr.Rule() == OneFailed && s.failure()) {
			return true
		}
	}
	return false
}

// Errors of [Decode] and [Restore].
var (
	// ErrCorrupt means that Encode or Snapshot did not write the bytes.
	ErrCorrupt = wire.ErrCorrupt
	// ErrVersion means that an incompatible version wrote the bytes.
	ErrVersion = wire.ErrVersion
)
