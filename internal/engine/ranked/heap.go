package ranked

// Seated is an element of a Heap that stores its place there.
type Seated[T any] interface {
	Before(other T) bool
	// Seat is where the element keeps its place; -1: it is in no heap.
	Seat() *int
}

// Heap has its first element at index 0. Elements can be removed, and moved after their order has changed.
type Heap[T Seated[T]] []T

// Push adds an element.
func (h *Heap[T]) Push(x T) {
	*h = append(*h, x)
	h.up(len(*h) - 1)
}

// Remove takes an element out.
func (h *Heap[T]) Remove(x T) {
	var none T
	at, last := *x.Seat(), len(*h)-1
	moved := (*h)[last]
	(*h)[last] = none
	*h = (*h)[:last]
	*x.Seat() = -1
	if at < last {
		(*h)[at] = moved
		h.settle(at)
	}
}

// Fix restores the order after that of x has changed.
func (h *Heap[T]) Fix(x T) { h.settle(*x.Seat()) }

func (h *Heap[T]) settle(at int) {
	if h.down(at) == at {
		h.up(at)
	}
}

func (h *Heap[T]) up(at int) {
	list := *h
	x := list[at]
	for at > 0 {
		parent := (at - 1) / 2
		if !x.Before(list[parent]) {
			break
		}
		list[at] = list[parent]
		*list[at].Seat() = at
		at = parent
	}
	list[at] = x
	*x.Seat() = at
}

func (h *Heap[T]) down(at int) int {
	list := *h
	x := list[at]
	for {
		child := 2*at + 1
		if child >= len(list) {
			break
		}
		if right := child + 1; right < len(list) && list[right].Before(list[child]) {
			child = right
		}
		if !list[child].Before(x) {
			break
		}
		list[at] = list[child]
		*list[at].Seat() = at
		at = child
	}
	list[at] = x
	*x.Seat() = at
	return at
}
