package dispatch

import "fmt"

// endIfDone ends the group once nothing is left to do.
func (g *Group) endIfDone() {
	if g.open > 0 || g.phase == PhaseEnded {
		return
	}
	g.phase = PhaseEnded
	g.outcome, g.reason = g.judge()
	g.decide(End{Outcome: g.outcome, Reason: g.reason})
}

func (g *Group) judge() (Outcome, string) {
	c := g.counts
	undone := c.Failed + c.Canceled + c.Stale + c.Expired + c.NotStarted + c.Invalid
	if g.cfg.Submitted {
		undone += c.AlreadyActive + c.Disabled + c.Surplus
	}
	switch {
	case g.stopping == stopCanceled:
		return OutcomeCanceled, g.reason
	case g.detect.Failed != "":
		return OutcomeFailed, g.detect.Failed
	case g.stopping == stopWindow && c.Completed > 0 && undone > 0:
		return OutcomePartial, g.reason
	case g.outOfTime() && g.detect.Attempt == 0 && !g.cfg.Submitted:
		return OutcomeTimeout, g.reason + ": no worker with handler " + g.cfg.Handler + " was available to detect"
	case g.outOfTime() && (c.NotStarted > 0 || c.Canceled > 0 || len(g.jobs) == 0):
		return OutcomeTimeout, g.reason
	case g.stopping == stopBudget && len(g.jobs) == 0:
		return OutcomeSkipped, g.reason
	case g.stopping == stopBudget && undone > 0 && c.Completed > 0:
		return OutcomePartial, g.reason
	case g.stopping == stopBudget && undone > 0:
		return OutcomeFailed, g.reason
	case undone == 0:
		return OutcomeCompleted, ""
	case c.Completed > 0:
		return OutcomePartial, g.undoneText()
	case g.elsewhere > 0 && c.AlreadyActive+c.Disabled+g.elsewhere == undone && len(g.deduped) > 0:
		return OutcomeSkipped, g.dedupedText()
	case c.AlreadyActive == undone:
		return OutcomeSkipped, g.dedupedText()
	case c.Disabled > 0 && c.Disabled+c.AlreadyActive == undone:
		return OutcomeSkipped, g.heldBackText()
	case c.Canceled == undone:
		return OutcomeCanceled, "every job was canceled"
	}
	return OutcomeFailed, g.undoneText()
}

// outOfTime: max_runtime or the window is over.
func (g *Group) outOfTime() bool { return g.stopping == stopDeadline || g.stopping == stopWindow }

func (g *Group) undoneText() string {
	c := g.counts
	if !g.cfg.Submitted {
		c.AlreadyActive, c.Disabled, c.Surplus = 0, 0, 0 // Of a detection they are no failure.
	}
	text := ""
	for _, part := range []struct {
		n    int
		name string
	}{
		{c.Failed, "failed"},
		{c.Stale, "stale"},
		{c.Canceled, "canceled"},
		{c.Expired, "expired"},
		{c.NotStarted, "not started"},
		{c.Invalid, "invalid"},
		{c.AlreadyActive, "already active"},
		{c.Disabled, "held back"},
		{c.Surplus, "over the limit"},
	} {
		if part.n == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", part.n, part.name)
	}
	return text
}
