package run

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// A deferral costs no retry.
func (e *course) deferItem(it *item, end Ending, now time.Time) {
	if e.ends(it, now) {
		return
	}
	wait := min(max(end.Delay, jobtype.MinDeferral.Std()), jobtype.MaxDeferral.Std())
	if it.Deferral != end.Failure {
		it.Deferral, it.DeferredAt = end.Failure, now
		e.Note(Note{Verdict: Delayed, Code: it.Deferral.WaitCode(), Item: it.ID, Detail: clip(end.Message), Waited: wait})
	}
	e.enqueue(it, now.Add(wait), now)
	it.Error = clip(end.Message)
	if e.admit {
		e.reports = append(e.reports, Report{Kind: Deferred, Item: it.ID, Message: it.Error})
	}
}

func (it *item) endDeferral(failure Failure) {
	if failure != contract.FailureDeferred && failure != contract.FailureGuard {
		it.Deferral, it.DeferredAt = "", time.Time{}
	}
}

// With [Config.Admit] a deferred item has lost its concurrency slot, and waits for [Engine.Proceed].
func (e *course) due(it *item, at, now time.Time) {
	it.QueuedAt, it.Phase = at, PhaseNone
	if !e.admit || it.Deferral == "" {
		e.push(it, now)
		return
	}
	it.Phase = PhaseDue
	e.reports = append(e.reports, Report{Kind: Due, Item: it.ID})
}

// Since is the first deferral in a row.
func (it *item) waitOfDeferred() Wait {
	code := it.Deferral.WaitCode()
	return Wait{Code: code, Since: it.DeferredAt, Until: it.ReadyAt, Detail: explain.TextDeferred(code, it.ReadyAt, it.Error)}
}
