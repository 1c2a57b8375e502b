package dispatch

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// dispatch starts what may start, highest priority first.
func (g *Group) dispatch(now time.Time) {
	if g.paused || g.rollover.Hold || g.stopping != stopNone {
		return
	}
	g.parkHeads(now)
	for g.inFlight < g.cfg.Policy.GlobalExecutionConcurrency && !g.rollover.Hold {
		c := g.queue.next()
		if c == nil {
			return
		}
		g.place(c, now)
	}
}

// place starts the first job of a class, or marks the class as blocked.
func (g *Group) place(c *class, now time.Time) {
	j := c.heap[0]
	if j.class() != c.key {
		c.pop() // It gave up what it was granted, and has to ask again.
		j.queued = true
		g.queue.push(j)
		return
	}
	if at := j.Proposal.ExpiresAt; !j.Ran && !at.IsZero() && !now.Before(at) {
		g.finish(c.pop(), StateExpired, "expires_at passed before it could start", now)
		return
	}
	if !g.fits(j, now) {
		g.park(c.pop(), now)
		return
	}
	turn := g.workers.Turn
	found := g.find(c, j, now)
	if found.Worker == nil && !(found.Possible && (c.dag || g.shared())) {
		c.blockedAt = g.queue.epoch
		g.wakeToTry(found.Again)
		g.noteNoWorker(c, found.Possible, now)
		return
	}
	g.noteWait(placement.NoteNoWorker, wholeGroup, g.noWorkerText(c), c.noWorkerSince, now)
	c.noWorkerSince = time.Time{}
	switch asks := g.needsDoor(j); {
	case asks && g.doors >= g.cfg.Policy.GlobalExecutionConcurrency-g.inFlight, !asks && !g.hasFence(j):
		g.workers.Turn, c.blockedAt = turn, g.queue.epoch
		return
	case asks:
		g.ask(c.pop(), now)
		return
	}
	g.start(c.pop(), found.Worker, now)
}

func (g *Group) shared() bool { return g.cfg.Policy.Routing == jobtype.RoutingShared }

func (g *Group) find(c *class, j *job, now time.Time) placement.Choice[Worker] {
	switch {
	case c.dag: // What runs on workers are its tasks, which are placed by themselves.
		return placement.Choice[Worker]{Possible: true}
	case g.shared():
		return placement.Choice[Worker]{Possible: g.workers.sharedPossible()}
	}
	want := g.kind()
	want.Node, want.Labels, want.Avoid, want.PerWorker = c.node, c.labels, j.Avoid, g.cfg.Policy.PerWorkerExecutionConcurrency
	return g.workers.Pick(want, now)
}

func (g *Group) start(j *job, w *worker, now time.Time) {
	j.State, j.StartedAt, j.Error, j.Pin = StateRunning, now, "", ""
	j.Attempt++
	j.Resumed = len(j.Checkpoint) > 0
	j.Worker, j.Instance = "", ""
	if w != nil {
		j.Worker, j.Instance = w.ID, w.Instance
		w.Take(g.kind(), now)
	}
	g.inFlight++
	g.countDoor(j)
	g.rollover.progress = true
	j.Sent = g.nextFence(j)
	carries := g.bytesOf(j)
	g.rollover.room.Take(carries)
	g.rollover.Hold = g.rollover.Hold || g.rollover.room.Full()
	g.decide(StartJob{
		Bytes: carries, Job: j.N, Attempt: j.Attempt, ID: j.Worker, Instance: j.Instance,
		Proposal: &j.Proposal, Batch: g.batchOf(j), Checkpoint: j.Checkpoint, Fence: j.Sent,
		Timeout: j.timeout(g.cfg.Policy),
	})
}

// bytesOf estimates what an attempt carries.
func (g *Group) bytesOf(j *job) int {
	size := g.cfg.StartBytes + len(j.Checkpoint) + proposalBytes(j.Proposal)
	for _, item := range j.Items {
		size += len(item.DedupeKey) + len(item.Summary) + len(item.Detail) + len(item.Params)
	}
	return size
}

