package run

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/attempt"
	"github.com/roundsman/roundsman/internal/engine/run/sameview"
)

func (v WorkersChanged) apply(e *Engine, now time.Time) {
	if gone := e.updateFleet(v, now); len(gone) > 0 {
		e.abandonGone(gone, now)
	}
	e.returnLost(now)
}

// updateFleet keeps the records of workers with unchanged processes; an incomplete view removes none. It returns the
// workers whose processes with possible attempts are gone.
func (e *course) updateFleet(v WorkersChanged, now time.Time) map[string]bool {
	f, gone := &e.fleet, map[string]bool{}
	f.view++
	if f.incomplete && !v.Incomplete {
		e.touchLacking()
		f.changes++
	}
	f.wasIncomplete, f.incomplete = f.incomplete, v.Incomplete
	seenNow := 0
	for i := range v.Workers {
		seen := &v.Workers[i]
		var w *worker
		if i < len(f.list) && f.list[i].ID == seen.ID { // Views are in order: no look-up.
			w = f.list[i]
		} else {
			w = f.byID[seen.ID]
		}
		lost := w != nil && w.inFlight > 0 && w.gone()
		switch {
		case w != nil && w.view == f.view:
			continue // It is in the view twice.
		case w != nil && sameview.Workers(&w.WorkerView, seen):
			w.view = f.view
			seenNow++
			if lost {
				gone[w.ID] = true
			}
			continue
		case w == nil:
			if w = f.absent[seen.ID]; w != nil && w.Instance != seen.Instance {
				w = nil
			}
		}
		delete(f.absent, seen.ID)
		lost = lost || len(seen.Fenced) > 0 && (w == nil || !slices.Equal(w.Fenced, seen.Fenced))
		left := w.leaves()
		w = e.see(w, *seen, now)
		if w.inFlight > 0 && w.leaves() != left && (w.online() || !left) {
			e.announce(w)
		}
		w.view = f.view
		f.put(w)
		seenNow++
		if lost || w.inFlight > 0 && w.gone() {
			gone[w.ID] = true
		}
	}
	switch {
	case v.Partial:
		for _, id := range v.Gone {
			e.unsee(f.byID[id])
		}
	case len(f.byID) != seenNow && !v.Incomplete:
		for _, w := range slices.Clone(f.sorted()) {
			if w.view != f.view {
				e.unsee(w)
			}
		}
	}
	return gone
}

func (e *ledger) announce(w *worker) {
	//workflowcheck:ignore each item is set for itself
	for _, it := range e.flight {
		if it.Worker == w.ID && it.Instance == w.Instance {
			it.Announced = w.leaves()
		}
	}
}

func (e *board) unsee(w *worker) {
	if w == nil {
		return
	}
	e.fleet.changes++
	e.dismiss(w)
	e.fleet.drop(w)
	if w.inFlight > 0 {
		e.fleet.setAbsent(&worker{WorkerView: contract.WorkerView{ID: w.ID, Instance: w.Instance}, own: w.own, inFlight: w.inFlight, apart: w.apart})
	}
}

// Incomplete reports whether workers may live that the newest view lacks.
func (e *views) Incomplete() bool { return e.fleet.incomplete }

// Deserted reports whether the newest view has no ONLINE worker, or may lack living workers.
func (e *views) Deserted() bool {
	if e.fleet.incomplete {
		return true
	}
	//workflowcheck:ignore a disjunction does not depend on the order
	for _, w := range e.fleet.byID {
		if w.online() {
			return false
		}
	}
	return true
}

