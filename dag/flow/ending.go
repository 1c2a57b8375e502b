package flow

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// Ended tells how an attempt ended. It counts if that attempt is the current one.
func (f *Flow) Ended(now time.Time, i dag.Index, attempt int, end Ending) []Decision {
	f.begin()
	if t := f.live[i]; t != nil && t.attempt == attempt && t.phase == phaseRunning {
		f.roll.progress = true
		f.endAttempt(t, end, now)
	}
	f.fireTimers(now)
	return f.advance(now)
}

// Delivered is an ending that a worker told by itself, because the server had
// given up its attempt, or did not say that it had taken the end. It counts while
// no other attempt has started: success or failure, it is what really happened,
// and better than doing it again. That of a fenced incarnation is ignored, and so
// is that of an attempt from before an operator brought the task back, or of an
// earlier run under the same id: fence names the attempt, as its number does not.
func (f *Flow) Delivered(now time.Time, id string, fence int64, end Ending) []Decision {
	f.begin()
	if i, ok := f.run.Lookup(id); ok && !f.fleet.IsFenced(end.Worker, end.Instance) {
		t := f.live[i]
		if t != nil && t.fence == fence && t.expectsOutcome() {
			f.roll.progress = true
			f.endAttempt(t, end, now)
		}
	}
	f.fireTimers(now)
	return f.advance(now)
}

// expectsOutcome reports whether no attempt is in flight, but one was.
func (t *task) expectsOutcome() bool {
	return t.phase == phaseRecalling || t.phase == phaseWaiting || t.phase == phaseBackoff
}

func (f *Flow) endAttempt(t *task, end Ending, now time.Time) {
	if len(end.Checkpoint) > 0 {
		t.checkpoint = end.Checkpoint
	}
	if end.Worker != "" {
		f.learnWorker(t, end.Worker)
	}
	f.hear(t, end.Load, now)
	switch end.Failure {
	case placement.FailureNone:
		f.roll.learn(now.Sub(t.startedAt))
		f.succeed(t, end.Result, now)
	case placement.FailureCanceled:
		canceling := t.canceling
		f.canceled(t, now)
		if !canceling {
			f.book.fail(t.i, "canceled from outside: "+end.Message)
		}
	case placement.FailurePermanent:
		f.failOrCancel(t, end.Message, now)
	case placement.FailureFailed, placement.FailureTimeout, placement.FailureStale:
		f.retry(t, end, now)
	case placement.FailureWorkerLost:
		f.recall(t, end, now)
	case placement.FailureAtCapacity, placement.FailureDraining, placement.FailureUnsupported, placement.FailureNotTaken:
		f.bounce(t, end, now)
	default:
		f.retry(t, end, now)
	}
}

// learnWorker notes who ran an attempt of the shared queue.
func (f *Flow) learnWorker(t *task, worker string) {
	if t.worker == "" && t.class != nil {
		t.worker = worker // its instance stays empty: no place was taken there
	}
}

// failOrCancel ends a task whose attempt failed for good.
func (f *Flow) failOrCancel(t *task, message string, now time.Time) {
	if t.canceling {
		f.canceled(t, now)
		return
	}
	f.fail(t, message, now)
}

// retry tries a failed task again after its backoff, preferably elsewhere, or
// ends it.
func (f *Flow) retry(t *task, end Ending, now time.Time) {
	if t.charged == t.attempt {
		t.note = clip(end.Message) // Told again, perhaps by its worker in better words.
		return
	}
	r := f.retries(t)
	if t.canceling || f.run.Ending() || t.retries >= r.Limit {
		f.failOrCancel(t, end.Message, now)
		return
	}
	f.leaveFlight(t)
	wait := backoff(r, t.retries)
	f.note(placement.Delayed, placement.NoteRetryBackoff, t, end.Message, wait)
	t.retries++
	t.charged = t.attempt
	t.avoid, t.note = t.worker, clip(end.Message)
	t.phase, t.queuedAt, t.until = phaseBackoff, now, now.Add(wait)
	f.timers.push(timer{at: t.until, kind: timerReady, task: t.i, attempt: t.attempt})
}

// retries are the task's own, else those of its job type.
func (f *Flow) retries(t *task) spec.Retries {
	if own := t.definition.Retries; own != nil {
		return *own
	}
	if t.class != nil && t.class.jobType != "" {
		p := f.policy(t.class)
		return spec.Retries{Limit: p.RetryLimit, Backoff: p.RetryBackoff, MaxBackoff: p.RetryBackoff}
	}
	return spec.Retries{}
}

