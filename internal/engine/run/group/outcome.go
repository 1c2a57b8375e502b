package group

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run/group/halt"
	"github.com/roundsman/roundsman/internal/engine/run/group/reasons"
)

// endIfDone ends the group once no job is open.
func (g *course) endIfDone(now time.Time) {
	if g.jobs.Left() > 0 && !g.cfg.DryRun || g.phase == PhaseEnded || g.awaitsLate(now) {
		return
	}
	if g.cfg.DetectEvery {
		g.countTargets(true)
	}
	g.phase, g.turn.Step = PhaseEnded, stepNone
	g.outcome, g.halt.Why = g.judge()
	g.do(End{Outcome: g.outcome, Reason: g.halt.Why.String()})
}

// Final reports that no message of this moment can keep the group open: its only detection found nothing to do. A worker
// that comes may keep any other group open.
func (g *course) Final() bool {
	return g.cfg.detects() && !g.cfg.DetectEvery && g.begun && g.detect.Failed == "" && g.tally.Counts.Accepted == 0 && !g.halt.On()
}

// judge returns the outcome of the group, and the reason if the counts do not show it.
func (g *course) judge() (Outcome, reason) {
	c := g.tally.Counts
	undone, active, disabled := c.Failed+c.Canceled+c.Stale+c.Expired+c.NotStarted+c.Invalid, 0, 0
	if g.cfg.Submitted { // The findings of a detection are done by other groups, too.
		active, disabled = c.AlreadyActive, c.Disabled
		undone += active + disabled + c.Surplus
	}
	switch {
	case g.halt.Cause == halt.Canceled:
		return contract.OutcomeCanceled, g.halt.Why
	case g.halt.Cause == halt.Lost:
		return contract.OutcomeFailed, g.halt.Why
	case g.detect.Failed != "":
		return contract.OutcomeFailed, reason{Code: g.detect.FailedCode, Detail: g.detect.Failed}
	case g.halt.Cause == halt.Window && c.Done() > 0 && undone > 0:
		return contract.OutcomePartial, g.halt.Why
	case g.chunks.TakenBy != "" && !g.halt.On() && c.Done()+undone == 0:
		return contract.OutcomeSkipped, backlogTaken(g.chunks.TakenBy, g.cfg.JobType)
	case g.chunks.TakenBy != "" && !g.halt.On() && c.Done() > 0:
		return contract.OutcomePartial, backlogTaken(g.chunks.TakenBy, g.cfg.JobType)
	case g.halt.OutOfTime() && g.detect.Attempt == 0 && g.cfg.detects():
		why := g.halt.Why
		why.Detail += explain.TextNeverDetected(g.cfg.Handler)
		return contract.OutcomeTimeout, why
	case g.halt.OutOfTime() && (c.NotStarted > 0 || c.Canceled > 0 || c.Accepted == 0):
		return contract.OutcomeTimeout, g.halt.Why
	case g.halt.Cause == halt.Budget && c.Accepted == 0:
		return contract.OutcomeSkipped, g.halt.Why
	case g.halt.Cause == halt.Budget && undone > 0 && c.Done() > 0:
		return contract.OutcomePartial, g.halt.Why
	case g.halt.Cause == halt.Budget && undone > 0:
		return contract.OutcomeFailed, g.halt.Why
	case c.MissedWorkers > 0 && c.MissedWorkers == c.Workers:
		return contract.OutcomeFailed, reason{Detail: g.textMissed()}
	case undone == 0 && c.MissedWorkers > 0:
		return contract.OutcomePartial, reason{Detail: g.textMissed()}
	case undone == 0 && c.HeldBack > 0:
		return contract.OutcomePartial, g.tally.Failing(g.cfg.JobType)
	case undone == 0:
		return contract.OutcomeCompleted, reason{}
	case c.Done() > 0:
		return contract.OutcomePartial, g.undone()
	case g.tally.Elsewhere > 0 && active+disabled+g.tally.Elsewhere == undone && len(g.tally.Deduped) > 0:
		return contract.OutcomeSkipped, g.tally.AllDeduped()
	case active == undone:
		return contract.OutcomeSkipped, g.tally.AllDeduped()
	case disabled > 0 && disabled+active == undone:
		return contract.OutcomeSkipped, g.tally.AllHeldBack()
	case c.Canceled == undone:
		return contract.OutcomeCanceled, everyCanceled()
	}
	return contract.OutcomeFailed, g.undone()
}

func everyCanceled() reason { return reason{Detail: explain.TextEveryCanceled} }

// undone returns the reason of the undone work.
func (g *course) undone() reason {
	return reason{Detail: reasons.Joined("; ", g.tally.Counts.Undone(g.cfg.Submitted), g.textMissed())}
}