func (e *board) see(w *worker, seen contract.WorkerView, now time.Time) *worker {
	fresh := w == nil || len(w.candidates) == 0
	e.noteSeen(w, seen)
	switch {
	case w == nil:
		w = &worker{}
	case w.Instance != seen.Instance:
		e.dismiss(w)
		w, fresh = &worker{used: w.used}, true
	}
	moved := !fresh && !sameview.Labels(w.Labels, seen.Labels)
	if moved {
		e.dismiss(w)
	}
	if seen.State == contract.WorkerOnline && !w.online() {
		w.coolUntil = time.Time{} // Its report is from before it was uncordoned, or returned.
	}
	if w.suspect && seen.Beat != w.suspectBeat {
		w.suspect = false
	}
	before := w.Trouble
	w.WorkerView = seen
	w.seeTrouble(before, now)
	if fresh || moved {
		for _, c := range e.pinned[w.ID] {
			e.enlist(c, w, now)
			e.touch(c)
		}
		for _, c := range e.open {
			e.enlist(c, w, now)
			e.touch(c)
		}
		return w
	}
	e.rerank(w, now)
	return w
}

func (e *board) noteSeen(w *worker, seen contract.WorkerView) {
	if w != nil && !w.suspect && w.coolUntil.IsZero() {
		before := w.WorkerView
		before.Beat = seen.Beat
		if sameview.Workers(&before, &seen) {
			return
		}
	}
	e.fleet.changes++
}

func (e *board) changed(w *worker, now time.Time) { e.fleet.changes++; e.rerank(w, now) }

// FleetChanges counts the changes that [Engine.Candidates] may show. The end of a cool-down is none.
func (e *board) FleetChanges() uint64 { return e.fleet.changes }

func (v WorkerProbed) apply(e *Engine, now time.Time) {
	w := e.fleet.instance(v.ID, v.Instance)
	if w == nil {
		return
	}
	w.observeUsed(v.BeatAt, v.Used, now)
	w.suspect = w.suspect && !v.Alive
	switch e.changed(w, now); {
	case v.Alive:
		e.returnLost(now)
	case w.suspect && w.Fresh: // The registry saw its beats, so no view will clear it.
		e.decide(Decision{Kind: Probe, Worker: v.ID, Instance: v.Instance})
	}
}

func (v WorkerHasRoom) apply(e *Engine, now time.Time) {
	if w := e.fleet.instance(v.ID, v.Instance); w != nil && !v.Load.At.Before(w.load.At) {
		w.observe(v.Handler, v.Load, now)
		w.coolUntil, w.load.Pause = time.Time{}, 0
		e.rerank(w, now)
	}
}

// Suspect keeps work from a worker that lost an item, or did not serve the source itself, until its next heartbeat.
func (e *course) Suspect(now time.Time, id, instance string) {
	if w := e.fleet.instance(id, instance); w != nil && !w.suspect {
		w.suspect, w.suspectBeat = true, w.Beat
		e.changed(w, now)
		e.decide(Decision{Kind: Probe, Worker: id, Instance: instance})
	}
}

// Cool keeps work from a worker for a pause.
func (e *course) Cool(now time.Time, id, instance string, pause time.Duration) {
	if w := e.fleet.instance(id, instance); w != nil {
		w.coolUntil = now.Add(pause)
		e.timers.Push(timer{at: w.coolUntil, kind: timerCool, class: id})
		e.changed(w, now)
	}
}

// Exclude keeps the work of a handler from a worker's process.
func (e *course) Exclude(now time.Time, id, instance, handler string) {
	if w := e.fleet.instance(id, instance); w != nil && !slices.Contains(w.unsupported, handler) {
		w.unsupported = append(w.unsupported, handler)
		e.changed(w, now)
	}
}

// WhyGone returns why a process can report nothing any more, or "".
func (e *views) WhyGone(id, instance string) string { return e.fleet.whyGone(id, instance) }

