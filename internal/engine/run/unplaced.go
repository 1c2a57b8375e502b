package run

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/instant"
)

// Unplaced reports since when nothing is in flight and every item waits for a worker that does not exist.
func (e *views) Unplaced() (since time.Time, all bool) {
	if len(e.flight) > 0 || len(e.items) == 0 || e.fleet.incomplete {
		return time.Time{}, false
	}
	waiting := 0
	//workflowcheck:ignore the latest and a sum do not depend on the order
	for _, c := range e.classes {
		switch {
		case len(c.items) == 0:
		case c.nowhere, c.possible > 0, c.noWorkerSince.IsZero():
			return time.Time{}, false
		default:
			waiting += len(c.items)
			since = instant.Later(since, c.noWorkerSince)
		}
	}
	return since, waiting == len(e.items)
}

// Placeable reports whether a worker exists for one of the items, busy or not.
func (e *views) Placeable() bool {
	waiting := 0
	//workflowcheck:ignore a disjunction does not depend on the order
	for _, c := range e.classes {
		if len(c.items) > 0 && (c.nowhere || c.possible > 0) {
			return true
		}
		waiting += len(c.items)
	}
	return waiting < len(e.items)
}

// Lacks names the missing property of the largest unplaceable class; "" if there is none.
func (e *views) Lacks() string {
	it := e.items[e.MainWait()]
	if it == nil || it.class == nil {
		return ""
	}
	return e.missing(it.class)
}
