package graph

import "slices"

// Cycles returns one cycle for every strongly connected component of several tasks reachable from starts. The search
// is iterative (Tarjan), because a chain may be as long as the graph.
func Cycles(starts []Index, n int, next func(Index) []Index) [][]Index {
	t := tarjan{low: make([]int32, n), order: make([]int32, n), component: make([]int32, n), next: next}
	for _, i := range starts {
		if t.order[i] == 0 {
			t.visit(i)
		}
	}
	return t.cycles
}

type tarjan struct {
	next       func(Index) []Index
	order, low []int32 // 0: not visited
	component  []int32 // 0: not assigned yet
	clock      int32
	count      int32
	open       []Index // visited, not yet in a component
	frames     []frame
	cycles     [][]Index
}

type frame struct {
	task Index
	row  []Index // its dependants
	edge int     // next index in row
}

func (t *tarjan) enter(i Index) {
	t.clock++
	t.order[i], t.low[i] = t.clock, t.clock
	t.open = append(t.open, i)
	t.frames = append(t.frames, frame{task: i, row: t.next(i)})
}

func (t *tarjan) visit(root Index) {
	t.enter(root)
	for len(t.frames) > 0 {
		f := &t.frames[len(t.frames)-1]
		if f.edge < len(f.row) {
			d := f.row[f.edge]
			f.edge++
			if t.order[d] == 0 {
				t.enter(d)
			} else if t.component[d] == 0 {
				t.low[f.task] = min(t.low[f.task], t.order[d])
			}
			continue
		}
		t.leave(f.task)
	}
}

func (t *tarjan) leave(i Index) {
	t.frames = t.frames[:len(t.frames)-1]
	if len(t.frames) > 0 {
		parent := t.frames[len(t.frames)-1].task
		t.low[parent] = min(t.low[parent], t.low[i])
	}
	if t.low[i] != t.order[i] {
		return
	}
	t.count++
	at := len(t.open) - 1
	for t.open[at] != i {
		at--
	}
	members := t.open[at:]
	for _, m := range members {
		t.component[m] = t.count
	}
	if len(members) > 1 {
		t.cycles = append(t.cycles, t.walk(slices.Min(members)))
	}
	t.open = t.open[:at]
}

// walk finds a shortest cycle through start inside its component (breadth first).
func (t *tarjan) walk(start Index) []Index {
	from := map[Index]Index{}
	queue := []Index{start}
	for head := 0; head < len(queue); head++ {
		i := queue[head]
		for _, d := range t.next(i) {
			if d == start {
				return unwind(from, start, i)
			}
			if _, seen := from[d]; !seen && t.component[d] == t.component[start] {
				from[d] = i
				queue = append(queue, d)
			}
		}
	}
	return []Index{start, start} // a component of several tasks always has a cycle through each
}

func unwind(from map[Index]Index, start, last Index) []Index {
	path := []Index{start}
	for i := last; i != start; i = from[i] {
		path = append(path, i)
	}
	path = append(path, start)
	slices.Reverse(path)
	return path
}

// HasCycle reports whether starts or a task reachable from it lies on a cycle, without recursion.
func HasCycle(starts []Index, next func(Index) []Index) bool {
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

// If all dependencies point to earlier tasks, the usual case, acyclic allocates nothing.
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

// residue (Kahn) returns the tasks on a cycle or behind one.
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

func (b *builder) cycles() {
	if acyclic(b.g) {
		return
	}
	for _, path := range Cycles(residue(b.g), b.g.Len(), b.g.Dependants) {
		f := Fault{Kind: FaultCycle, Task: path[0], ID: b.g.ID(path[0])}
		for _, i := range path {
			f.Path = append(f.Path, b.g.ID(i))
		}
		b.faults = append(b.faults, f)
	}
}
