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
	"github.com/roundsman/roundsman/internal/engine/run/group/halt"
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
		if text := why + j.ItemsText(); !g.notBegun(j, text, c.Force) && g.forJobs() {
			end(now, j.N, text)
		}
	}
	if !g.begun && g.turn.active() && g.jobs.Open.AllCanceled() && g.jobs.Backlog.Len() == 0 {
		g.giveUp(contract.OutcomeCanceled, everyCanceled(), now)
	}
}

// notBegun remembers an operator's request about a job that is not one yet, because
// its group has not claimed its keys: it ends once it has. The first request counts.
func (g *work) notBegun(j *job, reason string, expire bool) bool {
	if !j.Late && !j.Claiming && (g.begun || !(g.phase == PhaseClaiming || g.cfg.Submitted && g.turn.active())) {
		return false
	}
	if j.Canceling == "" {
		j.Canceling, j.Expiring = reason, expire
	}
	return true
}

// forJobs reports whether operators' messages about jobs count: jobs have their
// numbers for good.
func (g *base) forJobs() bool { return g.begun && g.phase != PhaseEnded }

// cancel cancels the group.
func (g *course) cancel(detail string, now time.Time) {
	if g.halt.Cause == halt.Canceled {
		return
	}
	why := reason{Detail: cmp.Or(detail, explain.TextGroupCanceled)}
	if g.turn.active() && !g.halt.Away {
		g.giveUp(contract.OutcomeCanceled, why, now)
		return
	}
	g.halt.Cause = halt.None
	g.stop(halt.Canceled, why, now)
}

// lostWorker fails the whole group, because one of its jobs lost its worker under
// recovery: fail. Nothing of it continues in the next group.
func (g *course) lostWorker(j *job, r *run.Report, now time.Time) {
	if g.halt.Cause == halt.Canceled || g.halt.Cause == halt.Lost {
		return
	}
	g.halt.Cause = halt.None
	g.stop(halt.Lost, lostWith(j.N, r), now)
}

// stop keeps everything from starting. A job that does not run ends here; one that runs is
// canceled, or left to drain after a deadline under on_deadline drain.
func (g *course) stop(cause halt.Cause, why reason, now time.Time) {
	switch {
	case !g.halt.Takes(cause):
		return
	case g.turn.active() && !g.halt.Away:
		g.giveUp(contract.OutcomeSkipped, why, now)
		return
	}
	if g.halt.Stop(cause, why) {
		g.turn.Step, g.phase = stepNone, PhaseRunning
	}
	switch cause {
	case halt.Deadline:
		g.note(run.Terminated, contract.CodeDeadline, why.String(), 0)
	case halt.Window:
		g.note(run.Terminated, contract.CodeWindowEnd, why.String(), 0)
	case halt.Lost:
		g.note(run.Terminated, contract.CodeWorkerLost, why.Detail, 0)
	case halt.None, halt.Canceled, halt.Budget:
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
	g.endBacklog(openjobs.StateOf(cause.Ends(), false), why.String(), now)
	g.phase = PhaseRunning
}

// stopJobs ends the jobs that do not run, and cancels the others if the cause requires it.
func (g *work) stopJobs(cause halt.Cause, reason string, now time.Time) {
	state := cause.Ends()
	for _, j := range g.jobs.Sorted() {
		view, known := g.engine.View(j.N)
		switch {
		case !known:
		case cause == halt.Budget && view.Retries > 0:
			g.engine.End(now, j.N, run.Failed, reason)
		case view.Phase == run.PhaseLate && cause != halt.Lost:
			g.engine.End(now, j.N, state, g.unfitText(j))
		}
	}
	g.engine.Stop(now, state, reason)
	if cause == halt.Canceled || cause == halt.Lost || cause == halt.Deadline && !clock.Drains(g.cfg.Policy) {
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

// CheckPolicy returns the reason to refuse a policy and a retry budget, or nil.
func (g *work) CheckPolicy(p jobtype.Policy, b *contract.RetryBudget) error {
	switch {
	case g.phase == PhaseEnded:
		return errors.New("the group has ended; change the job type with apply instead")
	case b != nil && b.PerKey != nil && !g.cfg.NamesKeys && (g.mayBePaged() || len(g.jobs.Backlog.Table()) > 0):
		return errors.New(explain.TextBudgetOfPages)
	}
	return p.Validate()
}

// mayBePaged reports whether a detection to come may put jobs into pages.
func (g *work) mayBePaged() bool { return !g.begun && g.cfg.detects() && g.cfg.keyedInGroup() > 0 }

func (v BudgetSet) apply(g *Group, _ time.Time) { g.cfg.Budget = v.Counts }

func (v PolicySet) apply(g *Group, now time.Time) {
	g.cfg.Policy = v.Policy
	g.engine.SetLimit(max(v.Policy.GlobalExecutionConcurrency, 1))
	g.engine.SetWork(now, theWork, g.cfg.work())
	g.clock.Bound(v.Policy)
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
		case !g.halt.On() || g.halt.Cause == halt.Budget && !clock.Drains(g.cfg.Policy) && !g.clock.DrainOver:
			next = g.clock.Deadline
		case g.halt.Cause == halt.Deadline && clock.Drains(g.cfg.Policy) && !g.clock.DrainOver:
			next = g.clock.HardStop
		}
	}
	next = instant.Earlier(instant.Earlier(next, g.unplacedUntil()), g.lane.RetryAt())
	if g.leavesAfterClaim() {
		next = instant.Earlier(next, g.chunks.RetryAt)
	}
	if !g.paused() && !g.halt.On() {
		next = instant.Earlier(next, g.chunks.RetryAt)
		if g.claiming() {
			next = instant.Earlier(next, g.turn.Full.RetryAt)
		}
	}
	switch {
	case !g.halt.On():
		next = instant.Earlier(next, g.closes())
	case g.engine.InFlight() > 0:
		next = instant.Earlier(next, g.cutAt())
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

// fireTimers handles the times that have come.
func (g *course) fireTimers(now time.Time) {
	g.clock.LastTick = now
	if g.turn.active() || g.phase == PhaseEnded {
		return
	}
	if !g.paused() && !now.Before(g.clock.Deadline) {
		g.reachDeadline(now)
	}
	if !g.paused() && g.halt.Cause == halt.Deadline && clock.Drains(g.cfg.Policy) && !now.Before(g.clock.HardStop) && !g.clock.DrainOver {
		g.clock.DrainOver = true
		g.engine.CancelRunning(now, explain.TextDrained)
	}
	if g.closed(now) && !g.halt.On() && g.phase != PhaseEnded {
		g.shut(g.windowClosed(), now)
	}
	if at := g.cutAt(); !at.IsZero() && !now.Before(at) {
		g.cut(now)
	}
}

// reachDeadline stops the group at max_runtime. One that was stopped before has only
// its running jobs left.
func (g *course) reachDeadline(now time.Time) {
	why := explain.TextMaxRuntime(g.cfg.Policy.MaxRuntime)
	switch {
	case g.halt.Cause == halt.Budget && !clock.Drains(g.cfg.Policy) && !g.clock.DrainOver:
		g.clock.DrainOver = true
		g.engine.CancelRunning(now, why)
	case !g.halt.On() || g.halt.Leaving:
		g.stop(halt.Deadline, reason{Detail: why}, now)
	}
}
