package run

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/attempt"
)

func (e *Engine) cannotStart(it *item, end Ending, now time.Time) {
	instance := cmp.Or(it.Instance, end.Instance)
	it.Direct = it.Direct || it.Instance == "" // The same worker may draw it from the shared queue again.
	if at, known := slices.BinarySearch(it.Lacks, instance); end.Failure == contract.FailureNotInstalled && instance != "" && !known {
		it.Lacks = slices.Insert(slices.Clone(it.Lacks), at, instance)
	}
	e.CannotStart(now, it.Worker, instance, end)
}

// CannotStart counts a program that did not start. After a few in a row the worker is suspect.
func (e *Engine) CannotStart(now time.Time, id, instance string, end Ending) {
	w := e.fleet.instance(id, instance)
	if w == nil {
		return
	}
	s := &w.starts
	missing := end.Failure == contract.FailureNotInstalled
	s.Missing = missing && (s.Missing || s.Failed == 0)
	s.Failed++
	s.At, s.Detail = now, clip(end.Message)
	if !s.Failing() {
		return
	}
	s.Pause = min(max(2*s.Pause, attempt.StartPause), attempt.StartPauseMost)
	e.Cool(now, id, instance, s.Pause)
	if w.Trouble == "" && !s.Missing {
		e.decide(Decision{Kind: ReportTrouble, Worker: id, Instance: instance, Trouble: contract.CodeCannotStart, Reason: s.Detail})
	}
}

func (e *course) blame(it *item, now time.Time) {
	for _, w := range e.lacking(it.Lacks) {
		if s := &w.starts; s.Failing() && s.Missing && now.Sub(s.Reported) >= attempt.StartPauseMost {
			s.Reported = now
			e.decide(Decision{Kind: ReportTrouble, Worker: w.ID, Instance: w.Instance, Trouble: contract.CodeNotInstalled, Reason: s.Detail})
		}
	}
}

func (e *board) lacking(processes []string) (list []*worker) {
	if len(processes) == 0 {
		return nil
	}
	for _, w := range e.fleet.sorted() {
		if slices.Contains(processes, w.Instance) {
			list = append(list, w)
		}
	}
	return list
}

// pressing: a worker that only lacks a program gets no pause if others lack the programs of the class, too.
func (c *class) pressing(w *worker) bool {
	return len(c.lacks) > 0 && w.starts.Failing() && w.starts.Missing
}

// Started records that a program has just started on a worker, outside of any item.
func (e *Engine) Started(id, instance string) {
	if w := e.fleet.instance(id, instance); w != nil && w.starts.Failed > 0 {
		e.clearStarts(w)
	}
}

func causeOf(failure Failure) contract.Code {
	if failure == contract.FailureNotInstalled {
		return contract.CodeNotInstalled
	}
	return contract.CodeCannotStart
}

func (e *course) proveStart(it *item, w *worker, failure Failure, now time.Time) {
	switch failure { //nolint:exhaustive // the others prove nothing
	case contract.FailureNone, contract.FailureFailed, contract.FailureStale, contract.FailureTimeout, contract.FailureDeferred, contract.FailureGuard:
		e.blame(it, now)
		if w.starts.Failed > 0 && !it.StartedAt.Before(w.starts.At) {
			e.clearStarts(w)
		}
	}
}

func (e *course) clearStarts(w *worker) {
	if w.starts.Failing() {
		w.coolUntil = time.Time{}
		e.fleet.changes++
	}
	if w.starts.Failing() && !w.starts.Missing || !w.starts.Reported.IsZero() {
		e.decide(Decision{Kind: ClearTrouble, Worker: w.ID, Instance: w.Instance})
	}
	w.starts = attempt.Starts{}
	e.freed = append(e.freed, w)
}

// before is the registry's previous report.
func (w *worker) seeTrouble(before contract.Code, now time.Time) {
	switch {
	case w.Trouble == contract.CodeCannotStart && !w.starts.Failing():
		w.starts = attempt.Starts{Failed: attempt.MaxCannotStart, At: now, Detail: explain.TextOtherRun}
	case w.Trouble == "" && before == contract.CodeCannotStart && w.starts.Failing():
		w.starts, w.coolUntil = attempt.Starts{}, time.Time{}
	}
}

func (e *board) probeStart(it *item, w *worker, now time.Time) {
	if w.starts.Failing() {
		w.starts.Probing, w.starts.Probe, w.starts.ProofAt = true, it.ID, now.Add(attempt.StartProof)
		e.timers.Push(timer{at: w.starts.ProofAt, kind: timerProof, class: w.ID})
	}
}

func (e *board) endProbe(it *item, w *worker) {
	if w.starts.Probing && w.starts.Probe == it.ID {
		w.starts.Probing, w.starts.ProofAt = false, time.Time{}
	}
}

func (e *board) touchLacking() {
	for _, c := range e.open {
		if len(c.lacks) > 0 {
			e.touch(c)
		}
	}
	for _, node := range slices.Sorted(maps.Keys(e.pinned)) {
		for _, c := range e.pinned[node] {
			if len(c.lacks) > 0 {
				e.touch(c)
			}
		}
	}
}

// failLacking returns false if an unusable worker may have the program.
func (e *Engine) failLacking(c *class, now time.Time) bool {
	if len(c.lacks) == 0 || e.fleet.incomplete || slices.ContainsFunc(c.workers, func(d *candidate) bool {
		return !d.w.gone() && d.w.State != contract.WorkerDeleted && d.w.slots(c.handler, c.jobType) > 0 && !slices.Contains(d.w.unsupported, c.handler)
	}) {
		return false
	}
	var lacking []string
	for _, w := range e.lacking(c.lacks) {
		lacking = append(lacking, w.ID)
		if w.starts.Missing {
			e.clearStarts(w) // No worker has it, so no worker is at fault.
		}
	}
	for len(c.items) > 0 {
		it := c.items[0]
		message := explain.TextNotInstalled(lacking, it.Error)
		e.Note(Note{Verdict: Rejected, Code: contract.CodeNotInstalled, Item: it.ID, Detail: message})
		e.settle(it, Failed, message, now)
	}
	return true
}

func (e *board) waitForStarts(it *item) (wait Wait, ok bool) {
	wait = Wait{Code: contract.CodeCannotStart, Since: it.QueuedAt}
	var ids []string
	for _, d := range it.class.workers {
		switch w := d.w; {
		case !d.possible:
			continue
		case !w.starts.Failing():
			return Wait{}, false
		default:
			ids = append(ids, w.ID)
			if wait.Until.IsZero() || w.coolUntil.Before(wait.Until) {
				wait.Until = w.coolUntil
			}
			wait.Detail = max(wait.Detail, w.starts.Detail)
		}
	}
	slices.Sort(ids)
	wait.Object, wait.Detail = explain.NameSome(ids), explain.TextCannotStart+wait.Detail
	return wait, len(ids) > 0
}
