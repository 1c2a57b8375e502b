package fleet

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const maxDetail = 300

// Trouble is a report about program starts on a worker, or about its disk. One about a process without the id changes nothing.
type Trouble contract.WorkerTroubleInput

type troubles struct{ agenda }

func (e Trouble) apply(r *Registry, now time.Time) {
	if !r.Known(e.Incarnation) {
		return
	}
	w := r.workers[e.ID]
	switch {
	case e.Code == "":
		r.clear(w, now)
	case w.Trouble != nil && (w.Trouble.Code == e.Code || w.Trouble.Code == contract.CodeCannotStart):
		w.Trouble.At, w.Trouble.Detail, w.Trouble.Run = now, jobtype.Clip(e.Detail, maxDetail), e.Run
	default:
		w.Trouble = &contract.WorkerTrouble{Code: e.Code, Detail: jobtype.Clip(e.Detail, maxDetail), Run: e.Run, Since: now, At: now}
		r.note(w, now, w.shown(), contract.WorkerTransition{Code: contract.WorkerSuspect, Note: string(e.Code) + ": " + w.Trouble.Detail})
	}
	r.troubles.await(w)
}

func (r *Registry) clear(w *worker, now time.Time) {
	if w.Trouble == nil {
		return
	}
	since := w.Trouble.Since
	w.Trouble = nil
	r.note(w, now, w.shown(), contract.WorkerTransition{Code: contract.WorkerCleared, Since: since})
	r.troubles.await(w)
}

func (t *troubles) await(w *worker) {
	lasts := time.Duration(0)
	if w.Trouble != nil {
		lasts = lastingTrouble(w.Trouble.Code)
	}
	if lasts == 0 {
		t.drop(w.Incarnation)
		return
	}
	t.set(w.Incarnation, w.Trouble.At.Add(lasts))
}

func lastingTrouble(code contract.Code) time.Duration {
	switch code { //nolint:exhaustive // the others are no trouble of a worker
	case contract.CodeNotInstalled:
		return contract.NotInstalledTime
	case contract.CodeDiskFull:
		return contract.DiskFullTime
	}
	return 0
}

func (r *Registry) endTroubles(now time.Time) {
	for _, who := range r.troubles.due(now) {
		r.troubles.drop(who)
		if r.Known(who) {
			r.clear(r.workers[who.ID], now)
		}
	}
}

func (t *troubles) forget(w *worker) {
	w.Trouble = nil
	t.drop(w.Incarnation)
}
