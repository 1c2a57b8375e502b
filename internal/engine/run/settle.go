package run

import "time"

// Stop settles every item that does not run in state, and every later start or retry.
func (e *Engine) Stop(now time.Time, state State, reason string) {
	e.stopped, e.stopReason, e.suspended = state, reason, false
	for _, it := range byID(e.items) {
		if !it.inFlight() {
			e.settle(it, state, reason, now)
		}
	}
}

// Stopped reports whether [Engine.Stop] is in force.
func (e *rules) Stopped() bool { return e.stopped != Open }

// CancelRunning cancels every attempt in flight because the run or its window is over.
func (e *Engine) CancelRunning(now time.Time, reason string) {
	for _, it := range byID(e.flight) {
		if it.Phase == PhaseRunning {
			it.Cut = it.Cut || it.Canceling == ""
			e.cancel(it, reason, now)
		}
	}
}

func (e *course) settle(it *item, state State, message string, now time.Time) {
	e.settleWith(it, state, message, Ending{}, now)
}

func (e *course) settleWith(it *item, state State, message string, end Ending, now time.Time) {
	e.Changed(now)
	late := it.Phase == PhaseLate
	e.noteSettled(it, state, message, late)
	e.leave(it)
	e.release(it)
	e.forgetCheckpoint(it)
	delete(e.items, it.ID)
	e.reports = append(e.reports, Report{
		Kind: Settled, Item: it.ID, State: state, Message: clip(message), Ending: end, Attempt: it.Attempt, Worker: it.Worker,
		Cut: it.Cut, Late: late, Resumed: it.Resumed, Checkpoint: it.Checkpoint, Done: it.Done, StartedAt: it.StartedAt,
	})
	if len(e.settled) < maxSettled {
		e.settled = append(e.settled, it)
	}
	e.roll.Progress()
}

func (e *board) leave(it *item) {
	switch it.Phase {
	case PhaseRunning, PhaseGrace:
		delete(e.flight, it.ID)
		if it.Want.Idle {
			e.idle--
		}
		if w := e.fleet.release(it, e.work[it.Work].Handler); w != nil {
			e.endProbe(it, w)
			e.freed = append(e.freed, w)
		}
	case PhaseLate:
		e.late--
	case PhaseLost:
		e.lost.Remove(it.ID)
	case PhaseNone, PhaseWaiting, PhaseQueued, PhaseAsking, PhaseGranted, PhaseDue:
	}
	e.dequeue(it)
	e.gate.Remove(it.ID)
	it.Phase = PhaseNone
}

func (e *board) dequeue(it *item) {
	c := it.class
	if c == nil {
		return
	}
	if it.at >= 0 {
		c.items.Remove(it)
	}
	it.class = nil
	e.touch(c)
}
