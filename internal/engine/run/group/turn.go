package group

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/after"
	"github.com/roundsman/roundsman/internal/engine/carry"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/breaks"
	"github.com/roundsman/roundsman/internal/engine/run/group/chunks"
	"github.com/roundsman/roundsman/jobtype"
)

// step is where a group is on the way to its turn.
type step string

// The steps, in order. A group whose window has closed begins again with
// stepWindow.
const (
	stepStart   step = "start"  // no submitted job may start yet
	stepAfter   step = "after"  // another job type has not succeeded
	stepWindow  step = "window" // the maintenance window is closed
	stepPrepare step = "prepare"
	stepWorker  step = "worker" // no worker can serve it
	stepLane    step = "lane"   // others have their turn
	stepNone    step = ""
)

// turn is the way of a group to its turn, and the turn itself.
type turn struct {
	Step step `json:"step,omitempty"`
	// Number counts the requested turns; it names requests.
	Number int `json:"number,omitempty"`
	// Since is the start of the step, AskedAt the time of the request.
	Since   time.Time `json:"since,omitzero"`
	AskedAt time.Time `json:"asked_at,omitzero"`
	// Granted: it is the group's turn, with the fences of Fence.
	Granted bool  `json:"granted,omitempty"`
	Fence   int64 `json:"fence,omitempty"`
	Fences  int64 `json:"fences,omitempty"`
	// Full is the pause before keys are claimed again that admission had no room for.
	Full chunks.Backoff `json:"full,omitzero"`
	// HoldUntil is before when a group that is away does not look at its window: it
	// left because nothing fits into the one that is open.
	HoldUntil time.Time `json:"hold_until,omitzero"`
	// Lacks is why no worker could serve the group.
	Lacks contract.Code `json:"lacks,omitempty"`
	// PreparedAt is when the workers were looked up.
	PreparedAt time.Time `json:"prepared_at,omitzero"`
	// preparing: they are being looked up.
	preparing bool
	// begun: the first event has come.
	begun bool
	// disclaimed: the group waits without having requested its turn, and has released a possible request.
	disclaimed bool
}

// active reports whether the group is on its way.
func (t *turn) active() bool { return t.Step != stepNone || !t.begun }

// claimsWait explains the wait for keys that are being claimed, or for which admission had no room.
func (t *turn) claimsWait(since time.Time, detail string) run.Wait {
	return run.Wait{Code: contract.CodeClaims, Since: since, Until: t.Full.RetryAt, Detail: cmp.Or(t.Full.Why, detail)}
}

// advanceTurn takes the steps that nothing keeps the group from.
func (g *course) advanceTurn(now time.Time) {
	if !g.turn.begun {
		g.turn.begun = true
		g.enter(stepStart, now)
		if most := g.cfg.Policy.MaxJobsPerDetection; g.cfg.detects() && most > jobtype.MaxJobsLimit {
			g.giveUp(contract.OutcomeFailed, g.cfg.tooLarge(most), now) // Before it holds its lane, or detects in vain.
			return
		}
	}
	for before := stepNone; g.turn.Step != before && g.phase != PhaseEnded && !g.halt.On(); {
		before = g.turn.Step
		g.takeStep(now)
	}
	g.disclaim()
}

// disclaim releases a turn that the group may have requested in a lost workflow task. A control plane that dies within
// the task leaves the request behind, and the repeated task may find the group waiting for something else.
func (g *times) disclaim() {
	waits := g.turn.Step == stepWorker || g.turn.Step == stepAfter || g.turn.Step == stepWindow && !g.window.Asking
	if waits && g.cfg.Turn && g.turn.AskedAt.IsZero() && !g.turn.disclaimed {
		g.turn.disclaimed = true
		g.do(LeaveTurn{Turn: g.turn.Number, Unasked: true})
	}
}

func (g *course) takeStep(now time.Time) {
	switch g.turn.Step {
	case stepStart:
		if now.Before(g.firstStart()) {
			return
		}
		if due := after.NotDueUntil(g.cfg.LastSuccess, g.cfg.Rest, now); !due.IsZero() {
			g.skip(reason{Code: contract.CodeNotDue, Until: due, Detail: explain.TextNotDue(g.cfg.LastSuccess, g.cfg.Rest)}, now)
			return
		}
		g.enter(stepAfter, now)
	case stepAfter:
		g.awaitSuccesses(now)
	case stepWindow:
		g.awaitWindow(now)
	case stepPrepare:
		g.prepare()
	case stepWorker:
		g.awaitWorker(now)
	case stepLane:
		g.awaitTurn(now)
	case stepNone:
	}
}

