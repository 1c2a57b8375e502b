package run

import "time"

// Closing bounds when items may start.
type Closing struct {
	// At is when nothing may run any more; zero: no bound.
	At time.Time `json:"at,omitzero"`
	// Learned is how long an item without an estimate is taken to run.
	Learned time.Duration `json:"learned,omitempty"`
}

// SetClosing bounds when items may start.
func (e *Engine) SetClosing(now time.Time, closing Closing) {
	if e.closing.At.Equal(closing.At) && e.closing.Learned == closing.Learned {
		return
	}
	e.closing = closing
	e.retryLate(now)
	for _, it := range e.sortedItems() {
		switch {
		case it.inFlight() || it.Phase == PhaseLost || it.Phase == PhaseLate:
		case !e.fits(it, latest(now, it.ReadyAt)):
			e.park(it, now)
		default:
			e.watchClosing(it)
		}
	}
}

// retryLate gives items that did not fit another chance.
func (e *Engine) retryLate(now time.Time) {
	if e.late == 0 {
		return
	}
	for _, it := range e.sortedItems() {
		if it.Phase == PhaseLate {
			e.leave(it)
			e.enqueue(it, it.ReadyAt, now)
		}
	}
}

// park takes an item out that does not fit before the window closes: later it
// fits even less.
func (e *Engine) park(it *item, now time.Time) {
	e.leave(it)
	e.release(it)
	it.Phase, it.WaitsAt = PhaseLate, now
	e.late++
}

// fits reports whether an item that starts at that time ends before the closing.
func (e *Engine) fits(it *item, at time.Time) bool {
	closes := e.closing.At
	return closes.IsZero() || at.Before(closes) && !at.Add(e.estimate(it)).After(closes)
}

// maxDone is the most that a checkpoint stands for: an item that has not ended has
// something left to do.
const maxDone = 99

// estimate is how long an item is taken to run from now on; 0: unknown. One that
// continues from a checkpoint needs what is left, if its handler reported that.
func (e *Engine) estimate(it *item) time.Duration {
	whole := e.whole(it)
	if len(it.Checkpoint) > 0 && it.Done > 0 {
		return time.Duration(float64(whole) * (100 - min(it.Done, maxDone)) / 100)
	}
	return whole
}

func (e *Engine) whole(it *item) time.Duration {
	if it.Estimate > 0 || e.closing.At.IsZero() && e.closing.Learned == 0 {
		return it.Estimate
	}
	return e.closing.Learned
}

// refit looks again at an item that waits: its rest may have become shorter.
func (e *Engine) refit(it *item, now time.Time) {
	if it.Phase == PhaseLate {
		e.leave(it)
		e.enqueue(it, it.ReadyAt, now)
		return
	}
	e.watchClosing(it)
}

// watchClosing has an item looked at when it no longer fits.
func (e *Engine) watchClosing(it *item) {
	if e.closing.At.IsZero() || it.inFlight() {
		return
	}
	e.timers.Push(timer{at: e.closing.At.Add(time.Millisecond - e.estimate(it)), kind: timerFit, item: it.ID})
}
