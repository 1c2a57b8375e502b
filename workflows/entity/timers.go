package entity

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"
)

// Timers wake a workflow that waits in one coroutine. An unneeded timer fires without effect, which costs less than
// canceling it.
type Timers struct {
	set []timer
}

type timer struct {
	at     time.Time
	future workflow.Future
}

// SetBy wakes the workflow at that time, or before; never if it is zero.
func (t *Timers) SetBy(ctx workflow.Context, wake time.Time) {
	if wake.IsZero() || slices.ContainsFunc(t.set, func(known timer) bool { return !known.at.After(wake) }) {
		return
	}
	// The server rounds timers up to whole milliseconds; one more makes sure that the moment is over.
	wait := max(wake.Sub(workflow.Now(ctx)), 0) + time.Millisecond
	t.set = append(t.set, timer{at: wake, future: workflow.NewTimerWithOptions(ctx, wait, workflow.TimerOptions{
		Summary: "look again at " + wake.UTC().Format(time.TimeOnly),
	})})
}

// Fired reports whether a timer has fired since [Timers.ClearFired].
func (t *Timers) Fired() bool {
	return slices.ContainsFunc(t.set, func(known timer) bool { return known.future.IsReady() })
}

// ClearFired removes the timers that have fired, and reports whether there were any.
func (t *Timers) ClearFired() bool {
	before := len(t.set)
	t.set = slices.DeleteFunc(t.set, func(known timer) bool { return known.future.IsReady() })
	return len(t.set) < before
}
