package forecast

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/internal/engine/ranked"
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

// Compare implements [ranked.Ordered].
func (e event) Compare(o event) int {
	if order := cmp.Or(e.at.Compare(o.at), cmp.Compare(e.kind, o.kind)); order != 0 {
		return order
	}
	if e.kind == tickDue && e.of != o.of {
		return cmp.Compare(e.of.order, o.of.order)
	}
	return cmp.Compare(e.number, o.number)
}

// queue returns events in chronological order.
type queue struct {
	events ranked.Queue[event]
	pushed int
}

func (q *queue) push(e event) {
	q.pushed++
	e.number = q.pushed
	q.events.Push(e)
}

func (q *queue) pop() (event, bool) {
	if len(q.events) == 0 {
		return event{}, false
	}
	return q.events.Pop(), true
}
