package fleet

import (
	"fmt"
	"time"
)

// Annotate records something that an operator changed and the registry does not
// look into, and shows it to all watchers. The answer is [Rejected] if there is
// no such worker.
type Annotate struct {
	ID   string
	Note string
	By   string
	// Reason is the operator's.
	Reason string
}

func (e Annotate) apply(r *Registry, now time.Time) {
	w := r.workers[e.ID]
	if w == nil || w.Liveness == Deleted {
		r.decide(Rejected{Reason: fmt.Sprintf("worker %q is not registered; `roundsman workers list` shows those that are", e.ID)})
		return
	}
	r.note(w, now, w.shown(), because(e.Note, e.Reason), e.By)
}
