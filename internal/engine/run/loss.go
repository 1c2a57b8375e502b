package run

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run/losses"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// workerLost adopts the attempt if the worker may still run it. Otherwise the worker may deliver the outcome for a moment.
func (e *course) workerLost(it *item, end Ending, now time.Time) {
	it.Ran = true
	if it.Phase == PhaseRunning && it.Abandoned == it.Attempt {
		it.Lost = end.Message // Its worker is abandoned, so there is nothing to wait for.
		e.lose(it, true, now)
		return
	}
	e.Suspect(now, it.Worker, it.Instance)
	if it.Phase == PhaseRunning && end.Gone {
		it.Lost = end.Message
		e.lose(it, true, now)
		return
	}
	if it.Phase != PhaseRunning {
		e.refit(it, now) // The report may have a later checkpoint.
		return
	}
	if e.adopts(it, end, now) {
		return
	}
	it.Phase, it.Lost, it.WaitsAt = PhaseGrace, end.Message, now
	e.Changed(now)
	e.timers.Push(timer{at: now.Add(Grace), kind: timerGrace, item: it.ID, attempt: it.Attempt})
}

// adopts moves the attempt to another activity, if its process may still run it. A server that was away times out
// every attempt whose handler has continued; none must lose its work.
func (e *course) adopts(it *item, end Ending, now time.Time) bool {
	left := it.StartedAt.Add(e.timeout(it)).Sub(now)
	switch {
	case !e.adopt || !end.Silent || it.Instance == "" || left <= 0:
		return false
	case e.fleet.instance(it.Worker, it.Instance) == nil && e.fleet.byID[it.Worker] != nil:
		return false // Another process has the id.
	case e.fleet.whyGone(it.Worker, it.Instance) != "":
		return false
	}
	it.Adoptions++
	it.Lost = end.Message
	e.decide(Decision{
		Kind: Adopt, Item: it.ID, Attempt: it.Attempt, Adoption: it.Adoptions, Worker: it.Worker, Instance: it.Instance, Work: it.Work,
		Fence: it.Sent, Timeout: left, HeartbeatTimeout: e.heartbeat(it), At: now,
	})
	if it.Canceling != "" { // The new activity has no record of it.
		e.decide(Decision{Kind: Cancel, Item: it.ID, Attempt: it.Attempt, Worker: it.Worker, Reason: it.Canceling})
	}
	return true
}

// If the worker has no record of the attempt, it does not count as lost.
func (e *course) adoptionFailed(it *item, end Ending, now time.Time) {
	if it.Phase != PhaseRunning {
		e.refit(it, now)
		return
	}
	it.Lost = cmp.Or(it.Lost, end.Message)
	e.lose(it, end.Failure == contract.FailureNotTaken, now)
}

func (e *course) lose(it *item, counted bool, now time.Time) {
	message := clip(it.Lost)
	it.Lost, it.Pin = "", ""
	if counted && !it.Announced {
		it.Losses = it.Losses.Add(it.Attempt, it.Worker, now)
	}
	policy := e.work[it.Work].Policy
	limit := policy.WorkerLossLimit
	fatal, failsAtOnce := policy.Recovery == jobtype.RecoveryFail, e.onWorkerLoss(it) == jobtype.WorkerLossFail
	tooMany := !fatal && !failsAtOnce && len(it.Losses) > limit
	fails := fatal || failsAtOnce || tooMany
	holds := !fails && e.holds(it) && it.Worker != "" && e.stopped == Open && it.Canceling == ""
	verdict, code := Replaced, contract.CodeWorkerLost
	switch {
	case tooMany && it.Canceling == "":
		verdict, code = Terminated, contract.CodeLosesWorkers
	case fails:
		verdict = Terminated
	case holds:
		verdict = Delayed
	}
	e.Note(Note{Verdict: verdict, Code: code, Item: it.ID, Detail: message})
	switch {
	case fails && it.Canceling != "":
		e.endCanceled(it, "", now)
	case fatal:
		e.fatal = true
		e.settleWith(it, Failed, message+explain.TextRecoveryFails, Ending{Failure: contract.FailureWorkerLost}, now)
	case failsAtOnce:
		e.settle(it, Failed, message+explain.TextLossFails, now)
	case fails:
		e.failLosses(it, explain.TextLosesWorkers(it.Losses.Workers(), losses.Window, limit, message), now)
	case holds:
		e.hold(it, now)
		it.Error = message
		if e.returned(it) {
			e.bringBack(it, now)
		}
	default:
		e.again(it, it.Worker, now)
		it.Error = message
	}
}

// hold makes an item wait until its last worker can run it again.
func (e *course) hold(it *item, now time.Time) {
	e.release(it)
	e.leave(it)
	it.Phase, it.WaitsAt = PhaseLost, now
	e.Changed(now)
	e.lost.Add(it.ID, it)
}

// holdAgain: the worker for which held items are queued is gone again, or cannot run them.
func (e *course) holdAgain(c *class, now time.Time) {
	held := slices.DeleteFunc(slices.Clone(c.items), func(it *item) bool { return it.Pin == "" || e.returned(it) })
	slices.SortFunc(held, func(a, b *item) int { return cmp.Compare(a.ID, b.ID) })
	for _, it := range held {
		e.hold(it, now)
		if !e.holds(it) {
			e.bringBack(it, now)
		}
	}
}

func (it *item) keepsApart() bool { return it.Losses.Apart() && !it.Want.Nowhere }

// failLosses ends an item that was lost too often. Each lost attempt counts as one that its
// handler failed.
func (e *course) failLosses(it *item, message string, now time.Time) {
	for _, lost := range it.Losses {
		e.reports = append(e.reports, Report{Kind: AttemptFailed, Item: it.ID, Attempt: lost.Attempt, Message: message, Worker: lost.Worker})
	}
	e.settle(it, Failed, message, now)
}

func (e *rules) onWorkerLoss(it *item) jobtype.OnWorkerLoss {
	return cmp.Or(it.OnWorkerLoss, e.work[it.Work].Policy.OnWorkerLoss)
}

// An item of a shared queue cannot be sent to the worker that lost it, so it is placed again.
func (e *rules) holds(it *item) bool {
	work := e.work[it.Work]
	return e.onWorkerLoss(it) == jobtype.WorkerLossHold && !(sharedRouting(work) && it.Want.Node == "" && len(it.Want.Labels) == 0)
}
