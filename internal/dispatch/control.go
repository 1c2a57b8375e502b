package dispatch

import (
	"cmp"
	"errors"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

func (e JobCanceled) apply(g *Group, now time.Time) {
	reason := cmp.Or(e.Reason, "canceled by an operator")
	g.named(e.Job, e.DedupeKey, func(j *job) {
		if text := reason + j.itemsText(); !g.stillCanceled(j, text) {
			g.cancel(j, text, now)
		}
	})
}

func (e JobExpired) apply(g *Group, now time.Time) {
	reason := cmp.Or(e.Reason, "expired by an operator")
	g.named(e.Job, e.DedupeKey, func(j *job) { g.expire(j, reason+j.itemsText(), now) })
}

// named does something to the job of that number, or to those that carry the key.
func (g *Group) named(number int, key string, do func(*job)) {
	if number > 0 {
		if j := g.job(number); j != nil {
			do(j)
		}
		return
	}
	for _, j := range g.jobs {
		if j.carries(key) {
			do(j)
		}
	}
}

// cancel ends one job: at once if it does not run, else as soon as its handler
// has ended.
func (g *Group) cancel(j *job, reason string, now time.Time) {
	if j.State.Final() || j.Canceling != "" || g.keepWish(j, reason) {
		return
	}
	if !g.forJobs() {
		return
	}
	if j.State != StateRunning {
		g.finish(j, StateCanceled, reason, now)
		return
	}
	j.Canceling = reason
	g.decide(CancelJob{Job: j.N, Attempt: j.Attempt, Reason: reason})
	if j.isDAG() {
		return // A run of a DAG always ends by itself, with its tasks that clean up.
	}
	g.timers.push(timer{
		at: now.Add(g.cfg.Policy.HeartbeatTimeout.Std() + cancelPatience), kind: timerForget, job: j.N, attempt: j.Attempt,
	})
}

// forget goes on without the end of a canceled attempt.
func (g *Group) forget(j *job, now time.Time) {
	g.decide(ForgetJob{Job: j.N, Attempt: j.Attempt})
	g.finish(j, StateCanceled, j.Canceling+"; its handler on "+j.Worker+" did not stop and may still run", now)
}

// keepWish remembers an operator's message about a job that is not one yet, because
// its group still claims its keys: it ends as canceled once they are claimed.
func (g *Group) keepWish(j *job, reason string) bool {
	if g.begun || g.phase != PhaseClaiming && g.phase != PhaseAway {
		return false
	}
	j.Canceling = cmp.Or(j.Canceling, reason)
	return true
}

// expire ends one job without waiting for anything. Its handler is told to stop;
// what it still reports is not heard. Before it can begin that is the same as to
// cancel it.
func (g *Group) expire(j *job, reason string, now time.Time) {
	switch {
	case j.State.Final() || g.keepWish(j, reason) || !g.forJobs():
	case j.State == StateRunning:
		if j.Canceling == "" {
			g.decide(CancelJob{Job: j.N, Attempt: j.Attempt, Reason: reason})
		}
		g.decide(ForgetJob{Job: j.N, Attempt: j.Attempt})
		g.finish(j, StateStale, reason+mayStillRun(j), now)
	case j.State == StateRecalling:
		g.finish(j, StateStale, reason+mayStillRun(j), now)
	default:
		g.finish(j, StateExpired, reason, now)
	}
}

func mayStillRun(j *job) string {
	if j.Worker == "" {
		return "; its handler may still run"
	}
	return "; its handler on " + j.Worker + " may still run"
}

func (g *Group) cancelRunning(reason string, now time.Time) {
	for _, j := range g.jobs {
		if j.State == StateRunning {
			j.Stopped = j.Stopped || j.Canceling == ""
			g.cancel(j, reason, now)
		}
	}
}

func (e GroupCanceled) apply(g *Group, now time.Time) {
	reason := e.Reason
	if reason == "" {
		reason = "the group was canceled"
	}
	if g.stopping == stopCanceled {
		return
	}
	g.stopping = stopNone
	g.stop(stopCanceled, reason, now)
}

// stop keeps everything from starting. What does not run ends here; what runs
// is canceled, or left to drain after a deadline under on_deadline drain.
func (g *Group) stop(cause stopCause, reason string, now time.Time) {
	if g.stopping != stopNone && (!g.returning || cause == stopWindow) {
		return
	}
	g.comeNoMore()
	g.stopping, g.reason = cause, reason
	if cause == stopDeadline {
		g.note(placement.Ended, placement.NoteDeadline, wholeGroup, reason, 0)
	}
	if cause == stopWindow {
		g.note(placement.Ended, placement.NoteWindow, wholeGroup, reason, 0)
	}
	if g.phase == PhaseDetecting {
		if g.detect.Running {
			g.decide(CancelDetection{Attempt: g.detect.Attempt})
		}
		return
	}
	if g.phase == PhaseClaiming {
		g.phase = PhaseDispatching
		if !g.begun {
			g.open = len(g.jobs)
		}
	}
	final := StateNotStarted
	if cause == stopCanceled {
		final = StateCanceled
	}
	for _, j := range g.jobs {
		switch {
		case j.State != StatePending && j.State != StateHeld:
		case cause == stopBudget && j.Retries > 0:
			g.finish(j, StateFailed, reason, now)
		default:
			g.finish(j, final, g.stoppedText(j, reason), now)
		}
	}
	if cause == stopBudget {
		return
	}
	if cause == stopCanceled || cause == stopDeadline && g.cfg.Policy.OnDeadline == jobtype.DeadlineCancel {
		g.cancelRunning(reason, now)
	}
}

// stoppedText is why a job ends that has not started.
func (g *Group) stoppedText(j *job, reason string) string {
	if j.Late {
		return string(WaitWindowFit) + ": " + g.lateText(j)
	}
	return reason
}

func (e Paused) apply(g *Group, now time.Time) {
	g.pausedBy, g.pauseNote = e.By, e.Note
	if !g.paused {
		g.paused, g.pausedAt = true, now
		g.leaveDoors()
		g.forgetMissing()
	}
}

func (Resumed) apply(g *Group, now time.Time) {
	if !g.paused {
		return
	}
	g.paused, g.pausedBy, g.pauseNote = false, "", ""
	g.pausedFor += now.Sub(g.pausedAt)
	g.setDeadline()
	g.queue.unblock()
}

// CheckPolicy says why a policy cannot replace the running one, or nil.
func (g *Group) CheckPolicy(p jobtype.Policy) error {
	if g.phase == PhaseEnded {
		return errors.New("the group has ended; change the job type with apply instead")
	}
	return p.Validate()
}

func (e BudgetSet) apply(g *Group, _ time.Time) { g.cfg.Budget = e.Counts }

func (e PolicySet) apply(g *Group, now time.Time) {
	g.cfg.Policy = e.Policy
	g.setDeadline()
	g.setWindowTimers()
	g.queue.unblock()
	g.seeAgain(now)
	g.resumeHeld(now)
	if g.stopping == stopWindow && g.phase == PhaseDispatching && e.Policy.OnWindowEnd == jobtype.WindowEndCheckpoint {
		g.cancelRunning(g.reason, now) // It closed under another policy.
	}
}
