package flow

import (
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/placement"
)

// want is what all tasks of the class ask of a worker.
func (c *class) want() placement.Want[Offer] {
	return placement.Want[Offer]{
		Node: c.node, Labels: c.labels, Handler: c.handler, Slots: c.slots, Total: func(o Offer) int { return o.Slots },
	}
}

// hear takes what the worker of an attempt said about what it runs for others.
func (f *Flow) hear(t *task, said placement.Report, now time.Time) {
	if t.class != nil && f.fleet.Hear(t.worker, t.instance, t.class.handler, said, now) {
		f.unblock()
	}
}

// Beat is what a probed worker's heartbeat says: slots in use, whoever uses them.
type Beat struct {
	// At is its time by the worker's clock; zero: nobody knows.
	At   time.Time
	Used int
}

// hearBeat takes it in. What the run has there itself is known better.
func (f *Flow) hearBeat(id, instance string, beat Beat, now time.Time) {
	if f.fleet.HearUsed(id, instance, beat.At, beat.Used, now) {
		f.unblock()
	}
}

// Welcome says that a worker which sent a task back has a free slot for that
// handler.
func (f *Flow) Welcome(now time.Time, id, instance, handler string, said placement.Report) []Decision {
	f.begin()
	if f.fleet.Welcome(id, instance, handler, said, now) {
		f.unblock()
	}
	f.fireTimers(now)
	return f.advance(now)
}

// refused remembers that a task found no room on its worker. One that looks free
// nevertheless cools down; one that is known to be full need not.
func (f *Flow) refused(t *task, silent bool, now time.Time) {
	if t.class != nil && f.fleet.Refused(t.worker, t.instance, t.class.want(), silent, now) {
		f.cool(t, placement.CoolDown, now)
	}
}

// wakeToTry makes sure that a worker which looks full is tried in time; a zero
// time: there is none.
func (f *Flow) wakeToTry(at time.Time) {
	if !at.IsZero() && !f.tryAt.Equal(at) {
		f.tryAt = at
		f.timers.push(timer{at: at, kind: timerTry, task: dag.None})
	}
}
