package dispatch

import (
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
)

// What a person submitted is wanted, and no detection will find it again: a
// submitted group whose window closes comes back when the next one opens. Until
// then it holds nothing that others might want.
const (
	// MaxAway is how long after its start a group still comes back. Who wants it
	// shorter gives the jobs an expires_at.
	MaxAway = 30 * 24 * time.Hour
	// maxCuts is how often in a row a job may be stopped by the end of its window
	// without a new checkpoint. More often, and it would do the same work again
	// every night for nothing.
	maxCuts = 3
)

// Withdraw gives back the group's turn and the claims of its keys: nothing runs
// and nothing may start before Until, when the next window opens. Asks for
// resources have been given up before. The answer is [Returned], or
// [StaysAway].
type Withdraw struct{ Until time.Time }

func (Withdraw) decision() {}

// Returned says that the window is open and that it is the group's turn again.
// max_runtime counts anew, as it would for another run of the job type.
type Returned struct {
	// Window is the open one; nil: there are no windows any more.
	Window *Window
	// Fence and Fences are a new range, as in [Config].
	Fence, Fences int64
	Workers       []Worker
}

// StaysAway says why the group cannot come back.
type StaysAway struct{ Reason string }

// Awaits says what keeps the group away, for people.
type Awaits struct{ Wait Wait }

// comesBack reports whether the closing of the window is not the end.
func (g *Group) comesBack() bool {
	w := g.cfg.Window
	return g.cfg.Submitted && w != nil && !w.Next.IsZero() && w.Next.Before(g.startedAt.Add(MaxAway)) &&
		g.stopping == stopNone && (g.phase == PhaseDispatching || g.phase == PhaseClaiming)
}

// putOff is stop for a group that comes back. What waits goes on waiting, but for
// jobs that no window is long enough for.
func (g *Group) putOff(reason string, now time.Time) {
	g.stopping, g.reason, g.returning = stopWindow, reason, true
	g.note(placement.Delayed, placement.NoteWindow, wholeGroup, reason, 0)
	if g.phase == PhaseClaiming {
		g.phase = PhaseDispatching
		if !g.begun {
			g.open = len(g.jobs)
		}
	}
	longest := g.cfg.Window.Longest
	for _, j := range g.jobs {
		if g.begun && j.State == StatePending && longest > 0 && g.estimate(j) > longest {
			g.finish(j, StateNotStarted, string(WaitWindowFit)+": "+g.lateText(j), now)
		}
	}
	g.leaveDoors()
	g.forgetMissing()
}

// forgetMissing: while nothing may start, nothing waits for a worker.
func (g *Group) forgetMissing() {
	for _, c := range g.queue.order {
		c.noWorkerSince = time.Time{}
	}
}

// withdraw leaves once nothing runs any more.
func (g *Group) withdraw(now time.Time) {
	if !g.returning || g.phase != PhaseDispatching || g.inFlight > 0 || g.open == 0 {
		return
	}
	next := g.cfg.Window.Next
	g.phase, g.workers.watching = PhaseAway, false
	g.away = Wait{Code: WaitWindow, Object: g.cfg.JobType, Since: now, Until: next, Detail: g.closedText()}
	g.timers.push(timer{at: g.startedAt.Add(MaxAway), kind: timerAway})
	g.decide(Withdraw{Until: next})
}

func (e Awaits) apply(g *Group, _ time.Time) {
	if g.phase == PhaseAway {
		g.away = e.Wait
	}
}

func (e StaysAway) apply(g *Group, now time.Time) {
	if g.phase == PhaseAway {
		g.stayAway(e.Reason, now)
	}
}

// stayAway ends what was to go on.
func (g *Group) stayAway(reason string, now time.Time) {
	g.returning, g.phase = false, PhaseDispatching
	g.reason = reason
	g.note(placement.Ended, placement.NoteWindow, wholeGroup, reason, 0)
	for _, j := range g.jobs {
		if j.State == StatePending || j.State == StateHeld {
			g.finish(j, StateNotStarted, reason, now)
		}
	}
}

func (e Returned) apply(g *Group, now time.Time) {
	if g.phase != PhaseAway {
		return
	}
	g.noteWait(placement.NoteWindow, wholeGroup, "it waited for its next window", g.away.Since, now)
	g.cfg.Window, g.away = e.Window, Wait{}
	g.stopping, g.reason, g.returning = stopNone, "", false
	g.turnAt, g.pausedFor = now, 0
	if g.paused {
		g.pausedAt = now
	}
	g.setDeadline()
	g.wantsFences = false
	g.takeRange(e.Fence, e.Fences)
	WorkersChanged{Workers: e.Workers}.apply(g, now)
	g.bringBack(now)
	if keys, _ := g.DedupeKeys(); g.cfg.Claims && len(keys) > 0 {
		if g.phase = PhaseClaiming; !g.begun {
			g.open = 0 // What is left is counted once its keys are claimed.
		}
		g.decide(ClaimKeys{})
		g.setWindowTimers()
		return
	}
	g.goOn(now)
}

// takeRange takes fences that are greater than those given before. Fences of the
// clock, which a group has that needed nothing so far, may be greater already, and
// do not end.
func (g *Group) takeRange(fence, n int64) {
	if last := fence + n - 1; n > 0 && last > g.fence {
		g.fence, g.fenceEnd = max(g.fence, fence-1), last
	}
}

