package run

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/run/rollover"
)

// Observe sets the length of the history, and the bytes of decisions that are not in it yet. Call it before events.
func (e *views) Observe(now time.Time, events, bytes, ordered int) {
	history := rollover.History{Events: events, Bytes: bytes, Ordered: ordered, Busy: e.Busy()}
	if again := e.roll.Observe(now, history, func() bool { return e.allYoung(now) }); !again.IsZero() {
		e.timers.Push(timer{at: again, kind: timerWake})
	}
}

// allYoung is called only while the history is long enough to continue as new.
func (e *ledger) allYoung(now time.Time) bool {
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

// ShouldContinueAsNew reports whether the run can continue as new now.
func (e *ledger) ShouldContinueAsNew() bool {
	return e.roll.Holds() && len(e.flight) == e.idle
}

// Rolling reports whether nothing may start, so that the run can continue as new.
func (e *ledger) Rolling() bool { return e.roll.Holds() }

// ChangedAt returns the last change of an item or the source.
func (e *outbox) ChangedAt() time.Time { return e.changedAt }

// Changed records a change of the source.
func (e *outbox) Changed(now time.Time) { e.changedAt = instant.Later(e.changedAt, now) }

// Progressed records progress of the source.
func (e *ledger) Progressed() { e.roll.Progress() }
