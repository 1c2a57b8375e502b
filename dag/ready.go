package dag

import "math/bits"

// rankSet is a set of small integers with a fast minimum: a tree of 64-bit words whose bits mark
// non-empty words below. Each operation touches at most four words for a million tasks; a heap would
// make about twenty comparisons.
type rankSet struct {
	levels [][]uint64
	// first is a word of the lowest level; all words before it are empty. Tasks become ready in about
	// their start order, so it usually holds the minimum and saves a descent.
	first int
}

func newRankSet(n int) rankSet {
	var s rankSet
	for {
		n = (n + 63) / 64
		s.levels = append(s.levels, make([]uint64, max(n, 1)))
		if n <= 1 {
			return s
		}
	}
}

func (s *rankSet) add(x Index) {
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

func (s *rankSet) remove(x Index) {
	for _, words := range s.levels {
		w := &words[x>>6]
		*w &^= 1 << (x & 63)
		if *w != 0 {
			return
		}
		x >>= 6
	}
}

// least returns the smallest member; None if the set is empty.
func (s *rankSet) least() Index {
	if w := s.levels[0][s.first]; w != 0 {
		return Index(s.first<<6 | bits.TrailingZeros64(w))
	}
	top := len(s.levels) - 1
	if s.levels[top][0] == 0 {
		return None
	}
	x := 0
	for l := top; l >= 0; l-- {
		x = x<<6 | bits.TrailingZeros64(s.levels[l][x])
	}
	s.first = x >> 6
	return Index(x)
}

// startHeap orders the tasks without a rank: those added at run time, unmetered ones and admitted
// ones. Stale entries stay until they reach the top, where peek drops them.
type startHeap struct {
	keys []startKey
}

type startKey struct {
	priority int32
	task     Index
}

func (k startKey) before(o startKey) bool {
	if k.priority != o.priority {
		return k.priority > o.priority
	}
	return k.task < o.task
}

func (h *startHeap) push(k startKey) {
	h.keys = append(h.keys, k)
	i := len(h.keys) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !h.keys[i].before(h.keys[parent]) {
			return
		}
		h.keys[i], h.keys[parent] = h.keys[parent], h.keys[i]
		i = parent
	}
}

func (h *startHeap) pop() {
	last := len(h.keys) - 1
	h.keys[0] = h.keys[last]
	h.keys = h.keys[:last]
	i := 0
	for {
		child := 2*i + 1
		if child >= last {
			return
		}
		if child+1 < last && h.keys[child+1].before(h.keys[child]) {
			child++
		}
		if !h.keys[child].before(h.keys[i]) {
			return
		}
		h.keys[i], h.keys[child] = h.keys[child], h.keys[i]
		i = child
	}
}

// peek returns the first valid entry; ok is false if there is none.
func (h *startHeap) peek(nodes []node, still func(node) bool) (k startKey, ok bool) {
	for len(h.keys) > 0 {
		if k := h.keys[0]; still(nodes[k.task]) {
			return k, true
		}
		h.pop()
	}
	return startKey{}, false
}
