// Package clock has the times of a group: its beginning, its pauses, and the end of its max_runtime.
package clock

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/jobtype"
)

// Clock has the times of one group.
type Clock struct {
	CreatedAt time.Time `json:"created_at"`
	// StartedAt is the beginning of the first turn; zero before. TurnAt is that of the last one: max_runtime counts from
	// there.
	StartedAt time.Time `json:"started_at,omitzero"`
	TurnAt    time.Time `json:"turn_at,omitzero"`
	// PausedFor does not count against max_runtime.
	PausedFor time.Duration `json:"paused_for,omitempty"`
	// DrainOver: the attempts beyond the end were canceled.
	DrainOver bool `json:"drain_over,omitempty"`
	// LastTick is the time of the last event.
	LastTick time.Time `json:"last_tick,omitzero"`
	// Deadline is the end of max_runtime, HardStop that of the attempts that drain after it.
	Deadline time.Time `json:"-"`
	HardStop time.Time `json:"-"`
}

// New returns the times of a group that was created at now.
func New(now time.Time) Clock { return Clock{CreatedAt: now, TurnAt: now} }

// Begin starts a turn.
func (c *Clock) Begin(now time.Time, p jobtype.Policy) {
	c.TurnAt, c.PausedFor, c.DrainOver = now, 0, false
	if c.StartedAt.IsZero() {
		c.StartedAt = now
	}
	c.Bound(p)
}

// Bound computes the end by a policy.
func (c *Clock) Bound(p jobtype.Policy) {
	c.Deadline = c.TurnAt.Add(c.PausedFor + p.MaxRuntime.Std())
	c.HardStop = c.Deadline
	if Drains(p) {
		c.HardStop = c.Deadline.Add(p.DrainGrace.Std())
	}
}

// Drains reports whether running jobs may end after max_runtime.
func Drains(p jobtype.Policy) bool { return p.OnDeadline == jobtype.DeadlineDrain }

// Resume ends a pause that began at paused. Only its part in this turn counts.
func (c *Clock) Resume(paused, now time.Time, p jobtype.Policy) {
	c.PausedFor += now.Sub(instant.Later(paused, c.TurnAt))
	c.Bound(p)
}

// Left is the time until the end, or until the window closes; zero: it does not close.
func (c *Clock) Left(closes, now time.Time) time.Duration {
	return instant.Earlier(c.Deadline, closes).Sub(now)
}

// From is the beginning in a result.
func (c *Clock) From() time.Time {
	if c.StartedAt.IsZero() {
		return c.CreatedAt
	}
	return c.StartedAt
}
