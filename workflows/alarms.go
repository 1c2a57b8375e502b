package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// alarms wake a workflow that waits in one coroutine. One that is no longer
// needed rings for nothing, which costs less than canceling it.
type alarms struct {
	set []alarm
}

type alarm struct {
	at    time.Time
	timer workflow.Future
}

// armAt makes sure that the workflow is woken at that time, or before; never if
// it is zero.
func (a *alarms) armAt(ctx workflow.Context, wake time.Time) {
	if wake.IsZero() {
		return
	}
	for _, known := range a.set {
		if !known.at.After(wake) {
			return
		}
	}
	// The server rounds timers up to whole milliseconds; one more makes sure
	// that the moment is over when it fires.
	wait := max(wake.Sub(workflow.Now(ctx)), 0) + time.Millisecond
	a.set = append(a.set, alarm{at: wake, timer: workflow.NewTimerWithOptions(ctx, wait, workflow.TimerOptions{
		Summary: "look again at " + wake.UTC().Format(time.TimeOnly),
	})})
}

// ringing reports whether one rings.
func (a *alarms) ringing() bool {
	for _, known := range a.set {
		if known.timer.IsReady() {
			return true
		}
	}
	return false
}

// hush forgets those that ring and reports whether there was one.
func (a *alarms) hush() bool {
	silent := a.set[:0]
	for _, known := range a.set {
		if !known.timer.IsReady() {
			silent = append(silent, known)
		}
	}
	rang := len(silent) < len(a.set)
	a.set = silent
	return rang
}

// earlier returns the earlier of two times, of which a zero one is none.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}
