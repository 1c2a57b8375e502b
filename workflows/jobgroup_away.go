package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
)

// awayState is a submitted group between two windows: it has given everything
// back, and asks for it again when the next one opens. Nothing of it is lost with
// the process: it is all decided anew by the workflow's history.
type awayState struct {
	since time.Time
	// until is before when nothing is looked at.
	until time.Time
	// asked: the windows that are known are those from until on.
	asked bool
	// turn: the window is open and the lane was asked for. prepared is what must be
	// known when the turn comes, asked for at preparedAt.
	turn       bool
	prepared   workflow.Future
	preparedAt time.Time
}

// claimedBy are dedupe keys and the jobs that they belong to: the answer counts
// them.
type claimedBy struct {
	keys []string
	jobs []int
}

// withdraw gives back the lane and the claims. What is asked for next has other
// ids: an answer that comes late is for the turn that is over.
func (r *groupRun) withdraw(d dispatch.Withdraw) {
	r.leaveTurn()
	r.renewAt = time.Time{} // Who is away need not be told of workers.
	r.away = &awayState{since: workflow.Now(r.ctx), until: d.Until}
}

// leaveTurn gives back what belongs to the turn, granted or not.
func (r *groupRun) leaveTurn() {
	for _, id := range []string{itemLane, itemStart, itemClaims} {
		if id = r.turnID(id); r.link.knows(id) {
			r.link.giveUp(id)
		}
	}
	r.turns++
	r.lane = laneTurn{}
}

// missedTurn: the window closed before it was the turn of a submitted group, or
// before it could begin. It waits for the next window.
func (r *groupRun) missedTurn() bool {
	opens, closed := r.closedUntil()
	if !r.adHoc() || !closed || opens.IsZero() || r.stopAsked() || r.lane.refused != nil {
		return false
	}
	if last := r.laneDeadline(); !last.IsZero() && opens.After(last) {
		return false
	}
	r.leaveTurn()
	return true
}

// turnID names an item of this turn.
func (r *groupRun) turnID(item string) string {
	if r.turns == 0 {
		return item
	}
	return fmt.Sprintf("%s-%d", item, r.turns+1)
}

// stepAway looks whether the group may come back, as far as it is known.
func (r *groupRun) stepAway() {
	a := r.away
	switch {
	case a == nil:
		return
	case r.end != nil || r.core.Phase() != dispatch.PhaseAway:
		r.away = nil // Something else has ended it.
		return
	case a.turn:
		r.awaitReturn()
	case r.window.asking != nil:
	case !a.asked && workflow.Now(r.ctx).Before(a.until):
	case !a.asked:
		a.asked = true
		r.askWindows()
	case r.window.broken != "":
		r.step(dispatch.StaysAway{Reason: windowClosed + ": " + r.window.broken})
	default:
		r.lookOut()
	}
	workflow.SetCurrentDetails(r.ctx, r.details())
}

// lookOut asks for the turn if the window is open, or waits on.
func (r *groupRun) lookOut() {
	opens, closed := r.closedUntil()
	switch {
	case !closed:
		r.away.turn = true
		r.askLane()
		r.prepareReturn()
		if r.hasLane() {
			r.tellAway(dispatch.Wait{Code: "LANE_BUSY", Object: r.in.Spec.Lane, Since: r.lane.askedAt, Detail: "its window is open, it waits for its turn"})
		}
		r.awaitReturn()
	case opens.IsZero():
		r.step(dispatch.StaysAway{Reason: r.closedText(opens)})
	default:
		r.away.until, r.away.asked = opens, false
		r.tellAway(dispatch.Wait{Code: windowClosed, Object: r.in.Spec.Name, Since: r.away.since, Until: opens, Detail: r.window.known.Closed})
	}
}

func (r *groupRun) tellAway(wait dispatch.Wait) { r.step(dispatch.Awaits{Wait: wait}) }

func (r *groupRun) prepareReturn() {
	r.away.prepared, r.away.preparedAt = r.lookUp(), workflow.Now(r.ctx)
}

// awaitReturn comes back once it is the group's turn and the workers are known. If
// the window closes before, the turn is not waited for any more.
func (r *groupRun) awaitReturn() {
	a := r.away
	_, needed := r.turnItem()
	switch {
	case r.lane.refused != nil:
		r.step(dispatch.StaysAway{Reason: refusalText(*r.lane.refused)})
	case r.closesBeforeItsTurn():
	case needed && !r.lane.granted:
	case !a.prepared.IsReady():
	case workflow.Now(r.ctx).Sub(a.preparedAt) > freshFor:
		r.prepareReturn()
	default:
		r.comeBack()
	}
}

func (r *groupRun) closesBeforeItsTurn() bool {
	opens, closed := r.closedUntil()
	if !closed {
		return false
	}
	r.leaveTurn()
	*r.away = awayState{since: r.away.since, until: opens}
	r.tellAway(dispatch.Wait{Code: windowClosed, Object: r.in.Spec.Name, Since: r.away.since, Until: opens, Detail: "the window closed before it was its turn"})
	return true
}

func (r *groupRun) comeBack() {
	var prepared contract.PrepareResult
	if err := r.away.prepared.Get(r.ctx, &prepared); err != nil {
		r.step(dispatch.StaysAway{Reason: "the workers could not be looked up: " + endingOf(err, "").Message})
		return
	}
	r.away = nil
	r.auditLane()
	r.seen = prepared.WorkersSeq
	r.step(dispatch.Returned{
		Window: r.coreWindow(), Fence: r.lane.grant.Fence, Fences: r.lane.grant.Fences, Workers: r.workers(prepared.Workers),
	})
}

// awayReady reports whether what the way back needs is known.
func (r *groupRun) awayReady() bool {
	return r.away != nil && r.away.prepared != nil && r.away.prepared.IsReady() && (r.lane.granted || !r.needsTurn())
}

func (r *groupRun) needsTurn() bool {
	_, needed := r.turnItem()
	return needed
}

// awayWake is when a group that is away must look again.
func (r *groupRun) awayWake() time.Time {
	switch {
	case r.away == nil || r.window.asking != nil:
		return time.Time{}
	case r.away.turn:
		return r.closesAt()
	}
	return r.away.until
}

// recalled: other calendars may open the window at once.
func (r *groupRun) recalled() {
	if r.away != nil && !r.away.turn {
		r.away.until, r.away.asked = time.Time{}, true
	}
}

// askTurnAgain: the turn was given to another before the group came back.
func (r *groupRun) askTurnAgain() {
	r.leaveTurn()
	*r.away = awayState{since: r.away.since, asked: true}
}
