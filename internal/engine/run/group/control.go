package group

import (
	"cmp"
	"errors"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/clock"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// endJobs ends jobs for an operator. A group that waits for its turn ends with its last job.
func (g *course) endJobs(c source.CancelItem, now time.Time) {
	why, end := cmp.Or(c.Reason, explain.TextByOperator), g.engine.Cancel
	if c.Force {
		why, end = cmp.Or(c.Reason, explain.TextExpiredBy), g.engine.Expire
	}
	g.reach(c.Item)
	for _, j := range g.jobs.Named(c.Item, g.cfg.JobType, c.Key) {
		if text := why + j.ItemsText(); !g.notBegun(j, text) && g.forJobs() {
			end(now, j.N, text)
		}
	}
	if !g.begun && g.turn.active() && g.jobs.Open.AllCanceled() && g.jobs.Backlog.Len() == 0 {
		g.giveUp(contract.OutcomeCanceled, everyCanceled(), now)
	}
}

// notBegun remembers an operator's request about a job that is not one yet, because
// its group has not claimed its keys: it ends as canceled once it has.
func (g *work) notBegun(j *job, reason string) bool {
	if !j.Late && !j.Claiming && (g.begun || !(g.phase == PhaseClaiming || g.cfg.Submitted && g.turn.active())) {
		return false
	}
	j.Canceling = cmp.Or(j.Canceling, reason)
	return true
}

// forJobs reports whether operators' messages about jobs count: jobs have their
// numbers for good.
func (g *base) forJobs() bool { return g.begun && g.phase != PhaseEnded }

// cancel cancels the group.
func (g *course) cancel(detail string, now time.Time) {
	if g.stopping == stopCanceled {
		return
	}
	why := reason{Detail: cmp.Or(detail, explain.TextGroupCanceled)}
	if g.turn.active() && !g.away {
		g.giveUp(contract.OutcomeCanceled, why, now)
		return
	}
	g.stopping = stopNone
	g.stop(stopCanceled, why, now)
}

// lostWorker fails the whole group, because one of its jobs lost its worker under
// recovery: fail. Nothing of it continues in the next group.
func (g *course) lostWorker(j *job, r *run.Report, now time.Time) {
	if g.stopping == stopCanceled || g.stopping == stopLost {
		return
	}
	g.stopping = stopNone
	g.stop(stopLost, lostWith(j.N, r), now)
}

// stop keeps everything from starting. A job that does not run ends here; one that runs is
// canceled, or left to drain after a deadline under on_deadline drain.
func (g *course) stop(cause stopCause, why reason, now time.Time) {
	switch {
	case g.stopping != stopNone && (!g.leaving || cause == stopWindow):
		return
	case g.turn.active() && !g.away:
		g.giveUp(contract.OutcomeSkipped, why, now)
		return
	}
	if g.away || g.leaving {
		g.away, g.unplaced, g.leaving, g.turn.Step = false, false, false, stepNone
		g.phase = PhaseRunning
	}
	g.stopping, g.why = cause, why
	switch cause {
	case stopDeadline:
		g.note(run.Terminated, contract.CodeDeadline, why.String(), 0)
	case stopWindow:
		g.note(run.Terminated, contract.CodeWindowEnd, why.String(), 0)
	case stopLost:
		g.note(run.Terminated, contract.CodeWorkerLost, why.Detail, 0)
	case stopNone, stopCanceled, stopBudget:
	}
	if g.phase == PhaseDetecting {
		g.cancelDetections()
		return
	}
	g.stopJobs(cause, why.String(), now)
	g.stopLate(now)
	g.takeClaims(g.chunks.Stop(g.turn.Number), now)
	if !g.begun {
		g.beginRunning(now) // Every proposal is counted where it ends.
	}
	g.endBacklog(openjobs.StateOf(cause.ends(), false), why.String(), now)
	g.phase = PhaseRunning
}

// ends is the state in which jobs end that do not run.
func (c stopCause) ends() run.State {
	switch c { //nolint:exhaustive // the others only keep jobs from starting
	case stopCanceled:
		return run.Canceled
	case stopLost:
		return run.Failed
	}
	return run.NotStarted
}

// stopJobs ends what does not run, and cancels what does where the cause wants it.
func (g *work) stopJobs(cause stopCause, reason string, now time.Time) {
	state := cause.ends()
	for _, j := range g.jobs.Sorted() {
		view, known := g.engine.View(j.N)
		switch {
		case !known:
		case cause == stopBudget && view.Retries > 0:
			g.engine.End(now, j.N, run.Failed, reason)
		case view.Phase == run.PhaseLate && cause != stopLost:
			g.engine.End(now, j.N, state, g.unfitText(j))
		}
	}
	g.engine.Stop(now, state, reason)
	if cause == stopCanceled || cause == stopLost || cause == stopDeadline && !clock.Drains(g.cfg.Policy) {
		g.engine.CancelRunning(now, reason)
	}
}

// endPause ends a pause. Meanwhile max_runtime did not run out.
func (g *times) endPause(now time.Time) {
	if pause := g.engine.Resume(); pause.On() {
		g.clock.Resume(pause.At, now, g.cfg.Policy)
	}
}

func (g *base) paused() bool { return g.engine.Paused().On() }

// CheckPolicy says why a policy cannot replace the running one, or nil.
func (g *base) CheckPolicy(p jobtype.Policy) error {
	if g.phase == PhaseEnded {
		return errors.New("the group has ended; change the job type with apply instead")
	}
	return p.Validate()
}

func (v BudgetSet) apply(g *Group, _ time.Time) { g.cfg.Budget = v.Counts }

func (v PolicySet) apply(g *Group, now time.Time) {
	g.cfg.Policy = v.Policy
	g.engine.SetLimit(max(v.Policy.GlobalExecutionConcurrency, 1))
	g.engine.SetWork(now, theWork, g.cfg.work())
	g.clock.Bound(v.Policy)
	if g.stopping == stopWindow && v.Policy.OnWindowEnd == jobtype.WindowEndCheckpoint {
		g.engine.CancelRunning(now, g.why.String()) // It closed under another policy.
	}
}

// NextWake is when [run.Tick] must be given at the latest even if nothing happens; zero
// if nothing is waited for.
func (g *course) NextWake() time.Time {
	if g.phase == PhaseEnded {
		return time.Time{}
	}
	return instant.Earlier(instant.Earlier(instant.Earlier(instant.Earlier(g.ownWake(), g.endings.DueAt), g.engine.NextWake()), g.jobs.Record.StoreAt()), g.refillAt())
}

// ownWake is the next moment that the group itself waits for.
func (g *course) ownWake() time.Time {
	if g.turn.active() {
		return g.turnWake()
	}
	var next time.Time
	if !g.paused() {
		switch {
		case g.stopping == stopNone || g.stopping == stopBudget && !clock.Drains(g.cfg.Policy):
			next = g.clock.Deadline
		case g.stopping == stopDeadline && clock.Drains(g.cfg.Policy):
			next = g.clock.HardStop
		}
	}
	next = instant.Earlier(instant.Earlier(next, g.unplacedUntil()), g.lane.RetryAt())
	if !g.paused() && g.stopping == stopNone {
		next = instant.Earlier(next, g.chunks.RetryAt)
		if g.claiming() {
			next = instant.Earlier(next, g.turn.Full.RetryAt)
		}
	}
	switch closes := g.closes(); {
	case closes.IsZero():
	case g.stopping == stopNone:
		next = instant.Earlier(next, closes)
	case g.stopping == stopWindow && g.engine.InFlight() > 0 && !g.clock.DrainOver:
		next = instant.Earlier(next, g.drained())
	}
	if g.phase == PhaseDetecting && g.detect.endsBefore(next) {
		next = time.Time{}
	}
	if (g.phase == PhaseDetecting || g.mayDetectLate()) && !g.paused() {
		next = instant.Earlier(next, g.detectAgainAt(g.clock.LastTick))
	}
	return next
}

// turnWake is the next moment on the way to the turn.
func (g *course) turnWake() time.Time {
	switch g.turn.Step {
	case stepStart:
		return g.firstStart()
	case stepAfter:
		return g.after.Wake()
	case stepWindow:
		if g.clock.LastTick.Before(g.turn.HoldUntil) {
			return g.turn.HoldUntil
		}
		if opens, closed := g.window.ClosedUntil(g.clock.LastTick); closed && !g.window.Asking {
			return instant.Earlier(opens, g.windowDeadline())
		}
	case stepWorker:
		return g.workerDeadline()
	case stepLane:
		if span := g.window.At(g.clock.LastTick); span != nil && g.cfg.Windows {
			return instant.Earlier(g.laneDeadline(), span.Closes)
		}
		return g.laneDeadline()
	case stepPrepare, stepNone:
	}
	return time.Time{}
}

// fireTimers does what the time has come for.
func (g *course) fireTimers(now time.Time) {
	g.clock.LastTick = now
	if g.turn.active() || g.phase == PhaseEnded {
		return
	}
	if !g.paused() && !now.Before(g.clock.Deadline) {
		g.reachDeadline(now)
	}
	if !g.paused() && g.stopping == stopDeadline && clock.Drains(g.cfg.Policy) && !now.Before(g.clock.HardStop) && !g.clock.DrainOver {
		g.clock.DrainOver = true
		g.engine.CancelRunning(now, explain.TextDrained)
	}
	closes := g.closes()
	if !closes.IsZero() && g.stopping == stopNone && !now.Before(closes) && g.phase != PhaseEnded {
		g.closeWindow(now)
	}
	if !closes.IsZero() && g.stopping == stopWindow && !now.Before(g.drained()) && !g.clock.DrainOver {
		g.clock.DrainOver = true
		g.engine.CancelRunning(now, explain.TextWindowDrained)
	}
}

// reachDeadline stops the group at max_runtime. One that was stopped before has only
// its running jobs left.
func (g *course) reachDeadline(now time.Time) {
	why := explain.TextMaxRuntime(g.cfg.Policy.MaxRuntime)
	switch {
	case g.stopping == stopBudget && !clock.Drains(g.cfg.Policy) && !g.clock.DrainOver:
		g.clock.DrainOver = true
		g.engine.CancelRunning(now, why)
	case g.stopping == stopNone || g.leaving:
		g.stop(stopDeadline, reason{Detail: why}, now)
	}
}
