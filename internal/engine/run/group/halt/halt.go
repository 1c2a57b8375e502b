// Package halt has the state of a group in which nothing starts: for good, until its window opens again, or until a
// worker comes.
package halt

import (
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/reasons"
)

// Cause is the cause of a halt.
type Cause string

// The causes.
const (
	None     Cause = ""
	Deadline Cause = "deadline"
	Window   Cause = "window"
	Canceled Cause = "canceled"
	Budget   Cause = "budget"
	Lost     Cause = "lost" // a worker, under recovery: fail
)

// Ends is the final state of jobs that do not run.
func (c Cause) Ends() run.State {
	switch c { //nolint:exhaustive // the others only keep jobs from starting
	case Canceled:
		return run.Canceled
	case Lost:
		return run.Failed
	}
	return run.NotStarted
}

// Halt is the state of a group. The zero value lets jobs start.
type Halt struct {
	// Cause is None while jobs may start.
	Cause Cause          `json:"stopping,omitempty"`
	Why   reasons.Reason `json:"why,omitzero"`
	// Leaving: the window has closed, and attempts still run. Away: the group has given its turn back and waits for
	// another one.
	Leaving bool `json:"leaving,omitempty"`
	Away    bool `json:"away,omitempty"`
	// Unplaced: it is away because no worker exists for any of its jobs.
	Unplaced bool `json:"unplaced,omitempty"`
}

// On reports whether nothing starts.
func (h *Halt) On() bool { return h.Cause != None }

// OutOfTime reports whether max_runtime or the window is over.
func (h *Halt) OutOfTime() bool { return h.Cause == Deadline || h.Cause == Window }

// Takes reports whether a stop with this cause changes anything. A group that leaves is stopped by all but a window.
func (h *Halt) Takes(cause Cause) bool { return h.Cause == None || h.Leaving && cause != Window }

// Stop stops the group for good. It reports whether the group was to come back.
func (h *Halt) Stop(cause Cause, why reasons.Reason) (returned bool) {
	returned = h.Away || h.Leaving
	*h = Halt{Cause: cause, Why: why}
	return returned
}

// Suspend stops the group until its next window.
func (h *Halt) Suspend(why reasons.Reason) { h.Cause, h.Why, h.Leaving = Window, why, true }

// Stay ends a suspension before the group is away: the window is open.
func (h *Halt) Stay() { *h = Halt{} }

// Leave makes the group wait for another turn. Unplaced: for a worker.
func (h *Halt) Leave(unplaced bool) { *h = Halt{Away: true, Unplaced: unplaced} }

// Return is the next turn.
func (h *Halt) Return() { h.Away, h.Unplaced = false, false }
