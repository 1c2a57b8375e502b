package run

import (
	"bytes"
	"cmp"
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	maxMessage = 1024
	// Beyond maxCuts the item would repeat the same work every night.
	maxCuts = 3
	// Two minutes: longer than a canceled run usually takes to free its id.
	idPause = 2 * time.Second
	idTries = 60
)

func clip(message string) string { return jobtype.ClipCause(message, maxMessage) }

func (v Ended) apply(e *Engine, now time.Time) {
	it := e.items[v.Item]
	if it == nil || it.Phase != PhaseRunning || it.Attempt != v.Attempt {
		return
	}
	if v.Ending.Reported() {
		it.Reported = it.Attempt
	}
	e.endAttempt(it, v.Ending, now)
}

// A delivered outcome counts while no other attempt has started. It is ignored if its process is fenced, if it was
// reported before, or if a reset run has forgotten its attempt. After a charged retry only a success counts.
func (v Delivered) apply(e *Engine, now time.Time) {
	it := e.items[v.Item]
	if it == nil || v.Attempt != 0 && it.Attempt != v.Attempt || e.fleet.isFenced(v.Ending.Worker, v.Ending.Instance) {
		return
	}
	if it.Attempt == 0 || it.Sent == 0 || v.Fence != 0 && v.Fence != it.Sent || v.Fence == 0 && v.Attempt == 0 {
		return
	}
	if it.Reported == it.Attempt || it.Charged == it.Attempt && v.Ending.Failure != contract.FailureNone {
		return
	}
	it.Reported = it.Attempt
	e.endAttempt(it, v.Ending, now)
}

func (e *Engine) endAttempt(it *item, end Ending, now time.Time) {
	e.roll.Progress()
	if len(end.Checkpoint) > 0 && !bytes.Equal(it.Checkpoint, end.Checkpoint) {
		// Any end keeps the progress of this attempt.
		it.Checkpoint, it.Done, it.Cuts = end.Checkpoint, end.Done, -1
		e.keepCheckpoint(it)
	}
	if end.Worker != "" && it.Instance == "" {
		it.Worker = end.Worker // It came from the shared queue.
	}
	handler := e.work[it.Work].Handler
	if w := e.fleet.instance(it.Worker, it.Instance); w != nil {
		w.observe(handler, end.Load, now)
		e.proveStart(it, w, end.Failure, now)
		e.freed = append(e.freed, w)
	}
	it.endDeferral(end.Failure)
	if !end.Binds() {
		it.Pin = ""
	}
	switch end.Failure {
	case contract.FailureNone:
		e.roll.Learn(cmp.Or(max(end.Duration, 0), now.Sub(it.StartedAt)))
		if w := e.fleet.instance(it.Worker, it.Instance); w != nil {
			w.learnPace(handler, end.Duration)
		}
		e.settleWith(it, Completed, end.Warning, end, now)
	case contract.FailureCanceled:
		e.endCanceled(it, end.Message, now)
	case contract.FailurePermanent:
		e.reportFailure(it, end)
		cut := it.Cut
		it.Cut = false
		if it.Canceling != "" && !cut {
			e.endCanceled(it, "", now)
			return
		}
		e.settleWith(it, Failed, end.Message, end, now)
	case contract.FailureStale:
		e.reportFailure(it, end)
		e.retryOr(it, Stale, end, now)
	case contract.FailureDeferred, contract.FailureGuard:
		e.deferItem(it, end, now)
	case contract.FailureWorkerLost:
		e.workerLost(it, end, now)
	case contract.FailureNotRunning:
		e.adoptionFailed(it, end, now)
	case contract.FailureAtCapacity, contract.FailureDraining, contract.FailureUnsupported, contract.FailureNotTaken,
		contract.FailureCannotStart, contract.FailureNotInstalled:
		if it.Adoptions > 0 && it.Phase == PhaseRunning && end.Failure == contract.FailureNotTaken {
			e.adoptionFailed(it, end, now)
			return
		}
		e.requeue(it, end, now)
	case contract.FailureFailed, contract.FailureTimeout:
		fallthrough
	default: // A kind of a later version counts as a failure.
		e.reportFailure(it, end)
		e.retryOr(it, Failed, end, now)
	}
}

// The failure of a canceled attempt is not about the work.
func (e *outbox) reportFailure(it *item, end Ending) {
	if it.Canceling == "" {
		e.reports = append(e.reports, Report{Kind: AttemptFailed, Item: it.ID, Attempt: it.Attempt, Message: end.Message, Worker: it.Worker})
	}
}