// backoff doubles with every retry, up to its cap.
func backoff(r spec.Retries, retries int) time.Duration {
	const most = jobtype.Duration(24 * time.Hour)
	limit := r.MaxBackoff
	if limit <= 0 || limit > most {
		limit = most
	}
	wait := r.Backoff
	for ; retries > 0 && wait < limit; retries-- {
		wait *= 2
	}
	return max(min(wait, limit), 0).Std()
}

// again starts the next attempt of a task.
func (f *Flow) again(t *task, now time.Time) {
	if t.class != nil {
		f.enqueue(t, now)
		return
	}
	// As what waited for its place: not in a run that is paused.
	t.phase, t.queuedAt, t.until = phaseGranted, now, time.Time{}
	f.granted = append(f.granted, t.i)
}

// bounce places a task again that its worker did not run or handed back. That
// costs no retry.
func (f *Flow) bounce(t *task, end Ending, now time.Time) {
	if t.phase != phaseRunning && t.phase != phaseRecalling {
		return // It is about to be placed already.
	}
	if t.class == nil {
		f.retake(t, end, now)
		return
	}
	switch end.Failure {
	case placement.FailureAtCapacity:
		f.refused(t, false, now)
	case placement.FailureDraining:
		f.cool(t, placement.DrainCoolDown, now)
	case placement.FailureUnsupported:
		f.fleet.Exclude(t.worker, t.instance)
	case placement.FailureNotTaken:
		f.refused(t, true, now)
		f.doubt(t)
	case placement.FailureNone, placement.FailureFailed, placement.FailurePermanent, placement.FailureStale,
		placement.FailureTimeout, placement.FailureCanceled, placement.FailureWorkerLost:
	}
	f.note(placement.Delayed, placement.BounceCode(end.Failure), t, end.Message, 0)
	f.replace(t, end.Message, now)
}

// replace places a task once more, unless it is being canceled.
func (f *Flow) replace(t *task, why string, now time.Time) {
	if t.canceling {
		f.canceled(t, now)
		return
	}
	f.leaveFlight(t)
	t.avoid, t.note = t.worker, clip(why)
	t.phase = phaseNone
	f.again(t, now)
}

func (f *Flow) cool(t *task, pause time.Duration, now time.Time) {
	if until := now.Add(pause); f.fleet.Cool(t.worker, t.instance, until) {
		f.timers.push(timer{at: until, kind: timerWake, task: dag.None})
	}
}

// doubt keeps work from a worker that lost some until it shows that it lives.
func (f *Flow) doubt(t *task) {
	if f.fleet.Doubt(t.worker, t.instance) {
		f.decide(Decision{Kind: Probe, Task: dag.None, ID: t.worker, Instance: t.instance})
	}
}

// recall gives a lost attempt a moment in which its worker may still deliver
// the outcome.
func (f *Flow) recall(t *task, end Ending, now time.Time) {
	if t.phase == phaseRunning && t.losing == t.attempt {
		// Its worker is given up: nothing is waited for.
		t.lost = end
		f.lose(t, now)
		return
	}
	f.doubt(t)
	if t.phase != phaseRunning {
		return
	}
	t.phase, t.lost, t.queuedAt, t.until = phaseRecalling, end, now, now.Add(placement.RecallGrace)
	f.timers.push(timer{at: t.until, kind: timerRecall, task: t.i, attempt: t.attempt})
}

// lose ends the recall grace. on_worker_loss hold is for groups; a task of such a
// job type goes to another worker, because a run of a DAG that waits for an
// operator is parked with hold_on_failure instead.
func (f *Flow) lose(t *task, now time.Time) {
	lost := t.lost
	t.lost = Ending{}
	t.losses++
	policy := f.policy(t.class)
	verdict := placement.Replaced
	if policy.OnWorkerLoss == jobtype.WorkerLossFail || t.losses > policy.WorkerLossLimit {
		verdict = placement.Ended
	}
	f.note(verdict, placement.NoteWorkerLost, t, lost.Message, 0)
	switch {
	case policy.OnWorkerLoss == jobtype.WorkerLossFail:
		f.failOrCancel(t, lost.Message+" (on_worker_loss is fail)", now)
	case t.losses > policy.WorkerLossLimit:
		f.failOrCancel(t, fmt.Sprintf("%s (lost %d times, worker_loss_limit is %d)", lost.Message, t.losses, policy.WorkerLossLimit), now)
	default:
		f.replace(t, lost.Message, now)
	}
}
