package dispatch

import (
	"time"

	"github.com/roundsman/roundsman/internal/history"
)

// Figures of continue-as-new. The server suggests it at 4,096 events and
// terminates a run at 51,200; carrying the state over costs more than the longer
// history does until about 20,000 events. How many bytes it has is [history.Room]'s.
const (
	rollSoftEvents = 20_000
	rollHardEvents = 45_000
	// rollRetryEvents is how much later a drain that took too long is tried
	// again.
	rollRetryEvents = 5_000
	// rollDrain is how long jobs are kept from starting, and how short jobs must
	// be on average, for the sake of continuing as new before the hard limit
	// forces it.
	rollDrain = 5 * time.Second
)

// rollover prepares continue-as-new: nothing may be in flight then.
type rollover struct {
	// Hold keeps jobs from starting.
	Hold bool
	// since is when Hold began, next the history length at which it is tried.
	since time.Time
	next  int
	// progress: this run of the workflow has started a job. One that has not
	// would continue as new for ever.
	progress bool
	room     history.Room
}

func (g *Group) softEvents() int {
	if g.cfg.RollEvents > 0 {
		return g.cfg.RollEvents
	}
	return rollSoftEvents
}

// Observe tells the group how long the workflow's history is, in events and bytes,
// and how many bytes of decisions are not in it yet. Call it before each
// [Group.Next].
func (g *Group) Observe(now time.Time, events, bytes, ordered int) {
	r := &g.rollover
	r.room.Observe(bytes, ordered, g.inFlight)
	full := events >= rollHardEvents || r.room.Full()
	switch {
	case g.phase != PhaseDispatching || !r.progress || !full && events < max(g.softEvents(), r.next):
		r.Hold = false
	case full:
		r.Hold = true
	case r.Hold && now.Sub(r.since) > rollDrain:
		r.Hold, r.next = false, events+rollRetryEvents
	case !r.Hold && g.meanJob <= rollDrain:
		r.Hold, r.since = true, now
		g.timers.push(timer{at: now.Add(rollDrain + time.Millisecond), kind: timerWake})
	}
}

// ShouldContinueAsNew reports whether this is the moment to continue as new.
func (g *Group) ShouldContinueAsNew() bool {
	return g.rollover.Hold && g.inFlight == 0 && g.phase == PhaseDispatching && g.open > 0
}

// reprobe asks again, after continue-as-new, about workers whose probe was lost
// with the old run.
func (g *Group) reprobe() {
	if !g.workers.restored {
		return
	}
	g.workers.restored = false
	for _, w := range g.workers.Members() {
		if w.Suspect {
			g.decide(ProbeWorker{ID: w.ID, Instance: w.Instance})
		}
	}
}
