package fleet

import (
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
)

func (e Operate) apply(r *Registry, now time.Time) {
	w := r.workers[e.ID]
	// An operator's setting outlives a deletion, for a node that was away for days. So it can be reverted meanwhile.
	if w == nil || (w.Liveness == contract.WorkerDeleted && e.Action != contract.UncordonWorker) {
		r.decide(Rejected{Code: contract.WorkerUnknown, ID: e.ID})
		return
	}
	switch e.Action {
	case contract.DrainWorker:
		r.setMode(w, e, now, contract.ModeDraining)
	case contract.CordonWorker:
		r.setMode(w, e, now, contract.ModeCordoned)
	case contract.UncordonWorker:
		r.setMode(w, e, now, "")
	case contract.RemoveWorker:
		r.remove(w, e, now)
	default:
		r.decide(Rejected{Code: contract.WorkerActionUnknown, Action: e.Action})
	}
}

func (r *Registry) setMode(w *worker, e Operate, now time.Time, mode string) {
	if w.Mode == mode {
		return
	}
	from := w.shown()
	w.Mode = mode
	t := r.note(w, now, from, contract.WorkerTransition{Code: contract.WorkerModeSet, Mode: mode, Note: e.Reason, By: e.By})
	w.Kept = t
	if mode == "" {
		w.Kept = contract.WorkerTransition{}
	}
	if w.Liveness == contract.WorkerOnline {
		w.Since, w.Why = now, t
	}
}

// A worker that beats would register again within a minute.
func (r *Registry) remove(w *worker, e Operate, now time.Time) {
	if w.Liveness == contract.WorkerOnline && r.fresh(w) {
		r.decide(Rejected{Code: contract.WorkerAlive, ID: w.ID, Process: w.registration.Process()})
		return
	}
	r.delete(w, now, contract.WorkerTransition{Code: contract.WorkerRemoved, Note: e.Reason, By: e.By})
}

func (e Cleanup) apply(r *Registry, now time.Time) {
	for _, id := range r.Removable(e, now) {
		w := r.workers[id]
		r.delete(w, now, contract.WorkerTransition{Code: contract.WorkerRemoved, Since: w.Since, By: e.By})
	}
}

// Removable lists the workers that the clean-up would remove now.
func (r *Registry) Removable(e Cleanup, now time.Time) []string {
	removable := []string{}
	for _, id := range r.away {
		w := r.workers[id]
		if w.Liveness == contract.WorkerOffline && (e.AllOffline || !now.Before(r.deleteAt(w, r.pulses[w.Incarnation]))) {
			removable = append(removable, id)
		}
	}
	return removable
}

// CheckResize returns the fault of a request for other caps.
func CheckResize(in contract.ResizeWorkerInput) error {
	switch {
	case in.Reset && (in.MaxDetect != 0 || in.MaxExecute != 0):
		return errors.New("either reset or new caps, not both")
	case in.Reset:
		return nil
	case in.MaxDetect == 0 && in.MaxExecute == 0:
		return errors.New("nothing to change: give max_detect, max_execute or reset")
	}
	return CheckCaps(contract.WorkerCaps{MaxDetect: in.MaxDetect, MaxExecute: in.MaxExecute})
}

// CheckCaps accepts 0, which leaves a cap unchanged.
func CheckCaps(caps contract.WorkerCaps) error {
	if caps.MaxDetect < 0 || caps.MaxExecute < 0 || caps.MaxDetect > contract.MaxWorkerCap || caps.MaxExecute > contract.MaxWorkerCap {
		return fmt.Errorf("caps must be between 1 and %d", contract.MaxWorkerCap)
	}
	return nil
}

func (e Resize) apply(r *Registry, now time.Time) {
	w := r.workers[e.ID]
	if w == nil || w.Liveness == contract.WorkerDeleted {
		r.decide(Rejected{Code: contract.WorkerUnknown, ID: e.ID})
		return
	}
	resized := resizedCaps(w.registration, contract.ResizeWorkerInput(e))
	if equalCaps(w.registration.Resized, resized) {
		return
	}
	w.registration.Resized = resized
	r.note(w, now, w.shown(), contract.WorkerTransition{Code: contract.WorkerResized, Caps: w.registration.Caps(), Note: e.Reason, By: e.By})
}

func resizedCaps(registration contract.WorkerRegistration, in contract.ResizeWorkerInput) *contract.WorkerCaps {
	if in.Reset {
		return nil
	}
	caps := registration.Caps()
	if in.MaxDetect > 0 {
		caps.MaxDetect = in.MaxDetect
	}
	if in.MaxExecute > 0 {
		caps.MaxExecute = in.MaxExecute
	}
	return &caps
}

func equalCaps(a, b *contract.WorkerCaps) bool {
	return a == b || (a != nil && b != nil && *a == *b)
}