// abandonGone ends attempts if the registry has given the process up.
//
// A running attempt keeps its activity until the server has ended it: two activities of one item cannot be open at once.
func (e *course) abandonGone(workers map[string]bool, now time.Time) {
	var lost []*item
	//workflowcheck:ignore sorted right below
	for _, it := range e.flight {
		if it.Instance != "" && workers[it.Worker] && e.fleet.whyGone(it.Worker, it.Instance) != "" {
			lost = append(lost, it)
		}
	}
	slices.SortFunc(lost, func(a, b *item) int { return cmp.Compare(a.ID, b.ID) })
	for _, it := range lost {
		why := e.fleet.whyGone(it.Worker, it.Instance)
		switch {
		case it.Phase == PhaseGrace:
			it.Lost = why
			e.lose(it, true, now)
		case it.Abandoned != it.Attempt:
			it.Abandoned = it.Attempt
			e.decide(Decision{Kind: Abandon, Item: it.ID, Attempt: it.Attempt, Worker: it.Worker, Instance: it.Instance, Reason: why})
		}
	}
}

func (e *course) returnLost(now time.Time) {
	var back []*item
	for _, it := range e.lost.Sorted() {
		if !e.holds(it) || e.returned(it) {
			back = append(back, it)
		}
	}
	for _, it := range back {
		e.bringBack(it, now)
	}
}

func (e *board) returned(it *item) bool {
	w, work := e.fleet.byID[it.Worker], e.work[it.Work]
	return w.serves(work.Handler) && w.executes(work.Handler) >= 0 && w.accepts(work.JobType) && w.fits(it.Want.Node, it.Want.Labels) &&
		!slices.Contains(it.Lacks, w.Instance)
}

func (e *course) bringBack(it *item, now time.Time) {
	it.Pin = ""
	if e.holds(it) {
		it.Pin = it.Worker
	}
	e.again(it, it.Worker, now)
}

// Detectors lists the workers that can detect for a handler and job type, by id.
func (e *views) Detectors(handler, jobType string) []Detector {
	var able []Detector
	for _, w := range e.fleet.sorted() {
		if w.serves(handler) && w.detects(handler, jobType) {
			able = append(able, Detector{ID: w.ID, Instance: w.Instance, CoolUntil: w.coolUntil})
		}
	}
	return able
}

// Candidate is a worker for the work, whether it can serve now or not.
type Candidate = attempt.Candidate

// Candidates lists the workers with these labels and the handler of the work, by id. Work without a handler is for
// every worker that accepts its job type.
func (e *views) Candidates(name string, detect bool, labels map[string]string) []Candidate {
	work := e.work[name]
	var list []Candidate
	for _, w := range e.fleet.sorted() {
		capable := w.slots(work.Handler, work.JobType) > 0
		switch {
		case detect:
			capable = w.detects(work.Handler, work.JobType)
		case work.Handler == "":
			capable = w.MaxExecute > 0 && w.accepts(work.JobType)
		}
		if !capable || !w.fits("", labels) {
			continue
		}
		c := Candidate{ID: w.ID, Instance: w.Instance, CoolUntil: w.coolUntil, Online: w.online(), Offline: w.gone(), Reason: e.reason(w, work.Handler)}
		if c.Usable = c.Reason == ""; !c.Usable {
			c.Code = w.troubleCode(work.Handler)
		}
		list = append(list, c)
	}
	return list
}

func (w *worker) troubleCode(handler string) contract.Code {
	switch {
	case w.reserved():
		return contract.CodeCordoned
	case w.online() && slices.Contains(w.unsupported, handler):
		return contract.CodeUnsupported
	}
	return contract.CodeUnreachable
}

// Detector is a worker that can detect.
type Detector = attempt.Detector

// Usable reports whether some worker could execute the work, busy or not.
func (e *views) Usable(name string) bool {
	work := e.work[name]
	//workflowcheck:ignore a disjunction does not depend on the order
	for _, w := range e.fleet.byID {
		if w.serves(work.Handler) && w.slots(work.Handler, work.JobType) > 0 &&
			(!sharedRouting(work) || slices.Contains(w.Shared, work.JobType)) {
			return true
		}
	}
	return false
}
