package dag

import (
	"fmt"
	"slices"

	"github.com/roundsman/roundsman/dag/internal/graph"
)

func (p *growthPlan) redefine(at Index, a *Addition) {
	i, _ := p.run.Lookup(a.ID)
	parent := p.batch.parent
	if first, twice := p.again[i]; twice {
		p.fault(at, Fault{Kind: FaultDuplicate, ID: a.ID, Other: first})
		return
	}
	p.again[i] = at
	if parent != None && (p.run.AddedBy(i) != parent || p.run.underID(i) != a.Under) {
		p.fault(at, Fault{Kind: FaultDuplicate, ID: a.ID, Other: None})
		return
	}
	faults := len(p.faults)
	needs, before := p.rows(at, i, a)
	if len(p.faults) > faults {
		return
	}
	d := redefinition{task: i, parent: parent, work: workOf(&a.Task), needs: needs, before: before}
	if p.repeated(&d) {
		return
	}
	if f := p.fixed(&d); f != nil {
		f.ID = a.ID
		p.fault(at, *f)
		return
	}
	p.changed[i] = len(p.redefined)
	p.redefined = append(p.redefined, d)
}

// repeated reports whether a definition is already in force. A started task returned again by its splitter is left
// alone if it has the splitter's earlier definition.
func (p *growthPlan) repeated(d *redefinition) bool {
	if d.parent == None {
		now := p.run.effective(d.task)
		return d.same(&now) && !slices.ContainsFunc(d.before, func(t Index) bool { return t >= p.batch.first || !p.waits(t, d.task) })
	}
	if p.deferring && !p.run.addedBefore(d.task, d.parent) {
		return false // It waits for the task that would wait for it.
	}
	last := p.run.given(d.task, d.parent)
	if p.deferring || p.run.Under(d.task) != None || p.run.nodes[d.task].state > Ready {
		return d.does(&last)
	}
	return d.same(&last)
}

func (p *growthPlan) fixed(d *redefinition) *Fault {
	switch state := p.run.nodes[d.task].state; {
	case state > Ready:
		return &Fault{Kind: FaultStarted, Detail: state.String()}
	case p.run.IsFanOut(d.task) || d.attr.FanOut() || p.run.Under(d.task) != None:
		return &Fault{Kind: FaultNotRedefinable, Detail: "a result decides which tasks its fan-out has; skip it and add tasks of another name"}
	case p.deferring || p.continues(d.task):
		return &Fault{Kind: FaultNotRedefinable, Detail: "it is part of a task that has begun and continues; give the new task another id"}
	}
	return nil
}

func (p *growthPlan) continues(i Index) bool {
	return slices.ContainsFunc(p.run.Needs(i), func(n Index) bool { return p.run.AddedBy(n) == i })
}

// checkFamilies: tasks of a limited fan-out share their priority and their gated and unmetered attributes.
func (p *growthPlan) checkFamilies(g *Growth) {
	if len(p.redefined) == 0 {
		return
	}
	seen := map[string]bool{}
	for k := range p.redefined {
		d := &p.redefined[k]
		name := graph.EntryOf(p.run.ID(d.task))
		if p.run.fanOuts[name] == nil && g.FanOuts[name] <= 0 || seen[name] {
			continue
		}
		seen[name] = true
		for _, i := range p.run.Family(name) {
			other := p.run.effective(i)
			if n, changed := p.changed[i]; changed {
				other = p.redefined[n]
			}
			if other.attr.Unmetered() != d.attr.Unmetered() || other.attr.Gated() != d.attr.Gated() || other.priority != d.priority {
				p.fault(None, Fault{Kind: FaultNotRedefinable, ID: p.run.ID(d.task), Detail: fmt.Sprintf(
					"the tasks of %s, which has a concurrency, share their priority and whether they need resources; redefine all of them", name)})
				break
			}
		}
	}
}

// replan returns the tasks where a cycle may begin.
func (p *growthPlan) replan(after map[Index][]Index) []Index {
	starts := make([]Index, 0, len(p.redefined))
	for k := range p.redefined {
		d := &p.redefined[k]
		starts = append(starts, d.task)
		for _, n := range slices.Concat(d.needs, p.run.imposed(d.task, d.needs)) {
			after[n] = append(after[n], d.task)
		}
		after[d.task] = append(after[d.task], d.before...)
	}
	return starts
}

func (p *growthPlan) kept(i Index) []Index {
	return slices.DeleteFunc(slices.Clone(p.run.Dependants(i)), func(d Index) bool {
		_, changed := p.changed[d]
		return changed
	})
}
