package group

import (
	"github.com/roundsman/roundsman/contract"
)

// endIfDone ends the group once no job is open.
func (g *Group) endIfDone() {
	if len(g.jobs.open) > 0 && !g.cfg.DryRun || g.phase == PhaseEnded {
		return
	}
	g.phase, g.turn.Step = PhaseEnded, stepNone
	g.outcome, g.reason = g.judge()
	g.do(End{Outcome: g.outcome, Reason: g.reason})
}

// judge says how the group ended, and why where the counts do not tell.
func (g *Group) judge() (Outcome, string) {
	c := g.counts
	undone := c.Failed + c.Canceled + c.Stale + c.Expired + c.NotStarted + c.Invalid
	if g.cfg.Submitted {
		undone += c.AlreadyActive + c.Disabled + c.Surplus
	}
	switch {
	case g.stopping == stopCanceled:
		return contract.OutcomeCanceled, g.reason
	case g.detect.Failed != "":
		return contract.OutcomeFailed, g.detect.Failed
	case g.stopping == stopWindow && c.Completed > 0 && undone > 0:
		return contract.OutcomePartial, g.reason
	case g.outOfTime() && g.detect.Attempt == 0 && g.detects():
		return contract.OutcomeTimeout, g.reason + ": no worker with handler " + g.cfg.Handler + " was available to detect"
	case g.outOfTime() && (c.NotStarted > 0 || c.Canceled > 0 || c.Accepted == 0):
		return contract.OutcomeTimeout, g.reason
	case g.stopping == stopBudget && c.Accepted == 0:
		return contract.OutcomeSkipped, g.reason
	case g.stopping == stopBudget && undone > 0 && c.Completed > 0:
		return contract.OutcomePartial, g.reason
	case g.stopping == stopBudget && undone > 0:
		return contract.OutcomeFailed, g.reason
	case c.MissedWorkers > 0 && c.MissedWorkers == c.Workers:
		return contract.OutcomeFailed, g.textMissed()
	case undone == 0 && c.MissedWorkers > 0:
		return contract.OutcomePartial, g.textMissed()
	case undone == 0 && c.HeldBack > 0:
		return contract.OutcomePartial, g.textFailing()
	case undone == 0:
		return contract.OutcomeCompleted, ""
	case c.Completed > 0:
		return contract.OutcomePartial, joinTexts(c.Undone(g.cfg.Submitted), g.textMissed())
	case g.elsewhere > 0 && c.AlreadyActive+c.Disabled+g.elsewhere == undone && len(g.deduped) > 0:
		return contract.OutcomeSkipped, g.textAllDeduped()
	case c.AlreadyActive == undone:
		return contract.OutcomeSkipped, g.textAllDeduped()
	case c.Disabled > 0 && c.Disabled+c.AlreadyActive == undone:
		return contract.OutcomeSkipped, g.textAllHeldBack()
	case c.Canceled == undone:
		return contract.OutcomeCanceled, "every job was canceled"
	}
	return contract.OutcomeFailed, joinTexts(c.Undone(g.cfg.Submitted), g.textMissed())
}

// outOfTime: max_runtime or the window is over.
func (g *Group) outOfTime() bool { return g.stopping == stopDeadline || g.stopping == stopWindow }