func (g *base) enter(s step, now time.Time) {
	g.turn.Step, g.turn.Since = s, now
	switch s {
	case stepPrepare:
		g.phase = PhasePreparing
	case stepStart, stepAfter, stepWindow, stepWorker, stepLane:
		g.phase = PhaseWaiting
	case stepNone:
	}
}

func (g *base) prepare() {
	if !g.turn.preparing {
		g.turn.preparing = true
		g.do(Prepare{})
	}
}

func (v Prepared) apply(g *Group, now time.Time) {
	g.turn.preparing = false
	if g.turn.Step == stepNone {
		return
	}
	if v.Carried != nil && !g.begun {
		g.carried = carry.Book{}
		g.carried.Inherit(v.Carried, now)
	}
	g.turn.PreparedAt = now
	g.engine.Apply(now, run.WorkersChanged{Workers: v.Workers, Incomplete: v.Incomplete})
	if g.turn.Step == stepPrepare {
		g.enter(stepWorker, now)
	}
}

func (v PrepareFailed) apply(g *Group, now time.Time) {
	g.turn.preparing = false
	if g.turn.Step != stepNone {
		g.giveUp(contract.OutcomeFailed, reason{Detail: explain.TextUnprepared(v.Reason)}, now)
	}
}

// awaitWorker continues when a worker can serve the group. One without a worker
// must not take its lane's turn: it would hold it for nothing.
func (g *course) awaitWorker(now time.Time) {
	switch {
	case g.served():
		code := cmp.Or(g.turn.Lacks, contract.CodeNoWorker)
		g.noteWait(code, explain.TextNoDetector(code, g.cfg.Handler), g.turn.Since, now)
		g.askTurn(now)
	case !now.Before(g.workerDeadline()):
		g.skip(noWorker(g.missing(), now.Sub(g.turn.Since)), now)
	default:
		g.turn.Lacks, _ = explain.Lacking(g.engine.Incomplete(), "")
		g.engine.Watch()
	}
}

// served reports whether a worker can serve the group: detect for it, or execute its submitted jobs.
func (g *course) served() bool {
	if g.halt.Unplaced {
		return g.engine.Placeable()
	}
	if g.cfg.spreads() && !g.cfg.Submitted {
		return g.reachable()
	}
	if g.cfg.DAG != "" {
		return true // Its tasks wait for workers themselves.
	}
	if g.cfg.detects() {
		return len(g.engine.Detectors(g.cfg.Handler, g.cfg.JobType)) > 0
	}
	return g.engine.Usable(theWork) || g.jobs.Open.DAGs > 0 // A DAG needs no worker of its own.
}

// askTurn requests the turn, or begins if none is needed.
func (g *course) askTurn(now time.Time) {
	g.enter(stepLane, now)
	g.turn.AskedAt, g.turn.Granted = now, !g.cfg.Turn
	if g.cfg.Turn {
		g.do(TakeTurn{Turn: g.turn.Number})
	}
}

func (v TurnGranted) apply(g *Group, now time.Time) {
	if g.lane.Requested() {
		g.laneBack(v, now)
		return
	}
	if g.turn.Step != stepLane || g.turn.Granted {
		return
	}
	g.noteWait(contract.CodeLaneBusy, explain.TextTurnAwaited(g.cfg.Lane), g.turn.AskedAt, now)
	g.turn.Granted, g.turn.Fence, g.turn.Fences = true, v.Fence, v.Fences
}

func (v TurnRefused) apply(g *Group, now time.Time) {
	if g.lane.Requested() {
		g.lane.Refused(now)
		return
	}
	if g.turn.Step == stepLane {
		g.skip(refused(v), now)
	}
}

func (v TurnLost) apply(g *Group, now time.Time) {
	if g.turn.Step == stepLane && !g.turn.Granted {
		return // It was not the group's; the request is repeated.
	}
	if g.turn.active() {
		g.leaveTurn()
		g.enter(stepWindow, now)
		return
	}
	g.note(run.Terminated, contract.CodeGrantLost, v.Reason, 0)
	g.cancel(v.Reason, now)
}

