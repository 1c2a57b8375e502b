package group

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/reasons"
)

// noteDetected notes the findings that are not taken.
func (g *search) noteDetected() {
	if g.cfg.DryRun {
		return
	}
	invalid := ""
	if len(g.detect.Errors) > 0 {
		invalid = g.detect.Errors[0]
	}
	for _, left := range []run.Note{
		{Code: contract.CodeDuplicate, Count: g.tally.Counts.Duplicates, Detail: explain.TextDuplicate},
		{Code: contract.CodeSurplus, Count: g.tally.Counts.Surplus, Detail: explain.TextSurplus(g.cfg.Policy.MaxJobsPerDetection)},
		{Code: contract.CodeInvalid, Count: g.tally.Counts.Invalid, Detail: invalid},
	} {
		if left.Count > 0 {
			left.Verdict, left.Item = run.Rejected, run.WholeRun
			g.engine.Note(left)
		}
	}
}

// noteDetection notes a detection that is done again elsewhere.
func (g *search) noteDetection(v DetectionEnded) {
	detail := explain.TextDetection(clip(v.Message))
	switch v.Failure { //nolint:exhaustive // every other one ends the group
	case contract.FailureWorkerLost:
		g.note(run.Replaced, contract.CodeWorkerLost, detail, 0)
	case contract.FailureAtCapacity:
		g.note(run.Delayed, contract.CodeAtCapacity, detail, 0)
	case contract.FailureDraining:
		g.note(run.Delayed, contract.CodeDraining, detail, 0)
	case contract.FailureUnsupported:
		g.note(run.Delayed, contract.CodeUnsupported, detail, 0)
	case contract.FailureNotTaken:
		g.note(run.Delayed, contract.CodeNotTaken, detail, 0)
	case contract.FailureCannotStart:
		g.note(run.Delayed, contract.CodeCannotStart, detail, 0)
	case contract.FailureNotInstalled:
		g.note(run.Delayed, contract.CodeNotInstalled, detail, 0)
	}
}

// noteSkip notes a run that did not take its turn. It does not repeat the reason of an earlier tick: a job type that
// ticks all day and may run at night would fill the audit log.
func (g *times) noteSkip(why reason, now time.Time) {
	if opens, closed := g.window.ClosedUntil(now); closed && !opens.IsZero() && g.cfg.Windows && !g.cfg.Submitted {
		known := g.cfg.ClosedUntil.Equal(opens)
		if g.cfg.ClosedUntil = opens; known {
			return
		}
	}
	detail := why.Detail
	if !why.Until.IsZero() {
		detail = reasons.Joined(": ", "until "+reasons.At(why.Until), detail)
	}
	g.note(run.Rejected, why.Code, detail, now.Sub(g.clock.CreatedAt))
}

// ClosedUntil is the opening until which the group was skipped, for the next run's
// [Config].
func (g *base) ClosedUntil() time.Time { return g.cfg.ClosedUntil }
