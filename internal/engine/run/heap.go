package run

// seated is an element of a rankedHeap that knows its place there.
type seated[T any] interface {
	before(other T) bool
	// seat is where the element keeps its place; -1: it is in no heap.
	seat() *int
}

// rankedHeap has the first of its elements at index 0. Its elements can be removed, and
// moved after their order has changed.
type rankedHeap[T seated[T]] []T

func (h *rankedHeap[T]) push(x T) {
	*h = append(*h, x)
	h.up(len(*h) - 1)
}

func (h *rankedHeap[T]) remove(x T) {
	var none T
	at, last := *x.seat(), len(*h)-1
	moved := (*h)[last]
	(*h)[last] = none
	*h = (*h)[:last]
	*x.seat() = -1
	if at < last {
		(*h)[at] = moved
		h.settle(at)
	}
}

// fix restores the order after that of x has changed.
func (h *rankedHeap[T]) fix(x T) { h.settle(*x.seat()) }

func (h *rankedHeap[T]) settle(at int) {
	if h.down(at) == at {
		h.up(at)
	}
}

func (h *rankedHeap[T]) up(at int) {
	list := *h
	x := list[at]
	for at > 0 {
		parent := (at - 1) / 2
		if !x.before(list[parent]) {
			break
		}
		list[at] = list[parent]
		*list[at].seat() = at
		at = parent
	}
	list[at] = x
	*x.seat() = at
}

func (h *rankedHeap[T]) down(at int) int {
	list := *h
	x := list[at]
	for {
		child := 2*at + 1
		if child >= len(list) {
			break
		}
		if right := child + 1; right < len(list) && list[right].before(list[child]) {
			child = right
		}
		if !list[child].before(x) {
			break
		}
		list[at] = list[child]
		*list[at].seat() = at
		at = child
	}
	list[at] = x
	*x.seat() = at
	return at
}
