package dag

import (
	"slices"

	"github.com/roundsman/roundsman/dag/internal/graph"
)

// definitions holds the definition and the dependencies of every task: the graph and the growth.
type definitions struct {
	graph    *Graph
	growth   *growth // nil until tasks are added
	order    order   // nil until a growth needs it
	families graph.Families
}

func (defs *definitions) ensureGrowth() *growth {
	if defs.growth == nil {
		defs.growth = &growth{
			byID: map[string]Index{}, needs: map[Index][]Index{}, deps: map[Index][]Index{}, blobs: map[string][]byte{},
			latest: map[Index]int{}, rows: map[Index][]Index{}, ahead: map[Index][]Index{},
		}
	}
	return defs.growth
}

func (defs *definitions) underID(i Index) string {
	if of := defs.Under(i); of != None {
		return defs.ID(of)
	}
	return ""
}

// Family returns the tasks of a fan-out, ascending. Do not modify the slice.
func (defs *definitions) Family(name string) []Index {
	return defs.families.Of(name, defs.Len(), defs.ID)
}

func (defs *definitions) rankOf(i Index) Index {
	return defs.graph.Rank(i)
}

func (defs *definitions) latest(i Index) *redefinition {
	if defs.growth == nil || len(defs.growth.latest) == 0 {
		return nil
	}
	if n, ok := defs.growth.latest[i]; ok {
		return &defs.growth.steps[n]
	}
	return nil
}

// IsRedefined reports whether the definition of task i was replaced after the start of the run.
func (defs *definitions) IsRedefined(i Index) bool { return defs.latest(i) != nil }

func (defs *definitions) ranked(i Index) bool {
	return int(i) < defs.graph.Len() && defs.latest(i) == nil
}

func (defs *definitions) ownNeeds(i Index) []Index {
	if d := defs.latest(i); d != nil {
		return d.needs
	}
	if int(i) < defs.graph.Len() {
		return defs.graph.Needs(i)
	}
	b := defs.growth.batches[defs.growth.batchOf(i)]
	return b.needs[i-b.first]
}

// Graph returns the graph of the run, without added tasks.
func (defs *definitions) Graph() *Graph { return defs.graph }

// IsFanOut reports whether i stands for a fan-out whose tasks another task adds.
func (defs *definitions) IsFanOut(i Index) bool {
	if w := defs.late(i); w != nil {
		return w.attr.FanOut()
	}
	return defs.graph.Attr(i).FanOut()
}

func (defs *definitions) late(i Index) *work {
	if d := defs.latest(i); d != nil {
		return &d.work
	}
	if k := int(i) - defs.graph.Len(); k >= 0 {
		return &defs.growth.tasks[k].work
	}
	return nil
}

// Under returns the fan-out of the added task i; None for other tasks.
func (defs *definitions) Under(i Index) Index {
	if k := int(i) - defs.graph.Len(); k >= 0 {
		return defs.growth.tasks[k].under
	}
	return None
}

// ID returns the id of task i.
func (defs *definitions) ID(i Index) string {
	if k := int(i) - defs.graph.Len(); k >= 0 {
		return defs.growth.tasks[k].id
	}
	return defs.graph.ID(i)
}

// Len returns the number of tasks, including added ones.
func (defs *definitions) Len() int {
	if defs.growth == nil {
		return defs.graph.Len()
	}
	return defs.graph.Len() + len(defs.growth.tasks)
}

// Lookup finds a task by id.
func (defs *definitions) Lookup(id string) (Index, bool) {
	if i, ok := defs.graph.Lookup(id); ok || defs.growth == nil {
		return i, ok
	}
	if i, ok := defs.growth.byID[id]; ok {
		return i, true
	}
	return None, false
}

// Needs returns the direct dependencies of i, ascending. Do not modify the slice.
func (defs *definitions) Needs(i Index) []Index {
	var base []Index
	if defs.ranked(i) {
		base = defs.graph.Needs(i)
	}
	if defs.growth == nil || len(defs.growth.needs[i]) == 0 {
		return base
	}
	return slices.Concat(base, defs.growth.needs[i])
}

// Dependants returns the direct dependants of i. Do not modify the slice.
func (defs *definitions) Dependants(i Index) []Index {
	base, more := defs.dependants(i)
	if len(more) == 0 {
		return base
	}
	return slices.Concat(base, more)
}

func (defs *definitions) dependants(i Index) (base, more []Index) {
	if int(i) < defs.graph.Len() {
		base = defs.graph.Dependants(i)
	}
	if defs.growth != nil {
		more = defs.growth.deps[i]
		if row, changed := defs.growth.rows[i]; changed {
			base = row
		}
	}
	return base, more
}

// Priority returns the priority of i.
func (defs *definitions) Priority(i Index) int32 {
	if w := defs.late(i); w != nil {
		return w.priority
	}
	return defs.graph.Priority(i)
}

// Payload returns the payload of i, nil if it has none. Do not modify it.
func (defs *definitions) Payload(i Index) []byte {
	if w := defs.late(i); w != nil {
		return w.payload
	}
	return defs.graph.Payload(i)
}

// Args returns the second payload of i, nil if it has none. Do not modify it.
func (defs *definitions) Args(i Index) []byte {
	if w := defs.late(i); w != nil {
		return w.args
	}
	return defs.graph.Args(i)
}

// AddedBy returns the splitter of task i; None for a task of the graph or of an operator.
func (defs *definitions) AddedBy(i Index) Index {
	if k := int(i) - defs.graph.Len(); k >= 0 {
		return defs.growth.tasks[k].parent
	}
	return None
}

// descendants returns i and all direct and indirect dependants.
func (defs *definitions) descendants(i Index) []Index {
	all := []Index{i}
	seen := map[Index]bool{i: true}
	for head := 0; head < len(all); head++ {
		for _, d := range defs.Dependants(all[head]) {
			if !seen[d] {
				seen[d] = true
				all = append(all, d)
			}
		}
	}
	return all
}
