package dag

import (
	"fmt"
	"slices"

	"github.com/roundsman/roundsman/dag/internal/graph"
)

// maxGrowthEdges keeps a splitter between wide layers from exhausting memory in one step.
const maxGrowthEdges = 1 << 20

type growthPlan struct {
	run       *Run
	faults    []Fault
	tasks     []addedTask
	batch     batch
	redefined []redefinition
	fresh     map[string]Index // ids of the new tasks
	deferring bool
	source    []int // position in the declaration of each new task
	known     []int // positions of tasks that the run already has
	again     map[Index]Index
	changed   map[Index]int
}

func (r *Run) planGrowth(g *Growth, parent Index, deferring bool) *growthPlan {
	p := &growthPlan{
		run: r, fresh: map[string]Index{}, again: map[Index]Index{}, changed: map[Index]int{}, deferring: deferring,
		batch: batch{parent: parent, first: Index(len(r.nodes))},
	}
	if n := len(r.nodes) + len(g.Tasks); n > MaxTasks {
		p.fault(None, Fault{Kind: FaultTooLarge, Detail: fmt.Sprintf(
			"the run would have %d tasks; the limit is %d", n, MaxTasks)})
		return p
	}
	for k := range g.Tasks {
		p.declare(k, &g.Tasks[k])
	}
	for n, k := range p.source {
		p.resolve(n, k, &g.Tasks[k])
	}
	for _, k := range p.known {
		p.redefine(Index(k), &g.Tasks[k])
	}
	p.checkFamilies(g)
	p.checkEdges()
	if len(p.faults) == 0 {
		p.checkCycles()
	}
	return p
}

func (p *growthPlan) fault(k Index, f Fault) {
	f.Task = k
	p.faults = append(p.faults, f)
}

func (p *growthPlan) declare(k int, a *Addition) {
	at := Index(k)
	for _, f := range graph.CheckTask(&a.Task) {
		p.fault(at, f)
	}
	if i, ok := p.fresh[a.ID]; ok {
		p.fault(at, Fault{Kind: FaultDuplicate, ID: a.ID, Other: Index(p.source[i-p.batch.first])})
		return
	}
	if _, ok := p.run.Lookup(a.ID); ok {
		p.known = append(p.known, k)
		return
	}
	p.fresh[a.ID] = p.batch.first + Index(len(p.tasks))
	p.source = append(p.source, k)
	p.tasks = append(p.tasks, addedTask{under: p.under(at, a), id: a.ID, parent: p.batch.parent, work: workOf(&a.Task)})
}

func (p *growthPlan) under(at Index, a *Addition) Index {
	if a.Under == "" {
		return None
	}
	i, ok := p.run.Lookup(a.Under)
	if !ok || !p.run.IsFanOut(i) || p.batch.parent == None {
		p.fault(at, Fault{Kind: FaultUnknownFanOut, ID: a.ID, Ref: a.Under})
		return None
	}
	return i
}

func (p *growthPlan) find(id string) (Index, bool) {
	if i, ok := p.fresh[id]; ok {
		return i, true
	}
	return p.run.Lookup(id)
}

func (p *growthPlan) resolve(n, k int, a *Addition) {
	needs, before := p.rows(Index(k), p.batch.first+Index(n), a)
	p.batch.needs = append(p.batch.needs, needs)
	p.batch.before = append(p.batch.before, before)
}

func (p *growthPlan) rows(at, i Index, a *Addition) (needs, before []Index) {
	needs, before = []Index{}, []Index{}
	for _, id := range a.Needs {
		d, ok := p.find(id)
		switch {
		case !ok:
			p.fault(at, Fault{Kind: FaultUnknownNeed, ID: a.ID, Ref: id})
		case d == i:
			p.fault(at, Fault{Kind: FaultSelfNeed, ID: a.ID})
		default:
			needs = append(needs, d)
		}
	}
	for _, id := range a.Before {
		t, ok := p.find(id)
		switch {
		case !ok:
			p.fault(at, Fault{Kind: FaultUnknownNeed, ID: a.ID, Ref: id})
		case t == i:
			p.fault(at, Fault{Kind: FaultSelfNeed, ID: a.ID})
		case int(t) < len(p.run.nodes) && p.run.nodes[t].state > Ready && !p.deferring && !p.waits(t, i):
			p.fault(at, Fault{Kind: FaultTargetStarted, ID: a.ID, Ref: id, Detail: p.run.nodes[t].state.String()})
		default:
			before = append(before, t)
		}
	}
	if len(needs) == 0 && len(a.Needs) == 0 && p.batch.parent != None && !slices.Contains(before, p.batch.parent) {
		needs = append(needs, p.batch.parent)
	}
	if a.Rule == OneFailed && len(needs) == 0 && len(a.Needs) == 0 {
		p.fault(at, Fault{Kind: FaultNothingToReactTo, ID: a.ID})
	}
	return distinct(needs), distinct(before)
}

