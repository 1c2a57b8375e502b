package graph

import "github.com/roundsman/roundsman/dag/internal/cycles"

// acyclic reports whether the rows of needs contain no cycle. Dependencies that
// all point to earlier tasks, the usual case, are settled without any work space.
func acyclic(g *Graph) bool {
	forward := true
	for i := range g.attrs {
		row := g.needs[g.needsOff[i]:g.needsOff[i+1]]
		if len(row) > 0 && int(row[len(row)-1]) >= i {
			forward = false
			break
		}
	}
	return forward || len(residue(g)) == 0
}

// residue removes tasks without remaining dependencies until none is left to
// remove (Kahn) and returns the tasks that stay: those on a cycle or behind one.
func residue(g *Graph) []Index {
	n := g.Len()
	wait := make([]int32, n)
	queue := make([]Index, 0, n)
	for i := range n {
		wait[i] = int32(g.needsOff[i+1] - g.needsOff[i])
		if wait[i] == 0 {
			queue = append(queue, Index(i))
		}
	}
	for head := 0; head < len(queue); head++ {
		for _, d := range g.Dependants(queue[head]) {
			if wait[d]--; wait[d] == 0 {
				queue = append(queue, d)
			}
		}
	}
	var rest []Index
	if len(queue) == n {
		return nil
	}
	for i := range n {
		if wait[i] > 0 {
			rest = append(rest, Index(i))
		}
	}
	return rest
}

// cycles reports one cycle for every strongly connected component.
func (b *builder) cycles() {
	if acyclic(b.g) {
		return
	}
	for _, path := range cycles.Find(residue(b.g), b.g.Len(), b.g.Dependants) {
		f := Fault{Kind: FaultCycle, Task: path[0], ID: b.g.ID(path[0])}
		for _, i := range path {
			f.Path = append(f.Path, b.g.ID(i))
		}
		b.faults = append(b.faults, f)
	}
}
