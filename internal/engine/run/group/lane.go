package group

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/breaks"
	"github.com/roundsman/roundsman/internal/engine/run/source"
)

// shareLane gives the lane back while the runs of the group's DAGs wait for approvals, and takes
// it again before one of them begins a task.
func (g *course) shareLane(now time.Time) {
	if !g.cfg.Turn || g.cfg.Lane == "" || !g.begun || g.phase != PhaseRunning {
		return
	}
	switch g.lane.Next(g.jobs.Left(), g.engine.RunningAttempt, now) {
	case breaks.Release:
		g.engine.Suspend(now) // A retry of a run needs the lane, too.
		g.do(LeaveLane{Turn: g.turn.Number, Round: g.lane.Rounds})
	case breaks.Request:
		g.do(TakeTurn{Turn: g.turn.Number, Round: g.lane.Rounds})
	case breaks.Nothing:
	}
	for _, r := range g.lane.Answer() {
		g.lane.Answered(r)
		g.do(source.GrantLane{Report: r})
	}
}

// laneBack continues with the lane.
func (g *course) laneBack(v TurnGranted, now time.Time) {
	g.noteWait(contract.CodeLaneBusy, explain.TextLaneAwaited(g.cfg.Lane), g.lane.AskedAt, now)
	g.lane.Granted()
	g.engine.SetFences(v.Fence, v.Fences)
	if !g.halt.Leaving {
		g.engine.Unsuspend(now)
	}
}

// laneWait is the wait for the lane after an approval; without a code there is none.
func (g *views) laneWait() run.Wait {
	switch {
	case g.lane.Requested():
		return run.Wait{Code: contract.CodeLaneBusy, Object: g.cfg.Lane, Since: g.lane.AskedAt, Detail: explain.TextTurn(true, !g.laneDeadline().IsZero())}
	case !g.lane.RefusedAt.IsZero():
		return run.Wait{Code: contract.CodeLaneBusy, Object: g.cfg.Lane, Since: g.lane.RefusedAt, Until: g.lane.RetryAt(), Detail: explain.TextLaneRefused}
	}
	return run.Wait{}
}
