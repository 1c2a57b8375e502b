package ranked

import "container/heap"

// Ordered is an element of a [Queue].
type Ordered[T any] interface{ Compare(other T) int }

// Queue has its smallest element at index 0.
type Queue[T Ordered[T]] []T

// Push adds an element.
func (q *Queue[T]) Push(x T) { heap.Push((*queue[T])(q), x) }

// Pop removes the first element.
func (q *Queue[T]) Pop() (first T) {
	first = (*q)[0]
	heap.Pop((*queue[T])(q))
	return first
}

type queue[T Ordered[T]] []T

func (q queue[T]) Len() int           { return len(q) }
func (q queue[T]) Less(i, j int) bool { return q[i].Compare(q[j]) < 0 }
func (q queue[T]) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *queue[T]) Push(x any) {
	if element, ok := x.(T); ok {
		*q = append(*q, element)
	}
}

// Pop implements heap.Interface.
func (q *queue[T]) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