// noteNoWorker remembers since when nobody could serve a class. A job that
// finds no executor waits at most execution_timeout; one that is pinned to a
// node that is OFFLINE does not wait at all.
func (g *Group) noteNoWorker(c *class, possible bool, now time.Time) {
	if possible {
		c.noWorkerSince = time.Time{}
		return
	}
	if w := g.workers.Find(c.node); w != nil && w.Offline {
		for c.settle() {
			j := c.pop()
			g.note(placement.Refused, placement.NoteNoWorker, j.N, "worker "+c.node+" is OFFLINE", 0)
			g.finish(j, StateFailed, fmt.Sprintf("it is pinned to worker %s, which is OFFLINE", c.node), now)
		}
		return
	}
	if c.noWorkerSince.IsZero() {
		c.noWorkerSince = now
		g.timers.push(timer{at: now.Add(g.cfg.Policy.ExecutionTimeout.Std()), kind: timerNoWorker, class: c.key})
	}
}

// failUnplaceable fails the jobs of a class that waited for a worker for
// execution_timeout, and comes back for those that joined later.
func (g *Group) failUnplaceable(key string, now time.Time) {
	c := g.queue.classes[key]
	if c == nil || c.noWorkerSince.IsZero() || !c.settle() {
		return
	}
	limit := g.cfg.Policy.ExecutionTimeout.Std()
	var later []*job
	for c.settle() {
		j := c.pop()
		if now.Sub(c.waitingSince(j)) < limit {
			later = append(later, j)
			continue
		}
		g.note(placement.Refused, placement.NoteNoWorker, j.N, g.noWorkerText(c), limit)
		g.finish(j, StateFailed, fmt.Sprintf("%s for %s", g.noWorkerText(c), g.cfg.Policy.ExecutionTimeout), now)
	}
	next := now.Add(limit)
	for _, j := range later {
		j.queued = true
		g.queue.push(j)
		if at := c.waitingSince(j).Add(limit); at.Before(next) {
			next = at
		}
	}
	if len(later) > 0 {
		g.timers.push(timer{at: next, kind: timerNoWorker, class: key})
	}
}

// seeAgain looks again for workers of the classes that had none. Placing jobs does
// so too, but nothing is placed while the group is full of other jobs, and a class
// of less urgent ones may wait long for its turn.
func (g *Group) seeAgain(now time.Time) {
	turn := g.workers.Turn
	for _, c := range g.queue.order {
		if !c.noWorkerSince.IsZero() && c.settle() && g.find(c, c.heap[0], now).Possible {
			g.noteWait(placement.NoteNoWorker, wholeGroup, g.noWorkerText(c), c.noWorkerSince, now)
			c.noWorkerSince = time.Time{}
		}
	}
	g.workers.Turn = turn
}

func (c *class) waitingSince(j *job) time.Time {
	if j.QueuedAt.After(c.noWorkerSince) {
		return j.QueuedAt
	}
	return c.noWorkerSince
}

// noWorkerText says what kind of worker is missing.
func (g *Group) noWorkerText(c *class) string {
	switch {
	case g.shared():
		return fmt.Sprintf("no worker pulls the shared queue of %s (start one with --shared %s)", g.cfg.JobType, g.cfg.JobType)
	case c.node != "":
		return fmt.Sprintf("worker %s is not available", c.node)
	case len(c.labels) > 0:
		return fmt.Sprintf("no worker with handler %s and labels %s is available", g.cfg.Handler, placement.Labels(c.labels))
	}
	return fmt.Sprintf("no worker with handler %s is available", g.cfg.Handler)
}

// resumeHeld places held jobs again once their worker is back, or at once if
// the policy does not hold any more.
func (g *Group) resumeHeld(now time.Time) {
	still := g.held[:0]
	for _, j := range g.held {
		if j.State != StateHeld {
			continue
		}
		w := g.workers.Find(j.Worker)
		switch {
		case !g.holds():
			g.again(j, j.Worker, now)
		case w != nil && w.Alive():
			j.Pin = w.ID
			g.again(j, "", now)
		default:
			still = append(still, j)
		}
	}
	g.held = still
}
