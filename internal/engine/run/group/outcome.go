package group

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
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
	g.outcome, g.why = g.judge()
	g.do(End{Outcome: g.outcome, Reason: g.why.String()})
}

// judge says how the group ended, and why where the counts do not tell.
func (g *course) judge() (Outcome, reason) {
	c := g.tally.Counts
	undone, active, disabled := c.Failed+c.Canceled+c.Stale+c.Expired+c.NotStarted+c.Invalid, 0, 0
	if g.cfg.Submitted { // What a detection found, others do as well.
		active, disabled = c.AlreadyActive, c.Disabled
		undone += active + disabled + c.Surplus
	}
	switch {
	case g.stopping == stopCanceled:
		return contract.OutcomeCanceled, g.why
	case g.stopping == stopLost:
		return contract.OutcomeFailed, g.why
	case g.detect.Failed != "":
		return contract.OutcomeFailed, reason{Code: g.detect.FailedCode, Detail: g.detect.Failed}
	case g.stopping == stopWindow && c.Done() > 0 && undone > 0:
		return contract.OutcomePartial, g.why
	case g.chunks.TakenBy != "" && g.stopping == stopNone && c.Done()+undone == 0:
		return contract.OutcomeSkipped, backlogTaken(g.chunks.TakenBy, g.cfg.JobType)
	case g.chunks.TakenBy != "" && g.stopping == stopNone && c.Done() > 0:
		return contract.OutcomePartial, backlogTaken(g.chunks.TakenBy, g.cfg.JobType)
	case g.outOfTime() && g.detect.Attempt == 0 && g.cfg.detects():
		why := g.why
		why.Detail += explain.TextNeverDetected(g.cfg.Handler)
		return contract.OutcomeTimeout, why
	case g.outOfTime() && (c.NotStarted > 0 || c.Canceled > 0 || c.Accepted == 0):
		return contract.OutcomeTimeout, g.why
	case g.stopping == stopBudget && c.Accepted == 0:
		return contract.OutcomeSkipped, g.why
	case g.stopping == stopBudget && undone > 0 && c.Done() > 0:
		return contract.OutcomePartial, g.why
	case g.stopping == stopBudget && undone > 0:
		return contract.OutcomeFailed, g.why
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

// undone says what was not done.
func (g *course) undone() reason {
	return reason{Detail: reasons.Joined("; ", g.tally.Counts.Undone(g.cfg.Submitted), g.textMissed())}
}

// outOfTime: max_runtime or the window is over.
func (g *base) outOfTime() bool { return g.stopping == stopDeadline || g.stopping == stopWindow }