func (p *growthPlan) waits(t, i Index) bool {
	return i < p.batch.first && slices.Contains(p.run.Needs(t), i)
}

func distinct(row []Index) []Index {
	slices.Sort(row)
	return slices.Compact(row)
}

func (p *growthPlan) checkEdges() {
	edges := p.run.heirEdges(p.batch, p.tasks)
	for n := range p.batch.needs {
		edges += len(p.batch.needs[n]) + len(p.batch.before[n])
	}
	for k := range p.redefined {
		edges += len(p.redefined[k].needs) + len(p.redefined[k].before)
	}
	held := p.run.graph.Edges() + edges
	if p.run.growth != nil {
		held += p.run.growth.edges
	}
	if edges > maxGrowthEdges || held > MaxEdges {
		p.fault(None, Fault{Kind: FaultTooLarge, Detail: fmt.Sprintf(
			"the added tasks bring %d dependencies; the limit is %d at once: join them in one task that the rest waits for",
			edges, maxGrowthEdges)})
	}
}

// checkCycles visits only tasks reachable from the new ones.
func (p *growthPlan) checkCycles() {
	after := map[Index][]Index{} // future edges: task → dependants
	for n, row := range p.batch.needs {
		for _, d := range row {
			after[d] = append(after[d], p.batch.first+Index(n))
		}
	}
	needed := neededWithin(p.batch, func(k int) Index { return p.tasks[k].under })
	heirs := p.run.heirsOf(p.batch, p.tasks)
	var starts []Index
	last := int64(-1)
	for n, row := range p.batch.before {
		i := p.batch.first + Index(n)
		after[i] = append(after[i], row...)
		if !needed[n] {
			after[i] = append(after[i], heirs[p.tasks[n].under]...)
		}
		starts = append(starts, i)
	}
	switch {
	case len(p.redefined) > 0:
		starts = append(starts, p.replan(after)...)
	case !p.local():
		last = p.lastNeed()
	}
	next := func(i Index) []Index {
		switch {
		case i >= p.batch.first:
			return after[i]
		case len(p.redefined) > 0:
			return slices.Concat(p.kept(i), after[i])
		case last < 0 || p.run.order[i] > last: // No path leads back to a dependency.
			return nil
		}
		return slices.Concat(p.run.Dependants(i), after[i])
	}
	if !graph.HasCycle(starts, next) {
		return
	}
	for _, path := range graph.Cycles(starts, len(p.run.nodes)+len(p.tasks), next) {
		f := Fault{Kind: FaultCycle}
		for _, i := range path {
			f.Path = append(f.Path, p.name(i))
		}
		f.ID = f.Path[0]
		p.fault(None, f)
	}
}

// local reports that a cycle is only possible among the new tasks. Most growths are local, so the search skips the
// run's own tasks.
func (p *growthPlan) local() bool {
	for n := range p.batch.needs {
		if p.batch.parent != None && len(p.batch.before[n]) > 0 || p.tasks[n].under != None {
			return false
		}
		for _, d := range p.batch.needs[n] {
			if d < p.batch.first && d != p.batch.parent {
				return false
			}
		}
	}
	return true
}

func (p *growthPlan) lastNeed() int64 {
	numbers, last := p.run.ensureOrder(), int64(-1)
	for _, row := range p.batch.needs {
		for _, d := range row {
			if d < p.batch.first {
				last = max(last, numbers[d])
			}
		}
	}
	return last
}

func (p *growthPlan) name(i Index) string {
	if i >= p.batch.first {
		return p.tasks[i-p.batch.first].id
	}
	return p.run.ID(i)
}
