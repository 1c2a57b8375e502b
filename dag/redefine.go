package dag

import (
	"bytes"
	"slices"

	"github.com/roundsman/roundsman/dag/internal/ready"
)

// redefinition is a task added again with another definition before its start. Its dependants keep
// waiting for it. It waits for its new dependencies, for tasks added before it, and for tasks added by
// a splitter that it still needs.
type redefinition struct {
	task          Index
	parent        Index // the splitter that redefined it; None for an operator
	after         int   // number of batches before it
	attr          attr
	priority      int32
	payload, args []byte
	needs         []Index // its own ones, resolved
	before        []Index // new dependants
}

func (r *Run) latest(i Index) *redefinition {
	if r.growth == nil || len(r.growth.latest) == 0 {
		return nil
	}
	if n, ok := r.growth.latest[i]; ok {
		return &r.growth.steps[n]
	}
	return nil
}

// IsRedefined reports whether the definition of task i was replaced after the start of the run.
func (r *Run) IsRedefined(i Index) bool { return r.latest(i) != nil }

// Redefined returns the tasks redefined by the last accepted event. The next event reuses the slice.
func (r *Run) Redefined() []Index { return r.redefined }

// ranked reports whether a task has a place in the start order of the graph.
func (r *Run) ranked(i Index) bool { return int(i) < r.graph.Len() && r.latest(i) == nil }

func (r *Run) ownNeeds(i Index) []Index {
	if d := r.latest(i); d != nil {
		return d.needs
	}
	if int(i) < r.graph.Len() {
		return r.graph.Needs(i)
	}
	b := r.growth.batches[r.growth.batchOf(i)]
	return b.needs[i-b.first]
}

func (g *growth) batchOf(i Index) int {
	k, exact := slices.BinarySearchFunc(g.batches, i, func(b batch, i Index) int { return int(b.first - i) })
	if !exact {
		k--
	}
	return k
}

// imposed returns the dependencies of task i outside its definition: tasks added before it, and tasks
// of splitters among needs. A task of a splitter keeps waiting for that splitter's other tasks,
// because dependants of the splitter wait for them through it.
func (r *Run) imposed(i Index, needs []Index) []Index {
	if r.growth == nil {
		return nil
	}
	var kept []Index
	for _, n := range r.growth.needs[i] {
		if slices.Contains(needs, n) || slices.Contains(kept, n) {
			continue
		}
		by := r.AddedBy(n)
		if r.addedBefore(n, i) || slices.Contains(needs, r.broughtBy(n)) || by != None && by == r.AddedBy(i) {
			kept = append(kept, n)
		}
	}
	return kept
}

// addedBefore reports whether task n was declared to run before task i in an addition or a
// redefinition.
func (r *Run) addedBefore(n, i Index) bool {
	if slices.Contains(r.growth.ahead[n], i) {
		return true
	}
	if int(n) < r.graph.Len() {
		return false
	}
	b := r.growth.batches[r.growth.batchOf(n)]
	return slices.Contains(b.before[n-b.first], i)
}

// broughtBy returns the fan-out or the splitter of an added task; None for other tasks.
func (r *Run) broughtBy(n Index) Index {
	if of := r.Under(n); of != None {
		return of
	}
	return r.AddedBy(n)
}

// redefine replaces definitions and dependencies. The tasks become pending.
func (r *Run) redefine(list []redefinition) {
	g := r.ensureGrowth()
	needs := make([][]Index, len(list))
	for k := range list {
		needs[k] = slices.Concat(list[k].needs, r.imposed(list[k].task, list[k].needs))
		if r.nodes[list[k].task].state == Ready {
			r.move(list[k].task, Pending)
		}
	}
	r.unlink(list)
	for k := range list {
		d := &list[k]
		d.payload, d.args = g.intern(d.payload), g.intern(d.args)
		r.nodes[d.task].attr, r.nodes[d.task].wait = d.attr, 0
		g.latest[d.task] = len(g.steps)
		g.steps = append(g.steps, *d)
	}
	for k := range list {
		for _, n := range needs[k] {
			r.link(n, list[k].task)
		}
		for _, t := range list[k].before {
			g.ahead[list[k].task] = append(g.ahead[list[k].task], t)
			if !slices.Contains(r.Needs(t), list[k].task) {
				r.link(list[k].task, t)
			}
		}
	}
}

func (r *Run) unlink(list []redefinition) {
	g := r.growth
	gone, needed := make(map[Index]bool, len(list)), map[Index]bool{}
	for k := range list {
		gone[list[k].task] = true
		for _, n := range r.Needs(list[k].task) {
			needed[n] = true
		}
		g.edges -= len(g.needs[list[k].task])
		delete(g.needs, list[k].task)
	}
	redefined := func(i Index) bool { return gone[i] }
	//workflowcheck:ignore each row is changed by itself
	for n := range needed {
		base, more := r.dependants(n)
		g.deps[n] = slices.DeleteFunc(more, redefined)
		if slices.ContainsFunc(base, redefined) {
			g.rows[n] = slices.DeleteFunc(slices.Clone(base), redefined)
		}
	}
}

func (r *Run) rejudgeRedefined(list []redefinition) {
	r.requeue()
	for k := range list {
		r.redefined = append(r.redefined, list[k].task)
		if r.nodes[list[k].task].state == Pending {
			r.judge(list[k].task)
		}
	}
	r.settle()
}

// requeue rebuilds the sets of ready tasks, because redefined tasks may take their place differently.
// It scans all tasks, so only a redefinition may call it.
func (r *Run) requeue() {
	r.ready, r.gated, r.free = readySet{own: ready.NewRankSet(r.graph.Len())}, readySet{}, ready.Heap{}
	r.gating = false
	//workflowcheck:ignore each is reset by itself
	for _, f := range r.fanOuts {
		f.parked = ready.Heap{}
	}
	for _, c := range r.chains.list {
		c.parked = [waitKinds]ready.Heap{}
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		r.gating = r.gating || n.attr.Gated() && n.state == Running
		if n.state == Ready {
			n.flag &^= flagParked
		}
	}
	if r.gating {
		r.gated.own = ready.NewRankSet(r.graph.Len())
	}
	for i := range r.nodes {
		if r.nodes[i].state == Ready {
			r.enqueue(Index(i), r.nodes[i].attr)
		}
	}
}

// given returns the splitter's definition of a task it added, without later changes by an operator.
func (r *Run) given(i, parent Index) redefinition {
	for _, d := range slices.Backward(r.growth.steps) {
		if d.task == i && d.parent == parent {
			return d
		}
	}
	t := &r.growth.tasks[int(i)-r.graph.Len()]
	b := r.growth.batches[r.growth.batchOf(i)]
	return redefinition{task: i, attr: t.attr, priority: t.priority, payload: t.payload, args: t.args, needs: b.needs[i-b.first]}
}

func (r *Run) effective(i Index) redefinition {
	return redefinition{task: i, attr: r.nodes[i].attr, priority: r.Priority(i), payload: r.Payload(i), args: r.Args(i), needs: r.ownNeeds(i)}
}

// does reports whether two definitions have the same work; same reports whether they also have the
// same timing.
func (d *redefinition) does(o *redefinition) bool {
	return d.attr == o.attr && bytes.Equal(d.payload, o.payload) && bytes.Equal(d.args, o.args)
}

func (d *redefinition) same(o *redefinition) bool {
	return d.does(o) && d.priority == o.priority && slices.Equal(distinct(slices.Clone(d.needs)), distinct(slices.Clone(o.needs)))
}