// An item that only its window has stopped waits for the next window.
func (e *course) endCanceled(it *item, message string, now time.Time) {
	if it.Cut && e.stopped == Open {
		if it.Cuts++; it.Cuts < maxCuts {
			it.Ran, it.Cut = true, false
			e.enqueue(it, now, now)
			return
		}
		it.Canceling = explain.TextCuts(it.Canceling, it.Cuts)
	}
	e.settle(it, Canceled, cmp.Or(it.Canceling, message), now)
}

func (e *course) retryOr(it *item, state State, end Ending, now time.Time) {
	it.Ran = true
	if it.Charged == it.Attempt {
		it.Error = clip(end.Message)
		return
	}
	it.Charged = it.Attempt
	retry := e.retryOf(it)
	switch {
	case it.Canceling != "":
		e.endCanceled(it, "", now)
	case it.Barred != "":
		e.settleWith(it, state, clip(end.Message)+explain.TextBarred+it.Barred, end, now)
	case it.Retries >= retry.Limit:
		it.Cut = false
		e.settleWith(it, state, end.Message, end, now)
	case e.stopped != Open:
		it.Cut = true
		e.settleWith(it, state, end.Message, end, now)
	default:
		wait := retry.Wait(it.Retries)
		it.Retries++
		it.Retrying = true
		e.Note(Note{Verdict: Delayed, Code: contract.CodeBackoff, Item: it.ID, Detail: clip(end.Message), Waited: wait})
		it.Avoid = it.Worker
		e.enqueue(it, now.Add(wait), now)
		it.Error = clip(end.Message)
	}
}

// SetRetry replaces the retry rule of an item.
func (e *ledger) SetRetry(id int, retry Retry) {
	if it := e.items[id]; it != nil {
		it.Retry = &retry
	}
}

func (e *rules) retryOf(it *item) Retry {
	if it.Retry != nil {
		return *it.Retry
	}
	p := e.work[it.Work].Policy
	return Retry{Limit: p.RetryLimit, Backoff: p.RetryBackoff.Std(), MaxBackoff: p.RetryMaxBackoff.Std()}
}

// requeue costs no retry.
func (e *Engine) requeue(it *item, end Ending, now time.Time) {
	switch freed := !end.Binds() && (it.Phase == PhaseLost || it.class != nil && it.class.node != it.node()); {
	case freed:
		e.again(it, it.Worker, now) // It need not wait for its worker any more.
		return
	case !it.inFlight():
		e.refit(it, now)
		return // It is about to be placed already.
	case it.Cut && e.stopped == Open && end.Binds():
		it.Cut = false // Its window closed before it began, so it may still expire.
		e.enqueue(it, now, now)
		return
	case end.Failure == contract.FailureAtCapacity && e.ends(it, now):
		return // A stop may be why it did not begin, although its worker has room.
	}
	e.Note(Note{Verdict: Delayed, Code: requeueCode(end.Failure), Item: it.ID, Detail: clip(end.Message)})
	if it.Want.Nowhere {
		e.retake(it, end, now)
		return
	}
	switch end.Failure { //nolint:exhaustive // the others do not come here
	case contract.FailureAtCapacity:
		e.refused(it, false, now)
	case contract.FailureDraining:
		it.Ran = it.Ran || !end.Binds()
		e.Cool(now, it.Worker, it.Instance, DrainCoolDown)
	case contract.FailureUnsupported:
		e.Exclude(now, it.Worker, it.Instance, e.work[it.Work].Handler)
	case contract.FailureCannotStart, contract.FailureNotInstalled:
		e.cannotStart(it, end, now)
	case contract.FailureNotTaken:
		e.refused(it, true, now)
		e.Suspect(now, it.Worker, it.Instance)
	}
	if it.Granted && (end.Failure == contract.FailureAtCapacity || end.Failure == contract.FailureNotTaken) {
		e.releaseIfContended(it, e.classOf(it, now))
	}
	e.again(it, it.Worker, now)
	it.Error = clip(end.Message)
}

func (e *course) retake(it *item, end Ending, now time.Time) {
	switch it.Requeues++; {
	case e.ends(it, now):
	case it.Requeues > idTries:
		e.settle(it, Failed, explain.TextIDTaken(end.Message, idTries*idPause), now)
	default:
		e.enqueue(it, now.Add(idPause), now)
		it.Error = clip(end.Message)
	}
}

