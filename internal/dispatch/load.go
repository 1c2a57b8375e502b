package dispatch

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
)

// kind is what all jobs of the group ask of a worker. They are alike, so how long
// some took says how soon a worker will have a slot for the next.
func (g *Group) kind() placement.Want[Worker] {
	return placement.Want[Worker]{Handler: g.cfg.Handler, Slots: Worker.places, Total: Worker.total, Ahead: true}
}

// total is how much the worker runs at once over all job types.
func (w Worker) total() int { return max(w.Total, w.Slots) }

// hear takes what the worker of an attempt said about what it runs for others.
func (g *Group) hear(j *job, said placement.Report, now time.Time) {
	if g.workers.Hear(j.Worker, j.Instance, g.cfg.Handler, said, now) {
		g.queue.unblock()
	}
}

// hearBeat takes what a probed worker's heartbeat says.
func (g *Group) hearBeat(e WorkerProbed, now time.Time) {
	if g.workers.HearUsed(e.ID, e.Instance, e.BeatAt, e.Used, now) {
		g.queue.unblock()
	}
}

func (e WorkerHasRoom) apply(g *Group, now time.Time) {
	if g.workers.Welcome(e.ID, e.Instance, g.cfg.Handler, e.Load, now) {
		g.queue.unblock()
	}
}

// refused remembers that a job found no room on its worker. One that looks free
// nevertheless cools down; one that is known to be full need not.
func (g *Group) refused(j *job, silent bool, now time.Time) {
	if g.workers.Refused(j.Worker, j.Instance, g.kind(), silent, now) {
		g.cool(j.Worker, j.Instance, CoolDown, now)
	}
}

// leaveDoorIfCrowded gives back what a job was granted that found no room on its
// worker, if no other has room either: others can use it meanwhile, and this may
// take hours. The job asks again when there is a worker for it.
func (g *Group) leaveDoorIfCrowded(j *job, now time.Time) {
	if j.Door != doorOpen {
		return
	}
	want := g.kind()
	want.PerWorker = g.cfg.Policy.PerWorkerExecutionConcurrency
	for _, w := range g.workers.Members() {
		if w.Alive() && w.Fits(j.node(), j.Proposal.Labels) && !w.CoolUntil.After(now) && w.Room(want) {
			return
		}
	}
	g.leaveDoor(j)
}

// node is the worker that the job is pinned to; "": any.
func (j *job) node() string { return cmp.Or(j.Pin, j.Proposal.Node) }

// wakeToTry makes sure that a worker which looks full is tried in time; a zero
// time: there is none. Of several classes the earliest counts: then all look again.
func (g *Group) wakeToTry(at time.Time) {
	if !at.IsZero() && (g.tryAt.IsZero() || at.Before(g.tryAt)) {
		g.tryAt = at
		g.timers.push(timer{at: at, kind: timerTry})
	}
}
