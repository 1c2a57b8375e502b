package dag

import (
	"fmt"
	"slices"
)

// maxGrowthEdges bounds what one growth may add, so that a splitter between wide
// layers cannot exhaust memory in one step.
const maxGrowthEdges = 1 << 20

// growthPlan is a validated growth, or its faults.
type growthPlan struct {
	run    *Run
	faults []Fault
	tasks  []addedTask
	batch  batch
	fresh  map[string]Index // ids of the new tasks
	source []int            // position in the declaration of each new task
}

func (r *Run) planGrowth(g *Growth, parent Index) *growthPlan {
	p := &growthPlan{
		run: r, fresh: map[string]Index{},
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

// declare names a new task.
func (p *growthPlan) declare(k int, a *Addition) {
	at := Index(k)
	for _, f := range checkTask(&a.Task) {
		p.fault(at, f)
	}
	if i, ok := p.run.Lookup(a.ID); ok {
		if !p.run.sameTask(i, p.batch.parent, a) {
			p.fault(at, Fault{Kind: FaultDuplicate, ID: a.ID, Other: None})
		}
		return
	}
	if i, ok := p.fresh[a.ID]; ok {
		p.fault(at, Fault{Kind: FaultDuplicate, ID: a.ID, Other: Index(p.source[i-p.batch.first])})
		return
	}
	p.fresh[a.ID] = p.batch.first + Index(len(p.tasks))
	p.source = append(p.source, k)
	p.tasks = append(p.tasks, addedTask{
		id: a.ID, attr: newAttr(&a.Task), priority: a.Priority, parent: p.batch.parent,
		payload: a.Payload, args: a.Args,
	})
}

func (p *growthPlan) find(id string) (Index, bool) {
	if i, ok := p.fresh[id]; ok {
		return i, true
	}
	return p.run.Lookup(id)
}

// resolve turns the names of new task n, declared as a, into indices.
func (p *growthPlan) resolve(n, k int, a *Addition) {
	at, i := Index(k), p.batch.first+Index(n)
	needs, before := []Index{}, []Index{}
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
		case int(t) < len(p.run.nodes) && p.run.nodes[t].state > Ready:
			p.fault(at, Fault{Kind: FaultTargetStarted, ID: a.ID, Ref: id, Detail: p.run.nodes[t].state.String()})
		default:
			before = append(before, t)
		}
	}
	if len(needs) == 0 && len(a.Needs) == 0 && p.batch.parent != None {
		needs = append(needs, p.batch.parent)
	}
	if a.Rule == OneFailed && len(needs) == 0 && len(a.Needs) == 0 {
		p.fault(at, Fault{Kind: FaultNothingToReactTo, ID: a.ID})
	}
	p.batch.needs = append(p.batch.needs, distinct(needs))
	p.batch.before = append(p.batch.before, distinct(before))
}

func distinct(row []Index) []Index {
	slices.Sort(row)
	return slices.Compact(row)
}

func (p *growthPlan) checkEdges() {
	edges := len(p.tasks) * len(p.run.heirs(p.batch.parent))
	for n := range p.batch.needs {
		edges += len(p.batch.needs[n]) + len(p.batch.before[n])
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

// checkCycles looks for cycles through the new tasks. It visits only what can be
// reached from them.
func (p *growthPlan) checkCycles() {
	after := map[Index][]Index{} // edges to be: task → dependants
	needed := map[Index]bool{}
	for n, row := range p.batch.needs {
		for _, d := range row {
			after[d] = append(after[d], p.batch.first+Index(n))
			needed[d] = true
		}
	}
	heirs := p.run.heirs(p.batch.parent)
	var starts []Index
	last := int64(-1)
	for n, row := range p.batch.before {
		i := p.batch.first + Index(n)
		after[i] = append(after[i], row...)
		if !needed[i] {
			after[i] = append(after[i], heirs...)
		}
		starts = append(starts, i)
	}
	if !p.local() {
		last = p.lastNeed()
	}
	next := func(i Index) []Index {
		switch {
		case i >= p.batch.first:
			return after[i]
		case last < 0 || p.run.order[i] > last: // No way leads back to what is needed.
			return nil
		}
		return slices.Concat(p.run.Dependants(i), after[i])
	}
	if !p.reachesBack(starts, next) {
		return
	}
	for _, path := range findCycles(starts, len(p.run.nodes)+len(p.tasks), next) {
		f := Fault{Kind: FaultCycle}
		for _, i := range path {
			f.Path = append(f.Path, p.name(i))
		}
		f.ID = f.Path[0]
		p.fault(None, f)
	}
}

// local reports that a cycle could only be among the new tasks themselves: none
// needs a task of the run other than its splitter. Most growths are of this
// kind, and then the run's own tasks need not be searched.
func (p *growthPlan) local() bool {
	for n := range p.batch.needs {
		if p.batch.parent != None && len(p.batch.before[n]) > 0 {
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

// lastNeed is the largest number, in the order of the run, of a task that a new
// one needs.
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

// reachesBack reports whether a new task can reach itself or another new task
// that reaches it: a depth-first search with a path mark, iterative.
func (p *growthPlan) reachesBack(starts []Index, next func(Index) []Index) bool {
	const onPath, done = 1, 2
	mark := map[Index]uint8{}
	var frames []frame
	for _, s := range starts {
		if mark[s] != 0 {
			continue
		}
		mark[s] = onPath
		frames = append(frames, frame{task: s, row: next(s)})
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.edge == len(f.row) {
				mark[f.task] = done
				frames = frames[:len(frames)-1]
				continue
			}
			d := f.row[f.edge]
			f.edge++
			switch mark[d] {
			case onPath:
				return true
			case done:
			default:
				mark[d] = onPath
				frames = append(frames, frame{task: d, row: next(d)})
			}
		}
	}
	return false
}

func (p *growthPlan) name(i Index) string {
	if i >= p.batch.first {
		return p.tasks[i-p.batch.first].id
	}
	return p.run.ID(i)
}
