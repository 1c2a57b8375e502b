package dagrun

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/breaks"
	"github.com/roundsman/roundsman/internal/engine/run/source"
)

type laneState string

const (
	laneHeld      laneState = ""
	laneReleased  laneState = "released"
	laneRequested laneState = "requested"
)

// A run without a lane has it always.
type lane struct {
	State laneState `json:"state,omitempty"`
	// Seq numbers the reports to the group. Since is the time of the last one.
	Seq   int       `json:"seq,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Subs has the last report of each sub-DAG, by its task. A run with sub-DAGs does not travel.
	Subs breaks.Reports `json:"-"`
}

func (g *waits) mayBegin() bool { return g.lane.State == laneHeld }

// shareLane gives the lane back if only approvals have begun, here and in sub-DAGs, and requests it for anything else.
func (g *Graph) shareLane(now time.Time) {
	if g.cfg.Lane == "" || g.run.Finished() {
		return
	}
	g.lane.Subs.Keep(g.engine.RunningAttempt)
	needs := len(g.starts) > 0
	//workflowcheck:ignore a disjunction does not depend on the order
	for _, t := range g.live {
		needs = needs || t.phase != phaseApproval && !g.lane.Subs.Rests(int(t.i))
	}
	switch {
	case g.lane.State == laneHeld && !needs && len(g.live) > 0:
		g.engine.Suspend(now) // The retry of a sub-DAG needs the lane, too.
		g.reportLane(laneReleased)
	case g.lane.State == laneReleased && needs:
		g.reportLane(laneRequested)
	}
	if g.lane.State != laneHeld {
		return
	}
	for _, r := range g.lane.Subs.Needs() {
		g.lane.Subs.Answered(r.Job)
		g.do(source.GrantLane{Report: r})
	}
}

func (g *Graph) reportLane(state laneState) {
	g.lane.State, g.lane.Seq, g.lane.Since = state, g.lane.Seq+1, g.now
	g.do(ReportLane{Seq: g.lane.Seq, Wants: state == laneRequested})
}

func (v LaneGranted) apply(g *Graph, now time.Time) {
	if g.lane.State == laneRequested && g.lane.Seq == v.Seq {
		g.lane.State = laneHeld
		g.engine.Unsuspend(now)
	}
}

func (g *waits) laneWait() run.Wait {
	return run.Wait{Code: contract.CodeLaneBusy, Object: g.cfg.Lane, Since: g.lane.Since, Detail: explain.TextLaneAgain}
}
