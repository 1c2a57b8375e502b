package dispatch

import (
	"cmp"
	"container/heap"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

type timerKind uint8

const (
	timerDeadline timerKind = iota
	timerHardStop
	timerReady
	timerExpire
	timerRecall
	timerForget
	timerWake
	timerNoWorker
	timerReport
	timerClose
	timerDrained
	timerNoFit
	// timerTry: a worker that looks full may be tried.
	timerTry
	timerAway
)

// timer is a moment at which something must be looked at again. Whether it
// still matters is decided when it fires.
type timer struct {
	at      time.Time
	kind    timerKind
	job     int
	attempt int
	class   string
}

//nolint:recvcheck // as container/heap wants it: methods that change the length need the pointer
type timerHeap []timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].compare(h[j]) < 0 }
func (h timerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// compare orders timers completely, so that those of one moment fire in the
// same order after Restore.
func (t timer) compare(other timer) int {
	return cmp.Or(
		t.at.Compare(other.at), cmp.Compare(t.kind, other.kind), cmp.Compare(t.job, other.job),
		cmp.Compare(t.attempt, other.attempt), cmp.Compare(t.class, other.class),
	)
}

// Push implements heap.Interface.
func (h *timerHeap) Push(x any) {
	if t, ok := x.(timer); ok {
		*h = append(*h, t)
	}
}

// Pop implements heap.Interface.
func (h *timerHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (h *timerHeap) push(t timer) { heap.Push(h, t) }

// NextWake is when Next must be called at the latest even if nothing happens;
// zero if nothing is waited for.
func (g *Group) NextWake() time.Time {
	for len(g.timers) > 0 && !g.matters(g.timers[0]) {
		heap.Pop(&g.timers)
	}
	if len(g.timers) == 0 || g.phase == PhaseEnded {
		return time.Time{}
	}
	return g.timers[0].at
}

// matters drops timers whose reason has gone, so that the group is not woken
// for nothing.
func (g *Group) matters(t timer) bool {
	switch t.kind {
	case timerDeadline:
		return (g.stopping == stopNone || g.stopping == stopBudget) && !g.paused && t.at.Equal(g.deadline)
	case timerHardStop:
		return !g.paused && t.at.Equal(g.hardStop) && g.phase != PhaseAway
	case timerClose:
		return t.at.Equal(g.closes()) && g.phase != PhaseAway
	case timerDrained:
		return !g.closes().IsZero() && t.at.Equal(g.drained()) && g.phase != PhaseAway
	case timerAway:
		return g.phase == PhaseAway && t.at.Equal(g.startedAt.Add(MaxAway))
	case timerNoFit:
		return g.phase == PhaseDispatching && g.stopping == stopNone && t.at.Equal(g.noFitAt)
	case timerReady:
		return g.jobs[t.job-1].State == StatePending && !g.jobs[t.job-1].Late
	case timerExpire:
		return g.jobs[t.job-1].State == StatePending
	case timerRecall:
		j := g.jobs[t.job-1]
		return j.State == StateRecalling && j.Attempt == t.attempt
	case timerForget:
		j := g.jobs[t.job-1]
		return j.State == StateRunning && j.Attempt == t.attempt
	case timerReport:
		return t.at.Equal(g.reporter.DueAt)
	case timerTry:
		return t.at.Equal(g.tryAt)
	case timerWake, timerNoWorker:
	}
	return true
}

func (g *Group) fireTimers(now time.Time) {
	for len(g.timers) > 0 && !g.timers[0].at.After(now) {
		t, ok := heap.Pop(&g.timers).(timer)
		if ok && g.matters(t) {
			g.fire(t, now)
		}
	}
}

func (g *Group) fire(t timer, now time.Time) {
	switch t.kind {
	case timerDeadline:
		g.reachDeadline(now)
	case timerHardStop:
		g.cancelRunning("max_runtime and drain_grace are over", now)
	case timerClose:
		g.closeWindow(now)
	case timerDrained:
		g.cancelRunning("WINDOW_CLOSED: the window and drain_grace are over", now)
	case timerNoFit:
		g.parkLate(now)
	case timerReady:
		j := g.jobs[t.job-1]
		if !j.queued && !j.ReadyAt.After(now) {
			j.QueuedAt, j.queued = now, true
			g.queue.push(j)
		}
	case timerExpire:
		if j := g.jobs[t.job-1]; !j.Ran {
			g.finish(j, StateExpired, "expires_at passed before it could start", now)
		}
	case timerRecall:
		g.lose(g.jobs[t.job-1], now)
	case timerForget:
		g.forget(g.jobs[t.job-1], now)
	case timerWake:
		g.queue.unblock()
	case timerTry:
		g.tryAt = time.Time{}
		g.queue.unblock()
	case timerNoWorker:
		g.failUnplaceable(t.class, now)
	case timerAway:
		g.stayAway(fmt.Sprintf("WINDOW_CLOSED: it has been coming back for %d days, that is enough: submit again what is still wanted", MaxAway/(24*time.Hour)), now)
	case timerReport: // See report.
	}
}

// reachDeadline stops the group at max_runtime. One that was stopped before has
// only its running jobs left.
func (g *Group) reachDeadline(now time.Time) {
	reason := "max_runtime of " + g.cfg.Policy.MaxRuntime.String() + " is over"
	if g.stopping == stopBudget {
		if g.cfg.Policy.OnDeadline == jobtype.DeadlineCancel {
			g.cancelRunning(reason, now)
		}
		return
	}
	g.stop(stopDeadline, reason, now)
}
