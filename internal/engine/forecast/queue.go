package forecast

import (
	"cmp"
	"container/heap"
	"time"
)

// kind of an event. Events at the same moment apply in this order: nothing begins at the closing
// of its window, and ends come before starts.
type kind int

const (
	windowCloses kind = iota
	runEnds
	windowOpens
	tickDue
)

type event struct {
	at   time.Time
	kind kind
	of   *typeState
	run  *run
	tick int
	// number keeps events of one moment and kind in the order of their creation.
	number int
}

// queue returns events in chronological order.
type queue struct {
	events eventHeap
	pushed int
}

func (q *queue) push(e event) {
	q.pushed++
	e.number = q.pushed
	heap.Push(&q.events, e)
}

func (q *queue) pop() (event, bool) {
	if len(q.events) == 0 {
		return event{}, false
	}
	next, ok := heap.Pop(&q.events).(event)
	return next, ok
}

type eventHeap []event

func (h eventHeap) Len() int      { return len(h) }
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h eventHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	if order := cmp.Or(a.at.Compare(b.at), cmp.Compare(a.kind, b.kind)); order != 0 {
		return order < 0
	}
	if a.kind == tickDue && a.of != b.of {
		return a.of.order < b.of.order
	}
	return a.number < b.number
}

// Push implements heap.Interface.
func (h *eventHeap) Push(x any) {
	if e, ok := x.(event); ok {
		*h = append(*h, e)
	}
}

// Pop implements heap.Interface.
func (h *eventHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
