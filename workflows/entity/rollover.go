package entity

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// A message that arrives during the closing workflow task makes the server refuse the task (UnhandledCommand). The
// server then rejects all messages as "workflow is closing" until the next task has replayed the whole history. So a
// run closes when no message has come for a while. The longer the history, the shorter that while.

// Limits end even a busy run. The server's own limits are 51,200 events, 50 MiB, and 10,000 signals a run.
type Limits struct {
	Events, Bytes, Messages int
}

// DefaultLimits stay below the server's by a fifth.
func DefaultLimits() Limits { return Limits{Events: 40_000, Bytes: 16 << 20, Messages: 8_000} }

func lull(events int) time.Duration {
	switch {
	case events >= 24_000:
		return 50 * time.Millisecond
	case events >= 12_000:
		return 250 * time.Millisecond
	}
	return time.Second
}

// Full reports whether the run must continue as new now: at a limit, or after a suggestion of the server or a
// cancellation, once no message has come for a moment and idle is true.
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
