package run

import "container/heap"

// itemSet is a set of items that knows the one with the smallest id.
type itemSet struct {
	byID map[int]*item
	// order has the ids, and some that were removed: they leave when they come first, or
	// when they are more than the others.
	order idHeap
}

// minOrder is how many ids are not worth looking through.
const minOrder = 64

func newItemSet() itemSet { return itemSet{byID: map[int]*item{}} }

func (s *itemSet) len() int { return len(s.byID) }

func (s *itemSet) add(it *item) {
	if s.byID[it.ID] == nil {
		heap.Push(&s.order, it.ID)
	}
	s.byID[it.ID] = it
	if len(s.order) > 2*max(len(s.byID), minOrder) {
		s.compact()
	}
}

func (s *itemSet) remove(it *item) { delete(s.byID, it.ID) }

// compact leaves each id once. The smallest comes first, whatever the order of the map.
func (s *itemSet) compact() {
	s.order = s.order[:0]
	//workflowcheck:ignore a heap returns the smallest, in whatever order it was filled
	for id := range s.byID {
		s.order = append(s.order, id)
	}
	heap.Init(&s.order)
}

// first returns the item with the smallest id; nil: there is none.
func (s *itemSet) first() *item {
	for len(s.order) > 0 {
		if it := s.byID[s.order[0]]; it != nil {
			return it
		}
		heap.Pop(&s.order)
	}
	return nil
}

// sorted lists the items by id. It costs all of them.
func (s *itemSet) sorted() []*item { return byID(s.byID) }

type idHeap []int

func (h idHeap) Len() int           { return len(h) }
func (h idHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h idHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *idHeap) Push(x any) {
	if id, ok := x.(int); ok {
		*h = append(*h, id)
	}
}

// Pop implements heap.Interface.
func (h *idHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
