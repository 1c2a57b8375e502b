package run

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/instant"
)

// Closing bounds the starts of items.
type Closing struct {
	// At is the time after which nothing may run; zero means no bound.
	At time.Time `json:"at,omitzero"`
	// Learned is the expected duration of an item without an estimate.
	Learned time.Duration `json:"learned,omitempty"`
}

// SetClosing sets the bound of starts.
func (e *course) SetClosing(now time.Time, closing Closing) {
	if e.closing.At.Equal(closing.At) && e.closing.Learned == closing.Learned {
		return
	}
	e.closing = closing
	e.retryLate(now)
	for _, it := range byID(e.items) {
		switch {
		case it.inFlight() || it.Phase == PhaseLost || it.Phase == PhaseLate:
		case !e.fits(it, instant.Later(now, it.ReadyAt)):
			e.park(it, now)
		default:
			e.watchClosing(it)
		}
	}
}

func (e *course) retryLate(now time.Time) {
	if e.late == 0 {
		return
	}
	for _, it := range byID(e.items) {
		if it.Phase == PhaseLate {
			e.enqueue(it, it.ReadyAt, now)
		}
	}
}

// park removes an item that does not end before the window closes: later it fits even less.
func (e *course) park(it *item, now time.Time) {
	e.leave(it)
	e.release(it)
	it.Phase, it.WaitsAt = PhaseLate, now
	e.late++
}

func (e *rules) fits(it *item, at time.Time) bool {
	closes := e.closing.At
	return closes.IsZero() || at.Before(closes) && !at.Add(e.estimate(it)).After(closes)
}

// maxDone bounds the progress of a checkpoint: an item that has not ended has some work left.
const maxDone = 99

// estimate returns the expected rest of an item's run. After a checkpoint it is the reported rest.
func (e *rules) estimate(it *item) time.Duration {
	whole := e.whole(it)
	if len(it.Checkpoint) > 0 && it.Done > 0 {
		return time.Duration(float64(whole) * (100 - min(it.Done, maxDone)) / 100)
	}
	return whole
}

func (e *rules) whole(it *item) time.Duration {
	if it.Estimate > 0 || e.closing.At.IsZero() && e.closing.Learned == 0 {
		return it.Estimate
	}
	return e.closing.Learned
}

func (e *course) refit(it *item, now time.Time) {
	if it.Phase == PhaseLate {
		e.enqueue(it, it.ReadyAt, now)
		return
	}
	e.watchClosing(it)
}

func (e *ledger) watchClosing(it *item) {
	if e.closing.At.IsZero() || it.inFlight() {
		return
	}
	e.timers.Push(timer{at: e.closing.At.Add(time.Millisecond - e.estimate(it)), kind: timerFit, item: it.ID})
}