// goOn makes everything that is left start again.
func (g *Group) goOn(now time.Time) {
	if !g.begun {
		g.beginDispatch(now)
		return
	}
	g.phase = PhaseDispatching
	g.setWindowTimers()
	g.queue.unblock()
	g.watch()
}

// bringBack gives jobs that did not fit into the window another chance.
func (g *Group) bringBack(now time.Time) {
	g.queue.unblock()
	for _, j := range g.jobs {
		if j.Late && !j.State.Final() {
			g.unpark(j)
			g.enqueue(j, j.ReadyAt, now)
		}
	}
}

// reclaimed leaves out what others have taken up meanwhile. Job numbers are known
// outside by now, so these jobs end instead of disappearing.
func (g *Group) reclaimed(e KeysClaimed, now time.Time) {
	g.takeRange(e.Fence, e.Fences)
	for i, n := range e.Active {
		key := keyAt(e.Keys, i)
		if len(g.deduped) < maxDeduped {
			g.deduped = append(g.deduped, Deduped{Key: key, By: e.By[i]})
		}
		g.leaveTo(n, key, fmt.Sprintf("DEDUPED: key %q is active in %s", key, e.By[i]), &g.counts.AlreadyActive, now)
	}
	for _, held := range e.HeldBack {
		if len(g.heldBack) < maxHeldBack {
			g.heldBack = append(g.heldBack, held)
		}
		g.leaveTo(held.Job, held.Key, fmt.Sprintf("%s: key %q is %s", held.Code, held.Key, held.Detail), &g.counts.Disabled, now)
	}
	g.goOn(now)
}

// leaveTo takes a key out of a batch, or ends its job.
func (g *Group) leaveTo(n int, key, reason string, count *int, now time.Time) {
	j := g.job(n)
	switch {
	case j == nil || j.State.Final():
	case len(j.Items) > 1:
		j.dropItem(key)
		g.counts.Batched--
		*count++
		g.note(placement.Refused, placement.NoteDeduped, n, reason, 0)
	default:
		g.elsewhere++
		g.finish(j, StateNotStarted, reason, now)
	}
}

// setAside keeps a job for the next window that the end of this one has stopped.
// false: it has been stopped too often for nothing.
func (g *Group) setAside(j *job, now time.Time) bool {
	if !j.Stopped || !g.cfg.Submitted || !g.returning && g.stopping != stopNone {
		return false
	}
	if j.Cuts++; j.Cuts >= maxCuts {
		j.Canceling = fmt.Sprintf("%s; it was stopped so %d times without a new checkpoint: give it more time (drain_grace, a longer window) or let its handler make checkpoints", j.Canceling, j.Cuts)
		return false
	}
	j.Ran, j.Stopped = true, false
	g.enqueue(j, now, now)
	return true
}

// resetWindow takes another window while the group is leaving, or has left. One
// that is open now keeps a group that has not left.
func (g *Group) resetWindow(w Window, now time.Time) {
	closed := !w.Closes.IsZero() && !now.Before(w.Closes)
	if closed && g.phase != PhaseAway {
		w.Closes = g.closes() // The time to drain does not begin again.
	}
	g.cfg.Window = &w
	switch {
	case g.phase == PhaseAway:
	case !closed:
		g.stopping, g.reason, g.returning = stopNone, "", false
		g.setDeadline() // Timers that did not matter are forgotten.
		g.setWindowTimers()
		g.bringBack(now)
	case w.Next.IsZero() || !w.Next.Before(g.startedAt.Add(MaxAway)):
		g.stayAway(g.reason, now)
	}
}

// comeNoMore: something else ends the group than its window.
func (g *Group) comeNoMore() {
	if !g.returning {
		return
	}
	g.returning = false
	g.setDeadline() // Timers that did not matter are forgotten.
	if g.phase == PhaseAway {
		g.phase = PhaseDispatching
	}
}

// awayWait is what everything waits for that a closed window keeps from starting.
func (g *Group) awayWait() Wait {
	if g.phase == PhaseAway {
		return g.away
	}
	return Wait{Code: WaitWindow, Object: g.cfg.JobType, Since: g.closes(), Until: g.cfg.Window.Next, Detail: g.closedText()}
}

// closedText is the reason without the code that the wait has already.
func (g *Group) closedText() string {
	return strings.TrimPrefix(g.reason, string(placement.NoteWindow)+": ")
}

// stillCanceled: an operator cancels a job that its window is stopping. It would
// have come back.
func (g *Group) stillCanceled(j *job, reason string) bool {
	if j.State != StateRunning || !j.Stopped {
		return false
	}
	j.Stopped, j.Canceling = false, reason
	return true
}

// forJobs reports whether operators' messages about jobs are heard: they have
// their numbers for good.
func (g *Group) forJobs() bool {
	return g.phase == PhaseDispatching || (g.phase == PhaseAway || g.phase == PhaseClaiming) && g.begun
}

// turnBegan is since when max_runtime counts.
func (g *Group) turnBegan() time.Time { return latestOf(g.startedAt, g.turnAt) }
