package dispatch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

func (e JobEnded) apply(g *Group, now time.Time) {
	j := g.job(e.Job)
	if j == nil || j.State != StateRunning || j.Attempt != e.Attempt {
		return
	}
	if e.Ending.told() {
		j.Heard = j.Attempt
	}
	g.endAttempt(j, e.Ending, now)
}

// told: the worker said so, not the server in its stead.
func (e Ending) told() bool {
	return !e.Unheard && e.Failure != FailureWorkerLost && e.Failure != FailureNotTaken
}

// A delivered outcome counts while no other attempt has started: the job waits
// in its recall grace, is held, or is queued again. Success or failure, it is
// what really happened, and better than doing it again. That of a fenced
// incarnation is ignored, and what was told before: a server that is killed after
// it took a report, and before it answered, is given it once more and sends the
// worker here. An attempt that has cost a retry can only turn out to have
// succeeded. So is that of an attempt which the group has forgotten because it was
// reset: another job may have that number now.
func (e OutcomeDelivered) apply(g *Group, now time.Time) {
	j := g.job(e.Job)
	if j == nil || j.State.Final() || j.Attempt != e.Attempt || g.workers.IsFenced(e.Ending.Worker, e.Ending.Instance) {
		return
	}
	if e.Fence != 0 && j.Sent != 0 && e.Fence != j.Sent {
		return
	}
	if j.Heard == j.Attempt || j.Counted == j.Attempt && e.Ending.Failure != FailureNone {
		return
	}
	j.Heard = j.Attempt
	if j.State == StatePending {
		j.queued = false
	}
	g.endAttempt(j, e.Ending, now)
}

func (g *Group) job(n int) *job {
	if n < 1 || n > len(g.jobs) {
		return nil
	}
	return g.jobs[n-1]
}

func (g *Group) endAttempt(j *job, end Ending, now time.Time) {
	if len(end.Checkpoint) > 0 && !slices.Equal(j.Checkpoint, end.Checkpoint) {
		// Whatever stops it now, this attempt was not for nothing.
		j.Checkpoint, j.Done, j.Cuts = end.Checkpoint, end.Done, -1
	}
	if end.Worker != "" && j.Instance == "" {
		j.Worker = end.Worker // It came from the shared queue; only now it is known who took it.
	}
	g.hear(j, end.Load, now)
	switch end.Failure {
	case FailureNone:
		j.Ran = true
		g.learn(end.Duration)
		g.workers.Ended(j.Worker, j.Instance, end.Duration)
		g.remember(j, end.Duration, now)
		g.finish(j, StateCompleted, "", now)
	case FailureCanceled:
		g.endCanceled(j, end.Message, now)
	case FailurePermanent:
		j.Stopped = false
		g.noteFailure(j, end, now)
		g.finish(j, StateFailed, end.Message, now)
	case FailureStale:
		g.noteFailure(j, end, now)
		g.retryOr(j, StateStale, end, now)
	case FailureFailed, FailureTimeout:
		g.noteFailure(j, end, now)
		g.retryOr(j, StateFailed, end, now)
	case FailureWorkerLost:
		g.recall(j, end, now)
	case FailureAtCapacity, FailureDraining, FailureUnsupported, FailureNotTaken:
		g.bounce(j, end, now)
	}
}

// endCanceled ends a job that was canceled, unless only its window stopped it and
// the group comes back.
func (g *Group) endCanceled(j *job, message string, now time.Time) {
	if !g.setAside(j, now) {
		g.finish(j, StateCanceled, cmp.Or(j.Canceling, message), now)
	}
}

// retryOr tries a failed job again, preferably elsewhere, or ends it in state.
func (g *Group) retryOr(j *job, state State, end Ending, now time.Time) {
	j.Ran, j.Counted = true, j.Attempt
	if j.Canceling != "" {
		g.endCanceled(j, "", now)
		return
	}
	if j.Barred != "" {
		g.finish(j, state, clip(end.Message)+"; not tried again: "+j.Barred, now)
		return
	}
	if j.Retries >= g.cfg.Policy.RetryLimit || g.stopping != stopNone && !g.returning {
		j.Stopped = g.outOfTime() && j.Retries < g.cfg.Policy.RetryLimit
		g.finish(j, state, end.Message, now)
		return
	}
	j.Retries++
	g.counts.Retries++
	g.note(placement.Delayed, placement.NoteRetryBackoff, j.N, clip(end.Message), g.cfg.Policy.RetryBackoff.Std())
	j.Avoid, j.Error = j.Worker, clip(end.Message)
	g.enqueue(j, now.Add(g.cfg.Policy.RetryBackoff.Std()), now)
}

