package flow

import (
	"time"

	"github.com/roundsman/roundsman/internal/history"
)

// Figures of continue-as-new. The server suggests it at 4,096 events and
// terminates a run at 51,200 events or 50 MiB; carrying the state over costs
// more than the longer history does until about 20,000 events.
const (
	rollSoftEvents = 20_000
	// rollHardEvents is where nothing new is started: with 500 tasks in flight,
	// their ends and the workflow tasks in between stay below 45,000.
	rollHardEvents = 40_000
	// rollRetryEvents is how much later a drain that took too long is tried again.
	rollRetryEvents = 5_000
	// bytesPerEvent counts a long history of large events as a longer one: 20,000
	// stands for 10 MiB. That nothing is started for which there is no room at all
	// is [history.Room]'s.
	bytesPerEvent = 512
	// rollDrain is how long tasks are kept from starting, and how short tasks must
	// be on average, for the sake of continuing as new before the hard limit
	// forces it.
	rollDrain = 5 * time.Second
)

// rollover prepares continue-as-new: nothing may be in flight then.
type rollover struct {
	// hold keeps attempts from starting.
	hold bool
	// since is when hold began, next the length at which it is tried again.
	since time.Time
	next  int
	// length of the history, in events.
	length int
	room   history.Room
	// progress: something was reported since the workflow run began. Without it
	// a run could continue as new for ever and start nothing.
	progress bool
	// mean is a moving average of how long attempts took.
	mean time.Duration
}

// Observe tells how long the workflow's history is, and how many bytes of decisions
// are not in it yet. Call it before each step.
func (f *Flow) Observe(events, bytes, ordered int) {
	f.roll.length = max(events, bytes/bytesPerEvent)
	f.roll.room.Observe(bytes, ordered, f.inFlight)
}

func (f *Flow) updateHold(now time.Time) {
	r := &f.roll
	soft := rollSoftEvents
	if f.cfg.RollEvents > 0 {
		soft = f.cfg.RollEvents
	}
	switch {
	case r.room.Full() && f.inFlight > 0:
		r.hold = true
	case r.length < max(soft, r.next) || !r.progress:
		r.hold = false
	case r.length >= rollHardEvents:
		r.hold = true
	case r.hold && now.Sub(r.since) > rollDrain:
		r.hold, r.next = false, r.length+min(rollRetryEvents, soft)
	case !r.hold && (f.inFlight == 0 || r.mean <= rollDrain && f.allYoung(now)):
		r.hold, r.since = true, now
		if f.inFlight > 0 {
			f.timers.push(timer{at: now.Add(rollDrain + time.Millisecond), kind: timerWake})
		}
	}
}

// allYoung reports whether nothing in flight has shown that it takes long. It is
// asked only while the history is long enough to continue as new.
func (f *Flow) allYoung(now time.Time) bool {
	//workflowcheck:ignore a conjunction does not depend on the order
	for _, t := range f.live {
		if t.phase == phaseRecalling || t.phase == phaseRunning && (t.definition.SubDAG != nil || now.Sub(t.startedAt) > rollDrain) {
			return false
		}
	}
	return true
}

// ShouldContinueAsNew reports whether this is the moment to continue as new.
func (f *Flow) ShouldContinueAsNew() bool {
	return f.roll.hold && f.inFlight == 0 && len(f.lookups) == 0 && f.roll.progress && !f.run.Finished()
}

// learn keeps a moving average of how long attempts take.
func (r *rollover) learn(took time.Duration) {
	if r.mean == 0 {
		r.mean = took
		return
	}
	r.mean += (took - r.mean) / 8
}
