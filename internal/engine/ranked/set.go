package ranked

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Set is a set of elements with ids, which gives the one with the smallest id.
type Set[T any] struct {
	byID map[int]T
	// order has the ids, and some removed ones until they come first or are too many.
	order Queue[index]
}

const minOrder = 64

// NewSet returns an empty set.
func NewSet[T any]() Set[T] { return Set[T]{byID: map[int]T{}} }

// Len counts the elements.
func (s *Set[T]) Len() int { return len(s.byID) }

// Get returns the element of an id, or the zero value.
func (s *Set[T]) Get(id int) T { return s.byID[id] }

// Add adds or replaces an element.
func (s *Set[T]) Add(id int, x T) {
	if _, has := s.byID[id]; !has {
		s.order.Push(index(id))
	}
	s.byID[id] = x
	if len(s.order) > 2*max(len(s.byID), minOrder) {
		s.compact()
	}
}

// Remove takes an element out.
func (s *Set[T]) Remove(id int) { delete(s.byID, id) }

func (s *Set[T]) compact() {
	s.order = s.order[:0]
	//workflowcheck:ignore a heap returns the smallest, in any order of filling
	for id := range s.byID {
		s.order = append(s.order, index(id))
	}
	heap.Init((*queue[index])(&s.order))
}

// First returns the element with the smallest id.
func (s *Set[T]) First() (x T, ok bool) {
	for len(s.order) > 0 {
		if x, ok := s.byID[int(s.order[0])]; ok {
			return x, true
		}
		s.order.Pop()
	}
	return x, false
}

// Sorted lists the elements by id. It costs all of them.
func (s *Set[T]) Sorted() []T {
	s.compact()
	slices.Sort(s.order) // A sorted list is a heap.
	return lists.Map(s.order, func(id index) T { return s.byID[int(id)] })
}

type index int

// Compare implements [Ordered].
func (i index) Compare(o index) int { return cmp.Compare(i, o) }
