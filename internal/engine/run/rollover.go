package run

import (
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Figures of continue-as-new. The server suggests it at 4,096 events and
// terminates a run at 51,200 events or 50 MiB; carrying the state over costs more
// than the longer history does until about 20,000 events.
const (
	rollSoftEvents = 20_000
	// rollHardEvents is where nothing new starts: with 500 items in flight, their
	// ends and the workflow tasks in between stay below 45,000.
	rollHardEvents = 40_000
	// rollRetryEvents is how much later a drain that took too long is tried again.
	rollRetryEvents = 5_000
	// bytesPerEvent counts a history of large events as a longer one: 20,000 events
	// stand for 10 MiB.
	bytesPerEvent = 512
	// rollDrain is how long items are kept from starting, and how short they must be
	// on average, for the sake of continuing as new before the hard limit forces it.
	rollDrain = 5 * time.Second
	// maxHistoryBytes stays below the server's 50 MiB by what messages, timers and
	// control activities may add while nothing more starts.
	maxHistoryBytes = 46 << 20
	// endBytes is what the end of an attempt writes at most, attemptBytes what it
	// writes besides what it carries and returns.
	endBytes     = jobtype.MaxResultBytes + 2<<10
	attemptBytes = 1 << 10
)

// rollover prepares continue-as-new: nothing may be in flight then.
type rollover struct {
	soft int
	// hold keeps attempts from starting, since when, and from which length on the
	// next try is made.
	hold  bool
	since time.Time
	next  int
	// given is the size of the history at the beginning, -1 before it is known: a large
	// state that the workflow run was given must not make it a short one.
	given int
	// progress: something has happened since the workflow run began. Without it a
	// run with a small limit could continue as new for ever and start nothing; one
	// that only waits continues as new at the usual length.
	progress bool
	// mean is a moving average of how long attempts took.
	mean time.Duration
	// left is what room there is in the history, in bytes, once it is bounded.
	left    int
	bounded bool
}

// Observe tells the engine how long the workflow's history is, in events and
// bytes, and how many bytes of decisions are not in it yet. Call it before events.
func (e *Engine) Observe(now time.Time, events, bytes, ordered int) {
	r := &e.roll
	busy := len(e.flight) - e.idle
	r.left, r.bounded = maxHistoryBytes-bytes-ordered-busy*endBytes, true
	if r.given < 0 {
		r.given = bytes
	}
	length := max(events, (bytes-r.given)/bytesPerEvent)
	switch {
	case r.left <= 0 && busy > 0:
		r.hold = true
	case length < max(r.soft, r.next) || !r.progress && length < rollSoftEvents:
		r.hold = false
	case length >= rollHardEvents:
		r.hold = true
	case r.hold && now.Sub(r.since) > rollDrain:
		r.hold, r.next = false, length+min(rollRetryEvents, r.soft)
	case !r.hold && (busy == 0 || r.mean <= rollDrain && e.allYoung(now)):
		r.hold, r.since = true, now
		if busy > 0 {
			e.timers.Push(timer{at: now.Add(rollDrain + time.Millisecond), kind: timerWake})
		}
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
		if it.Phase == PhaseGrace || now.Sub(it.StartedAt) > rollDrain {
			return false
		}
	}
	return true
}

// ShouldContinueAsNew reports whether this is a moment to continue as new.
func (e *Engine) ShouldContinueAsNew() bool {
	return e.roll.hold && len(e.flight) == e.idle
}

// Rolling reports whether nothing may start, so that the run can continue as new.
func (e *Engine) Rolling() bool { return e.roll.hold }

// started counts an attempt that starts now and carries so many bytes.
func (r *rollover) started(carries int) {
	r.progress = true
	r.left -= carries + attemptBytes + endBytes
	r.hold = r.hold || r.bounded && r.left <= 0
}

// learn keeps a moving average of how long attempts take.
func (r *rollover) learn(took time.Duration) {
	if r.mean == 0 {
		r.mean = took
		return
	}
	r.mean += (took - r.mean) / 8
}

// ChangedAt is when an item changed last, or the source did.
func (e *Engine) ChangedAt() time.Time { return e.changedAt }

// Changed notes a change of the source's own.
func (e *Engine) Changed(now time.Time) { e.changedAt = latest(e.changedAt, now) }

// Progressed marks that something of the source's own has happened.
func (e *Engine) Progressed() { e.roll.progress = true }
