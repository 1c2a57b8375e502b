package run

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/run/rollover"
)

// Observe tells the engine how long the workflow's history is, in events and
// bytes, and how many bytes of decisions are not in it yet. Call it before events.
func (e *Engine) Observe(now time.Time, events, bytes, ordered int) {
	history := rollover.History{Events: events, Bytes: bytes, Ordered: ordered, Busy: e.Busy()}
	if again := e.roll.Observe(now, history, func() bool { return e.allYoung(now) }); !again.IsZero() {
		e.timers.Push(timer{at: again, kind: timerWake})
	}
}

// allYoung reports whether nothing in flight has shown that it takes long. It is
// asked only while the history is long enough to continue as new.
func (e *Engine) allYoung(now time.Time) bool {
	//workflowcheck:ignore a conjunction does not depend on the order
	for _, it := range e.flight {
		if it.Want.Idle {
			continue
		}
		if it.Phase == PhaseGrace || now.Sub(it.StartedAt) > rollover.Drain {
			return false
		}
	}
	return true
}

// ShouldContinueAsNew reports whether this is a moment to continue as new.
func (e *Engine) ShouldContinueAsNew() bool {
	return e.roll.Holds() && len(e.flight) == e.idle
}

// Rolling reports whether nothing may start, so that the run can continue as new.
func (e *Engine) Rolling() bool { return e.roll.Holds() }

// ChangedAt is when an item changed last, or the source did.
func (e *Engine) ChangedAt() time.Time { return e.changedAt }

// Changed notes a change of the source's own.
func (e *Engine) Changed(now time.Time) { e.changedAt = latest(e.changedAt, now) }

// Progressed marks that something of the source's own has happened.
func (e *Engine) Progressed() { e.roll.Progress() }
