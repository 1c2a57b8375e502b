package entity

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// Continuing as new is the one moment in which an entity can keep others waiting.
// A message that comes while the closing workflow task runs makes the server refuse
// it (UnhandledCommand). Until the next task is over, which begins with a replay of
// the whole history, the server turns all messages away as "workflow is closing",
// and tries them again after a second or more. So a run closes in a moment in which
// no message comes: the longer the history, the shorter the pause that is taken for
// one.

// Limits end a run however busy it is. The server's own limits are 51,200 events,
// 50 MiB, and 10,000 signals a run: it loses those beyond.
type Limits struct {
	Events, Bytes, Messages int
}

// DefaultLimits stay below the server's by a fifth.
func DefaultLimits() Limits { return Limits{Events: 40_000, Bytes: 16 << 20, Messages: 8_000} }

// lull is after how long without a message a run of that length may end.
func lull(events int) time.Duration {
	switch {
	case events >= 24_000:
		return 50 * time.Millisecond
	case events >= 12_000:
		return 250 * time.Millisecond
	}
	return time.Second
}

// Full reports whether the run must continue as new now. That is so at a limit. It is also so
// after a suggestion of the server or a cancellation, as soon as no message has come for a
// moment and idle is true: nothing is left to send. Full sets a timer for that moment.
func (l *Loop) Full(limits Limits, idle bool) bool {
	info := workflow.GetInfo(l.ctx)
	if info.GetCurrentHistoryLength() >= limits.Events || info.GetCurrentHistorySize() >= limits.Bytes || l.received >= limits.Messages {
		return true
	}
	if !info.GetContinueAsNewSuggested() && !l.canceled {
		return false
	}
	quietAt := l.lastReceived.Add(lull(info.GetCurrentHistoryLength()))
	if now := l.Now(); quietAt.After(now) {
		l.timers.SetBy(l.ctx, quietAt)
		return false
	}
	return idle && l.predecessor == nil && l.Audit.Idle()
}
