package run

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/instant"
)

type timerKind uint8

const (
	timerReady    timerKind = iota // an item's time has come
	timerExpire                    // expires_at has passed
	timerGrace                     // the wait for the outcome of a lost attempt is over
	timerForget                    // a canceled attempt has not ended
	timerFit                       // an item no longer fits before the closing
	timerCool                      // a worker's pause is over
	timerTry                       // a worker that looks full may be tried
	timerNoWorker                  // a class has had no worker for too long
	timerProof                     // a failing worker has run a program for a while
	timerWake                      // something must be evaluated
)

// Whether a timer still matters is decided when it fires.
type timer struct {
	at      time.Time
	kind    timerKind
	item    int
	attempt int
	class   string
}

// Compare is complete, so that simultaneous timers fire in the same order after Restore.
func (t timer) Compare(o timer) int {
	return cmp.Or(
		t.at.Compare(o.at), cmp.Compare(t.kind, o.kind), cmp.Compare(t.item, o.item),
		cmp.Compare(t.attempt, o.attempt), cmp.Compare(t.class, o.class),
	)
}

// NextWake returns the time by which Tick must be applied; zero if nothing is pending.
func (e *views) NextWake() time.Time {
	for len(e.timers) > 0 && !e.matters(e.timers[0]) {
		e.timers.Pop()
	}
	if len(e.timers) == 0 {
		return time.Time{}
	}
	return e.timers[0].at
}

// matters keeps the run from waking in vain.
func (e *views) matters(t timer) bool {
	switch t.kind {
	case timerCool:
		w := e.fleet.byID[t.class]
		return w != nil && w.coolUntil.Equal(t.at)
	case timerTry:
		c := e.classes[t.class]
		return c != nil && c.tryAt.Equal(t.at)
	case timerNoWorker:
		c := e.classes[t.class]
		return c != nil && !c.noWorkerSince.IsZero() && c.failAt.Equal(t.at)
	case timerProof:
		w := e.fleet.byID[t.class]
		return w != nil && w.starts.Probing && w.starts.ProofAt.Equal(t.at)
	case timerWake:
		return true
	case timerReady, timerExpire, timerGrace, timerForget, timerFit:
	}
	it := e.items[t.item]
	if it == nil {
		return false
	}
	switch t.kind { //nolint:exhaustive // the others are above
	case timerReady:
		return it.Phase == PhaseWaiting && t.at.Equal(it.ReadyAt)
	case timerExpire:
		return !it.inFlight() && !it.Ran && t.at.Equal(it.ExpiresAt)
	case timerGrace:
		return it.Phase == PhaseGrace && it.Attempt == t.attempt
	case timerForget:
		return it.Phase == PhaseRunning && it.Attempt == t.attempt && it.Canceling != ""
	}
	return !it.inFlight() && it.Phase != PhaseLate && it.Phase != PhaseLost && !e.closing.At.IsZero() &&
		t.at.Equal(e.closing.At.Add(time.Millisecond-e.estimate(it)))
}

// minTimers is the number of timers below which a sweep does not pay.
const minTimers = 1 << 10

// sweepTimers: an item that is placed repeatedly leaves some stale timers each time.
func (e *views) sweepTimers() {
	if len(e.timers) < 2*max(e.swept, minTimers) {
		return
	}
	e.timers = slices.DeleteFunc(e.timers, func(t timer) bool { return !e.matters(t) })
	slices.SortFunc(e.timers, timer.Compare)
	e.timers = slices.CompactFunc(e.timers, func(a, b timer) bool { return a.Compare(b) == 0 })
	e.swept = len(e.timers)
}

func (e *Engine) fireTimers(now time.Time) {
	e.sweepTimers()
	for len(e.timers) > 0 && !e.timers[0].at.After(now) {
		if t := e.timers.Pop(); e.matters(t) {
			e.roll.Progress()
			e.fire(t, now)
		}
	}
}

func (e *Engine) fire(t timer, now time.Time) {
	it, c := e.items[t.item], e.classes[t.class]
	switch t.kind {
	case timerReady:
		e.due(it, t.at, now)
	case timerExpire:
		e.settle(it, Expired, explain.TextExpired, now)
	case timerGrace:
		e.lose(it, true, now)
	case timerForget:
		e.forget(it, now)
	case timerFit:
		if !e.fits(it, instant.Later(now, it.ReadyAt)) {
			e.park(it, now)
		}
	case timerCool:
		w := e.fleet.byID[t.class]
		w.coolUntil = time.Time{}
		e.rerank(w, now)
	case timerTry:
		c.tryAt = time.Time{}
		e.touch(c)
	case timerNoWorker:
		e.failUnplaceable(c, now)
	case timerProof:
		e.clearStarts(e.fleet.byID[t.class])
	case timerWake:
	}
}
