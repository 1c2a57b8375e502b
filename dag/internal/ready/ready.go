// Package ready holds the collections of tasks that may start: a set by rank and a heap by priority.
package ready

import (
	"math/bits"

	"github.com/roundsman/roundsman/dag/internal/graph"
)

// RankSet is a set of small integers with a fast minimum: a tree of 64-bit words whose bits mark non-empty words
// below. An operation touches at most four words for a million tasks.
type RankSet struct {
	levels [][]uint64
	// Lowest word with a member. Tasks become ready in about their start order, so this usually saves a descent.
	first int
}

// NewRankSet returns an empty set for members below n.
func NewRankSet(n int) RankSet {
	var s RankSet
	for {
		n = (n + 63) / 64
		s.levels = append(s.levels, make([]uint64, max(n, 1)))
		if n <= 1 {
			return s
		}
	}
}

// Add adds a member.
func (s *RankSet) Add(x graph.Index) {
	s.first = min(s.first, int(x>>6))
	for _, words := range s.levels {
		w := &words[x>>6]
		old := *w
		*w = old | 1<<(x&63)
		if old != 0 {
			return
		}
		x >>= 6
	}
}

// Remove removes a member.
func (s *RankSet) Remove(x graph.Index) {
	for _, words := range s.levels {
		w := &words[x>>6]
		*w &^= 1 << (x & 63)
		if *w != 0 {
			return
		}
		x >>= 6
	}
}

// Least returns the smallest member; None if the set is empty.
func (s *RankSet) Least() graph.Index {
	if w := s.levels[0][s.first]; w != 0 {
		return graph.Index(s.first<<6 | bits.TrailingZeros64(w))
	}
	top := len(s.levels) - 1
	if s.levels[top][0] == 0 {
		return graph.None
	}
	x := 0
	for l := top; l >= 0; l-- {
		x = x<<6 | bits.TrailingZeros64(s.levels[l][x])
	}
	s.first = x >> 6
	return graph.Index(x)
}

// Heap orders the tasks without a rank. Stale entries stay until they reach the top, where Peek drops them.
type Heap struct {
	keys []Key
}

// Key is a task with its priority.
type Key struct {
	Priority int32
	Task     graph.Index
}

// Before reports whether k starts before o: a higher priority first, then the first declaration.
func (k Key) Before(o Key) bool {
	if k.Priority != o.Priority {
		return k.Priority > o.Priority
	}
	return k.Task < o.Task
}

// Push adds an entry.
func (h *Heap) Push(k Key) {
	h.keys = append(h.keys, k)
	i := len(h.keys) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !h.keys[i].Before(h.keys[parent]) {
			return
		}
		h.keys[i], h.keys[parent] = h.keys[parent], h.keys[i]
		i = parent
	}
}

// Pop removes the first entry.
func (h *Heap) Pop() {
	last := len(h.keys) - 1
	h.keys[0] = h.keys[last]
	h.keys = h.keys[:last]
	i := 0
	for {
		child := 2*i + 1
		if child >= last {
			return
		}
		if child+1 < last && h.keys[child+1].Before(h.keys[child]) {
			child++
		}
		if !h.keys[child].Before(h.keys[i]) {
			return
		}
		h.keys[i], h.keys[child] = h.keys[child], h.keys[i]
		i = child
	}
}

// Len returns the number of entries, with stale ones.
func (h *Heap) Len() int { return len(h.keys) }

// Peek returns the first entry whose node is still valid; ok is false if there is none. It drops stale entries.
func Peek[N any](h *Heap, nodes []N, still func(N) bool) (k Key, ok bool) {
	for len(h.keys) > 0 {
		if k := h.keys[0]; still(nodes[k.Task]) {
			return k, true
		}
		h.Pop()
	}
	return Key{}, false
}
