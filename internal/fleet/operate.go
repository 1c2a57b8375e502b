package fleet

import (
	"fmt"
	"time"
)

func (e Operate) apply(r *Registry, now time.Time) {
	w := r.workers[e.ID]
	// What an operator set outlives a deletion: a node that was away for days comes
	// back as it was. So it can be taken back meanwhile.
	if w == nil || (w.Liveness == Deleted && e.Action != Uncordon) {
		r.decide(Rejected{Reason: fmt.Sprintf("worker %q is not registered; `roundsman workers list` shows those that are", e.ID)})
		return
	}
	switch e.Action {
	case Drain:
		r.setMode(w, e, now, ModeDraining, "draining")
	case Cordon:
		r.setMode(w, e, now, ModeCordoned, "cordoned")
	case Uncordon:
		r.setMode(w, e, now, ModeNormal, "uncordoned")
	case Remove:
		r.remove(w, e, now)
	default:
		r.decide(Rejected{Reason: fmt.Sprintf("action %q is unknown; use drain, cordon, uncordon or remove", e.Action)})
	}
}

func (r *Registry) setMode(w *worker, e Operate, now time.Time, mode Mode, reason string) {
	if w.Mode == mode {
		return
	}
	from := w.shown()
	w.Mode = mode
	t := r.note(w, now, from, because(reason, e.Reason), e.By)
	w.Kept = t
	if mode == ModeNormal {
		w.Kept = Transition{}
	}
	if w.Liveness == Online {
		w.Since, w.Why = now, t
	}
}

// remove refuses a worker that beats: it would be back within a minute.
func (r *Registry) remove(w *worker, e Operate, now time.Time) {
	if w.Liveness == Online && r.fresh(w) {
		r.decide(Rejected{Reason: fmt.Sprintf(
			"worker %q is alive and would register again within a minute; stop its process (%s) first, or cordon it", w.ID, w.describe())})
		return
	}
	r.delete(w, now, because("removed", e.Reason), e.By)
}

func (e Cleanup) apply(r *Registry, now time.Time) {
	for _, id := range r.ids() {
		w := r.workers[id]
		p := r.pulses[w.Identity]
		if w.Liveness != Offline || p == nil {
			continue
		}
		if e.AllOffline || !now.Before(r.deleteAt(w, p)) {
			r.delete(w, now, "cleaned up after "+span(now.Sub(w.Since))+" OFFLINE", e.By)
		}
	}
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}
