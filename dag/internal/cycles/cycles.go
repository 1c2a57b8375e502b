// Package cycles finds cycles in graphs of tasks.
package cycles

import "slices"

// Find returns, for every strongly connected component with more than one
// task that can be reached from starts, one cycle: its first task is the
// component's lowest, repeated at the end. Iterative (Tarjan), because a chain
// may be as long as the graph.
func Find[I ~int32](starts []I, n int, next func(I) []I) [][]I {
	t := tarjan[I]{low: make([]int32, n), order: make([]int32, n), component: make([]int32, n), next: next}
	for _, i := range starts {
		if t.order[i] == 0 {
			t.visit(i)
		}
	}
	return t.cycles
}

type tarjan[I ~int32] struct {
	next       func(I) []I
	order, low []int32 // 0: not visited
	component  []int32 // 0: not assigned yet
	clock      int32
	count      int32
	open       []I // visited, not yet in a component
	frames     []frame[I]
	cycles     [][]I
}

// frame is one task on the path of an iterative depth-first search.
type frame[I ~int32] struct {
	task I
	row  []I // where it leads
	edge int // the next of row to look at
}

func (t *tarjan[I]) enter(i I) {
	t.clock++
	t.order[i], t.low[i] = t.clock, t.clock
	t.open = append(t.open, i)
	t.frames = append(t.frames, frame[I]{task: i, row: t.next(i)})
}

func (t *tarjan[I]) visit(root I) {
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

func (t *tarjan[I]) leave(i I) {
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
func (t *tarjan[I]) walk(start I) []I {
	from := map[I]I{}
	queue := []I{start}
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
	return []I{start, start} // a component of several tasks always has a cycle through each
}

func unwind[I ~int32](from map[I]I, start, last I) []I {
	path := []I{start}
	for i := last; i != start; i = from[i] {
		path = append(path, i)
	}
	path = append(path, start)
	slices.Reverse(path)
	return path
}

// Any reports whether a task of starts can reach itself, or another that it can reach
// does: a depth-first search with a path mark, iterative.
func Any[I ~int32](starts []I, next func(I) []I) bool {
	const onPath, done = 1, 2
	mark := map[I]uint8{}
	var frames []frame[I]
	for _, s := range starts {
		if mark[s] != 0 {
			continue
		}
		mark[s] = onPath
		frames = append(frames, frame[I]{task: s, row: next(s)})
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
				frames = append(frames, frame[I]{task: d, row: next(d)})
			}
		}
	}
	return false
}