// A worker that looks free all the same cools down.
func (e *course) refused(it *item, silent bool, now time.Time) {
	w := e.fleet.instance(it.Worker, it.Instance)
	if w != nil && w.refused(e.classOf(it, now), silent, len(e.fleet.byID), now) {
		e.Cool(now, it.Worker, it.Instance, CoolDown)
	}
	e.rerank(w, now)
}

func (e *course) again(it *item, avoid string, now time.Time) {
	if !e.ends(it, now) {
		it.Avoid, it.Replacing = avoid, true
		e.enqueue(it, now, now)
	}
}

// ends ends a returned item that is canceled, or whose run is stopped.
func (e *course) ends(it *item, now time.Time) bool {
	switch {
	case it.Canceling != "":
		e.endCanceled(it, "", now)
	case e.stopped != Open:
		e.settle(it, e.stopped, e.stopReason, now)
	default:
		return false
	}
	return true
}

// Again returns the numbers of started retries, and of replacements, since its last call.
func (e *outbox) Again() (retried, replaced int) {
	retried, replaced = e.retried, e.replaced
	e.retried, e.replaced = 0, 0
	return retried, replaced
}

// Cancel ends one item. It returns false for an item that has settled.
func (e *Engine) Cancel(now time.Time, id int, reason string) bool {
	it := e.items[id]
	switch {
	case it == nil:
		return false
	case it.Phase == PhaseRunning && it.Cut:
		it.Cut, it.Canceling = false, reason // It would have returned with the next window.
	default:
		e.cancel(it, reason, now)
	}
	return true
}

func (e *course) cancel(it *item, reason string, now time.Time) {
	switch {
	case it.Canceling != "":
		return
	case it.Phase != PhaseRunning:
		e.settle(it, Canceled, reason, now)
		return
	}
	it.Canceling = reason
	e.decide(Decision{Kind: Cancel, Item: it.ID, Attempt: it.Attempt, Worker: it.Worker, Reason: reason})
	if it.Want.Nowhere {
		return // A child workflow always ends by itself, with its items that clean up.
	}
	it.CancelBy = now.Add(e.heartbeat(it) + CancelWait)
	e.timers.Push(timer{at: it.CancelBy, kind: timerForget, item: it.ID, attempt: it.Attempt})
}

func (e *course) forget(it *item, now time.Time) {
	e.decide(Decision{Kind: Forget, Item: it.ID, Attempt: it.Attempt})
	e.settle(it, Canceled, explain.TextZombie(it.Canceling, it.Worker, true), now)
}

// Expire ends one item without waiting for its handler. It returns false for an item that has settled.
func (e *Engine) Expire(now time.Time, id int, reason string) bool {
	it := e.items[id]
	if it == nil {
		return false
	}
	switch it.Phase {
	case PhaseRunning:
		if it.Canceling == "" {
			e.decide(Decision{Kind: Cancel, Item: it.ID, Attempt: it.Attempt, Worker: it.Worker, Reason: reason})
		}
		e.decide(Decision{Kind: Forget, Item: it.ID, Attempt: it.Attempt})
		e.settle(it, Stale, explain.TextZombie(reason, it.Worker, false), now)
	case PhaseGrace:
		e.settle(it, Stale, explain.TextZombie(reason, it.Worker, false), now)
	case PhaseNone, PhaseWaiting, PhaseQueued, PhaseAsking, PhaseGranted, PhaseLost, PhaseLate, PhaseDue:
		e.settle(it, Expired, reason, now)
	}
	return true
}

// Bar prevents another attempt of an item. With done every waiting item settles as canceled, else as failed after a failure.
func (e *Engine) Bar(now time.Time, id int, reason string, done bool) {
	it := e.items[id]
	if it == nil {
		return
	}
	e.Note(Note{Verdict: Rejected, Code: contract.CodeStopped, Item: id, Detail: reason})
	switch waits := !it.inFlight(); {
	case waits && done:
		e.settle(it, Canceled, reason, now)
	case waits && it.Retries > 0:
		e.settle(it, Failed, reason, now)
	default:
		it.Barred = reason
	}
}

// End settles one item that does not run. It returns false otherwise.
func (e *Engine) End(now time.Time, id int, state State, message string) bool {
	it := e.items[id]
	if it == nil || it.inFlight() {
		return false
	}
	e.settle(it, state, message, now)
	return true
}
