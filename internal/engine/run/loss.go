package run

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// workerLost handles an attempt whose worker has gone silent. It is adopted if the worker may
// still run it. Otherwise it gets a moment in which its worker may deliver the outcome.
func (e *course) workerLost(it *item, end Ending, now time.Time) {
	it.Ran = true
	if it.Phase == PhaseRunning && it.Abandoned == it.Attempt {
		it.Lost = end // Its worker is abandoned, so there is nothing to wait for.
		e.lose(it, true, now)
		return
	}
	e.Suspect(now, it.Worker, it.Instance)
	if it.Phase == PhaseRunning && end.Gone {
		it.Lost = end
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
	it.Phase, it.Lost, it.WaitsAt = PhaseGrace, end, now
	e.Changed(now)
	e.timers.Push(timer{at: now.Add(Grace), kind: timerGrace, item: it.ID, attempt: it.Attempt})
}

// adopts moves the attempt to another activity, if its process may still run it. A server that
// was away times out every attempt whose handler has continued; none of them must lose its work.
// The attempt stays in flight meanwhile.
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
	it.Lost = end
	e.decide(Decision{
		Kind: Adopt, Item: it.ID, Attempt: it.Attempt, Adoption: it.Adoptions, Worker: it.Worker, Instance: it.Instance, Work: it.Work,
		Fence: it.Sent, Timeout: left, HeartbeatTimeout: e.heartbeat(it), At: now,
	})
	if it.Canceling != "" { // The new activity has no record of it.
		e.decide(Decision{Kind: Cancel, Item: it.ID, Attempt: it.Attempt, Worker: it.Worker, Reason: it.Canceling})
	}
	return true
}

// adoptionFailed handles an attempt that could not be adopted. If its worker has no record of
// it, the worker does not count as lost.
func (e *course) adoptionFailed(it *item, end Ending, now time.Time) {
	if it.Phase != PhaseRunning {
		e.refit(it, now)
		return
	}
	if it.Lost.Message == "" {
		it.Lost = end
	}
	e.lose(it, end.Failure == contract.FailureNotTaken, now)
}

// lose continues without a lost attempt; counted means that its worker was lost.
func (e *course) lose(it *item, counted bool, now time.Time) {
	lost := it.Lost
	it.Lost = Ending{}
	if counted {
		it.Losses++
	}
	policy := e.work[it.Work].Policy
	message := clip(lost.Message)
	limit := policy.WorkerLossLimit
	fatal, failsAtOnce := policy.Recovery == jobtype.RecoveryFail, e.onWorkerLoss(it) == jobtype.WorkerLossFail
	fails := fatal || failsAtOnce || it.Losses > limit
	holds := !fails && e.holds(it) && it.Worker != "" && e.stopped == Open && it.Canceling == ""
	verdict := Replaced
	switch {
	case fails:
		verdict = Terminated
	case holds:
		verdict = Delayed
	}
	e.Note(Note{Verdict: verdict, Code: contract.CodeWorkerLost, Item: it.ID, Detail: message})
	switch {
	case fails && it.Canceling != "":
		e.endCanceled(it, "", now)
	case fatal:
		e.fatal = true
		e.settleWith(it, Failed, message+explain.TextRecoveryFails, Ending{Failure: contract.FailureWorkerLost}, now)
	case failsAtOnce:
		e.settle(it, Failed, message+explain.TextLossFails, now)
	case fails:
		e.settle(it, Failed, explain.TextLostTooOften(message, it.Losses, limit), now)
	case holds:
		e.release(it)
		e.leave(it)
		it.Phase, it.Error, it.WaitsAt = PhaseLost, message, now
		e.Changed(now)
		e.lost.Add(it.ID, it)
		if e.returned(it) {
			e.bringBack(it, now)
		}
	default:
		e.again(it, it.Worker, now)
		it.Error = message
	}
}

func (e *rules) onWorkerLoss(it *item) jobtype.OnWorkerLoss {
	return cmp.Or(it.OnWorkerLoss, e.work[it.Work].Policy.OnWorkerLoss)
}

// holds reports whether a lost item waits for the worker that lost it. An item of a shared queue
// cannot be sent there, so it is placed again.
func (e *rules) holds(it *item) bool {
	work := e.work[it.Work]
	return e.onWorkerLoss(it) == jobtype.WorkerLossHold && !(sharedRouting(work) && it.Want.Node == "" && len(it.Want.Labels) == 0)
}
