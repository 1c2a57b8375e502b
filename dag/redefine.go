package dag

import (
	"bytes"
	"slices"

	"github.com/roundsman/roundsman/dag/internal/ready"
)

// redefinition is a task added again with another definition before its start. Its dependants keep waiting for it. It
// also waits for tasks added before it, and for tasks of a splitter that it still needs.
type redefinition struct {
	work
	task   Index
	parent Index   // the splitter that redefined it; None for an operator
	after  int     // number of batches before it
	needs  []Index // its own ones, resolved
	before []Index // new dependants
}

// Redefined returns the tasks redefined by the last accepted event. The next event reuses the slice.
func (r *Run) Redefined() []Index { return r.redefined }

func (g *growth) batchOf(i Index) int {
	k, exact := slices.BinarySearchFunc(g.batches, i, func(b batch, i Index) int { return int(b.first - i) })
	if !exact {
		k--
	}
	return k
}

// imposed returns the dependencies of task i outside its definition. A task of a splitter keeps waiting for that
// splitter's other tasks, because dependants of the splitter wait for them through it.
func (defs *definitions) imposed(i Index, needs []Index) []Index {
	if defs.growth == nil {
		return nil
	}
	own, seen := asSet(needs), asSet(needs)
	var kept []Index
	for _, n := range defs.growth.needs[i] {
		if seen[n] {
			continue
		}
		seen[n] = true
		by := defs.AddedBy(n)
		if defs.addedBefore(n, i) || own[defs.broughtBy(n)] || by != None && by == defs.AddedBy(i) {
			kept = append(kept, n)
		}
	}
	return kept
}

func asSet(row []Index) map[Index]bool {
	set := make(map[Index]bool, len(row))
	for _, i := range row {
		set[i] = true
	}
	return set
}

func (defs *definitions) addedBefore(n, i Index) bool {
	if slices.Contains(defs.growth.ahead[n], i) {
		return true
	}
	if int(n) < defs.graph.Len() {
		return false
	}
	b := defs.growth.batches[defs.growth.batchOf(n)]
	return slices.Contains(b.before[n-b.first], i)
}

func (defs *definitions) broughtBy(n Index) Index {
	if of := defs.Under(n); of != None {
		return of
	}
	return defs.AddedBy(n)
}

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
		g.replace(&list[k])
		r.nodes[list[k].task].attr, r.nodes[list[k].task].wait = list[k].attr, 0
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

func (defs *definitions) unlink(list []redefinition) {
	g := defs.growth
	gone, needed := make(map[Index]bool, len(list)), map[Index]bool{}
	for k := range list {
		gone[list[k].task] = true
		for _, n := range defs.Needs(list[k].task) {
			needed[n] = true
		}
		g.edges -= len(g.needs[list[k].task])
		delete(g.needs, list[k].task)
	}
	redefined := func(i Index) bool { return gone[i] }
	//workflowcheck:ignore each row is changed by itself
	for n := range needed {
		base, more := defs.dependants(n)
		g.deps[n] = slices.DeleteFunc(more, redefined)
		if slices.ContainsFunc(base, redefined) {
			g.rows[n] = slices.DeleteFunc(slices.Clone(base), redefined)
		}
	}
}

func (r *Run) rejudgeRedefined(list []redefinition) {
	r.rebuild()
	for k := range list {
		r.redefined = append(r.redefined, list[k].task)
		if r.nodes[list[k].task].state == Pending {
			r.judge(list[k].task)
		}
	}
	r.settle()
}

// rebuild scans all tasks, so only a redefinition may call it.
func (q *queue) rebuild() {
	q.ready, q.gated, q.free = readySet{own: ready.NewRankSet(q.defs.graph.Len())}, readySet{}, ready.Heap{}
	q.gating = false
	//workflowcheck:ignore each is reset by itself
	for _, f := range q.fanOuts {
		f.parked, f.unbegun = parking{}, parking{}
	}
	for _, c := range q.chains.list {
		c.parked = parking{}
	}
	for i := range q.states.nodes {
		n := &q.states.nodes[i]
		q.gating = q.gating || n.attr.Gated() && n.state == Running
		if n.state == Ready {
			n.flag &^= flagParked
		}
	}
	if q.gating {
		q.gated.own = ready.NewRankSet(q.defs.graph.Len())
	}
	for i := range q.states.nodes {
		if q.states.nodes[i].state == Ready {
			q.enqueue(Index(i), q.states.nodes[i].attr)
		}
	}
}

func (defs *definitions) given(i, parent Index) redefinition {
	for n, redefined := defs.growth.latest[i]; redefined && n >= 0; n-- {
		if d := &defs.growth.steps[n]; d.task == i && d.parent == parent {
			return *d
		}
	}
	t := &defs.growth.tasks[int(i)-defs.graph.Len()]
	b := defs.growth.batches[defs.growth.batchOf(i)]
	return redefinition{task: i, work: t.work, needs: b.needs[i-b.first]}
}

func (defs *definitions) effective(i Index) redefinition {
	d := redefinition{task: i, needs: defs.ownNeeds(i)}
	if w := defs.late(i); w != nil {
		d.work = *w
		return d
	}
	d.work = work{attr: defs.graph.Attr(i), priority: defs.graph.Priority(i), payload: defs.graph.Payload(i), args: defs.graph.Args(i)}
	return d
}

// does compares the work of two definitions; same also compares their timing.
func (d *redefinition) does(o *redefinition) bool {
	return d.attr == o.attr && bytes.Equal(d.payload, o.payload) && bytes.Equal(d.args, o.args)
}

func (d *redefinition) same(o *redefinition) bool {
	return d.does(o) && d.priority == o.priority && slices.Equal(distinct(slices.Clone(d.needs)), distinct(slices.Clone(o.needs)))
}
