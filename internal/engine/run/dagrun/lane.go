package dagrun

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
)

// laneState is whether the run may begin tasks in the lane of its group.
type laneState string

const (
	laneHeld      laneState = ""
	laneReleased  laneState = "released"
	laneRequested laneState = "requested"
)

// lane is the part of a run in giving its lane back. A run without a lane has it always.
type lane struct {
	State laneState `json:"state,omitempty"`
	// Seq numbers the reports to the group. Since is the time of the last one.
	Seq   int       `json:"seq,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// mayBegin reports whether a task may begin, and requests the lane if it is given back.
func (g *Graph) mayBegin() bool {
	if g.lane.State == laneReleased {
		g.reportLane(laneRequested, RequestLane)
	}
	return g.lane.State == laneHeld
}

// releaseLane gives the lane back if all that has begun are approvals.
func (g *Graph) releaseLane() {
	if g.cfg.Lane == "" || g.lane.State != laneHeld || len(g.live) == 0 || g.run.Finished() {
		return
	}
	//workflowcheck:ignore a disjunction does not depend on the order
	for _, t := range g.live {
		if t.phase != phaseApproval {
			return
		}
	}
	g.reportLane(laneReleased, ReleaseLane)
}

func (g *Graph) reportLane(state laneState, kind run.Kind) {
	g.lane = lane{State: state, Seq: g.lane.Seq + 1, Since: g.now}
	g.decide(Decision{Decision: run.Decision{Kind: kind, Item: run.WholeRun, Ask: g.lane.Seq}})
}

// LaneGranted says that the group has its lane again. An answer to an older request does nothing.
func (g *Graph) LaneGranted(now time.Time, seq int) []Decision {
	g.step()
	if g.lane.State == laneRequested && g.lane.Seq == seq {
		g.lane.State = laneHeld
	}
	return g.advance(now)
}

// laneWait is the wait of a task that the run may not begin before it has its lane again.
func (g *Graph) laneWait() run.Wait {
	return run.Wait{Code: contract.CodeLaneBusy, Object: g.cfg.Lane, Since: g.lane.Since, Detail: textLane}
}