// bounce places a job again that its worker did not run or handed back. That
// costs no retry.
func (g *Group) bounce(j *job, end Ending, now time.Time) {
	switch end.Failure {
	case FailureAtCapacity:
		g.refused(j, false, now)
		g.leaveDoorIfCrowded(j, now)
	case FailureDraining:
		j.Ran = true
		g.cool(j.Worker, j.Instance, DrainCoolDown, now)
	case FailureUnsupported:
		g.exclude(j.Worker, j.Instance)
	case FailureNotTaken:
		g.refused(j, true, now)
		g.doubt(j.Worker, j.Instance)
		g.leaveDoorIfCrowded(j, now)
	case FailureNone, FailureFailed, FailurePermanent, FailureStale, FailureTimeout, FailureCanceled, FailureWorkerLost:
	}
	j.Error = clip(end.Message)
	g.note(placement.Delayed, placement.BounceCode(end.Failure), j.N, j.Error, 0)
	g.again(j, j.Worker, now)
}

// again places a job once more, unless the group or the job is being stopped.
func (g *Group) again(j *job, avoid string, now time.Time) {
	switch {
	case j.Canceling != "":
		g.endCanceled(j, "", now)
	case g.stopping == stopCanceled:
		g.finish(j, StateCanceled, g.reason, now)
	case g.stopping != stopNone && !g.returning:
		g.finish(j, StateNotStarted, g.reason, now)
	default:
		g.counts.Replacements++
		j.Avoid = avoid
		g.enqueue(j, now, now)
	}
}

// recall gives a lost attempt a moment in which its worker may still deliver
// the outcome: a server that was away times attempts out whose handlers have
// long ended well.
func (g *Group) recall(j *job, end Ending, now time.Time) {
	j.Ran = true
	if j.State == StateRunning && j.Losing == j.Attempt {
		// Its worker is given up: nothing is waited for.
		j.Lost = end
		g.lose(j, now)
		return
	}
	g.doubt(j.Worker, j.Instance)
	if j.State != StateRunning {
		return
	}
	j.State, j.Lost, j.WaitsAt = StateRecalling, end, now
	g.timers.push(timer{at: now.Add(RecallGrace), kind: timerRecall, job: j.N, attempt: j.Attempt})
}

// lose ends the recall grace.
func (g *Group) lose(j *job, now time.Time) {
	lost := j.Lost
	j.Lost = Ending{}
	j.Losses++
	message := clip(lost.Message)
	g.noteLost(j, message)
	switch {
	case g.cfg.Policy.OnWorkerLoss == jobtype.WorkerLossFail:
		g.finish(j, StateFailed, message+" (on_worker_loss is fail)", now)
	case j.Losses > g.cfg.Policy.WorkerLossLimit:
		g.finish(j, StateFailed, fmt.Sprintf("%s (lost %d times, worker_loss_limit is %d)", message, j.Losses, g.cfg.Policy.WorkerLossLimit), now)
	case g.holds() && j.Worker != "" && (g.stopping == stopNone || g.returning) && j.Canceling == "":
		g.leaveFlight(j)
		g.leaveDoor(j)
		j.State, j.Error, j.WaitsAt = StateHeld, message, now
		g.held = append(g.held, j)
		g.resumeHeld(now)
	default:
		j.Error = message
		g.again(j, j.Worker, now)
	}
}

// holds: a lost job waits for the worker that lost it. Nobody can send it there
// from a shared queue, so a policy that wants both is refused; a group that has
// one all the same places the job again.
func (g *Group) holds() bool {
	return g.cfg.Policy.OnWorkerLoss == jobtype.WorkerLossHold && !g.shared()
}

// learn keeps a moving average of how long jobs take.
func (g *Group) learn(took time.Duration) {
	if g.meanJob == 0 {
		g.meanJob = took
		return
	}
	g.meanJob += (took - g.meanJob) / 8
}