// awaitTurn begins when it is the group's turn and the workers are known.
func (g *course) awaitTurn(now time.Time) {
	switch opens, closed := g.window.ClosedUntil(now); {
	case closed && g.cfg.Windows:
		g.missTurn(opens, now)
	case !g.turn.Granted:
		if until := g.laneDeadline(); !until.IsZero() && !now.Before(until) {
			g.skip(g.cfg.laneTooLate(), now)
		}
	case !g.served():
		g.leaveTurn()
		g.enter(stepWorker, now)
	case now.Sub(g.turn.PreparedAt) > freshFor && !g.engine.Watching():
		g.prepare()
	default:
		g.begin(now)
	}
}

// missTurn: the window closed before it was the group's turn. A submitted one waits
// for the next window.
func (g *course) missTurn(opens, now time.Time) {
	if !g.cfg.Submitted || g.opensTooLate(opens) {
		g.skip(g.tooLate(opens), now)
		return
	}
	g.leaveTurn()
	g.enter(stepWindow, now)
}

// leaveTurn releases the turn with its claims, which a group without a turn has, too. The next request has other names, so a late answer does not count.
func (g *course) leaveTurn() {
	if !g.turn.AskedAt.IsZero() {
		left := LeaveTurn{Turn: g.turn.Number, Late: g.detect.Late.Claims, Rounds: g.lane.Rounds}
		left.Chunks, left.Backlog = g.chunks.Leave()
		g.do(left)
	}
	g.detect.Late.Claims, g.lane = 0, breaks.Break{}
	g.turn.Number++
	g.turn.Full = chunks.Backoff{}
	g.turn.AskedAt, g.turn.Granted, g.turn.Fence, g.turn.Fences, g.turn.disclaimed = time.Time{}, false, 0, 0, false
}

// begin starts the group's work: max_runtime counts from here.
func (g *course) begin(now time.Time) {
	g.turn.Step, g.turn.HoldUntil = stepNone, time.Time{}
	g.clock.Begin(now, g.cfg.Policy)
	g.engine.SetFences(g.turn.Fence, g.turn.Fences)
	if g.halt.Away {
		g.comeBack(now)
		return
	}
	g.setClosing(now)
	if g.cfg.detects() {
		g.phase = PhaseDetecting
		return
	}
	switch {
	case g.cfg.Submitted:
	case g.cfg.EachWorker:
		g.proposeEach(now)
	default:
		g.proposeWhole(now)
	}
	g.detected(now)
}

// skip ends a group that has not begun, or has left and does not come back.
func (g *course) skip(why reason, now time.Time) {
	if g.halt.Away {
		g.stayAway(why, now)
		return
	}
	g.noteSkip(why, now)
	g.giveUp(contract.OutcomeSkipped, why, now)
}

// giveUp ends a group before it has begun: nothing of it was done.
func (g *course) giveUp(outcome Outcome, why reason, now time.Time) {
	if g.halt.Away {
		g.stayAway(why, now)
		return
	}
	state := StateNotStarted
	if outcome == contract.OutcomeCanceled {
		state = StateCanceled
	}
	g.jobs.Backlog.SetBase(g.jobs.Last)
	g.endBacklog(state, why.String(), now)
	for _, j := range g.jobs.Sorted() {
		j.End(state, now, why.String())
		g.tally.Ended(j.State, 1)
		g.jobs.Close(j)
	}
	if len(g.detect.Targets) > 0 {
		g.countTargets(true)
	}
	if !g.turn.AskedAt.IsZero() {
		g.leaveTurn()
	}
	g.turn.Step, g.phase, g.outcome, g.halt.Why = stepNone, PhaseEnded, outcome, why
	g.do(End{Outcome: outcome, Reason: why.String()})
}

func (v Submitted) apply(g *Group, now time.Time) {
	if !g.cfg.Submitted || g.turn.begun {
		return
	}
	var answer PageAnswer
	for i := range v.Proposals {
		g.takeProposal(nil, v.Proposals[i], keyAt(v.BatchKeys, i), &answer, now)
	}
	g.tally.Counts.Detected = len(v.Proposals) + v.Duplicates
	g.tally.Counts.Duplicates += v.Duplicates
	for _, page := range v.Pages {
		g.takePaged(&session{}, page, &answer, now)
		g.tally.Counts.Detected += page.Count
	}
	g.engine.Apply(now, run.Tick{})
}

// workersChanged looks whether the group can continue on its way.
func (g *course) workersChanged(now time.Time) {
	if g.turn.Step == stepWorker || g.turn.Step == stepLane {
		g.turn.PreparedAt = now
	}
	g.loseDetections(now)
}
