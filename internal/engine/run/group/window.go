package group

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/clock"
	"github.com/roundsman/roundsman/internal/engine/run/group/halt"
	"github.com/roundsman/roundsman/internal/engine/run/group/spans"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
)

func (v WindowsKnown) apply(g *Group, now time.Time) {
	g.window.Asking, g.window.Last, g.window.Broken = false, &v.Windows, ""
	g.windowChanged(now)
}

func (v WindowsFailed) apply(g *Group, _ time.Time) {
	g.window.Asking = false
	if g.turn.active() {
		g.window.Broken = v.Reason // A running group continues with the windows it has.
	}
}

func (v CalendarSet) apply(g *Group, now time.Time) {
	g.cfg.Windows, g.turn.HoldUntil = v.Windows, time.Time{}
	if v.Windows {
		g.askWindows(now)
		return
	}
	g.window = spans.Known{}
	g.windowChanged(now)
}

// windowChanged takes other windows. Those that have closed already end the group's
// work as a closing does.
func (g *course) windowChanged(now time.Time) {
	switch {
	case g.turn.active():
	case g.halt.Leaving:
		g.stayIfOpen(now)
	case g.halt.Cause == halt.Window, g.halt.On() && g.closed(now): // What drains, does so since that closing.
	default:
		g.setClosing(now)
	}
}

// stayIfOpen takes other windows while the group is leaving. An open one keeps it.
func (g *course) stayIfOpen(now time.Time) {
	opens, closed := g.window.ClosedUntil(now)
	switch {
	case !closed:
		g.halt.Stay()
		g.clock.DrainOver = false
		if !g.lane.Away {
			g.engine.Unsuspend(now)
		}
		g.setClosing(now)
	case opens.IsZero() || !opens.Before(g.clock.CreatedAt.Add(MaxAway)):
		g.stayAway(g.halt.Why, now)
	default:
		g.closing.Next = opens
		g.halt.Why = g.windowClosed()
	}
}

// closes is when the window closes that the group runs in; zero: never.
func (g *times) closes() time.Time { return g.closing.Closes }

func (g *times) closed(now time.Time) bool { return !g.closes().IsZero() && !now.Before(g.closes()) }

// setClosing bounds when jobs may start.
func (g *times) setClosing(now time.Time) {
	g.closing = Window{}
	if span := g.window.At(now); span != nil && g.cfg.Windows {
		g.closing = *span
		g.closing.Learned, g.closing.LearnedOf = g.cfg.learned()
	}
	g.engine.SetClosing(now, run.Closing{At: g.closing.Closes, Learned: g.closing.Learned})
}

// learned is the run time that a job without an estimate is taken to need.
func (c Config) learned() (p95 time.Duration, of int) {
	if p95, known := window.P95(c.Took); known {
		return p95, len(c.Took)
	}
	return 0, 0
}

// cutAt is when the closing ends the attempts that a stopped group still lets run; zero: never. It binds also those
// that a retry budget or max_runtime lets drain.
func (g *times) cutAt() time.Time {
	drains := g.halt.Cause == halt.Window || g.halt.Cause == halt.Budget || g.halt.Cause == halt.Deadline && clock.Drains(g.cfg.Policy)
	switch {
	case !drains || g.closes().IsZero() || g.clock.DrainOver:
		return time.Time{}
	case g.keepsCheckpoints():
		return g.closes()
	}
	return g.closes().Add(g.cfg.Policy.DrainGrace.Std())
}

func (g *base) keepsCheckpoints() bool {
	return g.cfg.Policy.OnWindowEnd == jobtype.WindowEndCheckpoint
}

// endIfNothingFits ends the group if no job runs or waits in the backlog, and no open job can start before the closing.
// A wait would hold the lane for nothing.
func (g *course) endIfNothingFits(now time.Time) {
	if late := g.engine.Late(); late > 0 && late == g.jobs.Left() && !g.halt.On() {
		g.shut(g.nothingFits(g.misfits()), now)
	}
}

// cut cancels what still runs after the closing. It keeps its checkpoint.
func (g *course) cut(now time.Time) {
	why := explain.TextWindowDrained
	if g.keepsCheckpoints() {
		why = g.windowClosed().String()
	}
	g.clock.DrainOver = true
	g.engine.CancelRunning(now, why)
}

// shut ends the jobs that the window lets start: for good, or until the next one.
func (g *course) shut(why reason, now time.Time) {
	if g.comesBack() {
		g.suspend(why, now)
		return
	}
	g.stop(halt.Window, why, now)
}

// comesBack reports whether the group continues with the next window: submitted work is wanted, and no detection will
// find it again.
func (g *times) comesBack() bool {
	next := g.closing.Next
	return g.cfg.Submitted && !next.IsZero() && next.Before(g.clock.CreatedAt.Add(MaxAway)) &&
		!g.halt.On() && (g.phase == PhaseRunning || g.phase == PhaseClaiming)
}

// suspend is stop for a group that comes back. A waiting job continues to wait, except jobs for which no window is long
// enough.
func (g *course) suspend(why reason, now time.Time) {
	g.halt.Suspend(why)
	g.note(run.Delayed, contract.CodeWindowEnd, why.String(), 0)
	if g.phase == PhaseClaiming {
		g.phase = PhaseRunning
	}
	if longest := g.closing.Longest; longest > 0 && g.begun {
		for _, j := range g.jobs.Sorted() {
			if rest, _ := g.engine.Estimate(j.N); rest > longest {
				g.engine.End(now, j.N, run.NotStarted, g.unfitText(j))
			}
		}
	}
	g.engine.Suspend(now)
}

// leave gives everything back once nothing runs any more, and waits for the next
// window.
func (g *course) leave(now time.Time) {
	if !g.halt.Leaving || g.leavesAfterClaim() || g.engine.InFlight() > 0 || g.jobs.Left() == 0 {
		return
	}
	g.halt.Leave(false)
	g.giveBack(now, g.closing.Next)
}

// giveBack releases the turn with its claims. The next turn comes after holdUntil.
func (g *course) giveBack(now, holdUntil time.Time) {
	g.engine.Forget()
	g.do(Unwatch{})
	g.leaveTurn()
	g.turn.HoldUntil = holdUntil
	g.enter(stepWindow, now)
	g.advanceTurn(now)
}

// unplacedUntil returns when a group that holds its lane for nothing leaves it; zero: it works,
// or holds none.
func (g *course) unplacedUntil() time.Time {
	if !g.cfg.Turn || g.cfg.Lane == "" || len(g.chunks.Jobs) > 0 || g.detect.running() || g.detect.Late.Claiming || g.phase != PhaseRunning || g.paused() || g.halt.On() || g.halt.Away {
		return time.Time{}
	}
	since, all := g.engine.Unplaced()
	if !all {
		return time.Time{}
	}
	return since.Add(leaveAfter)
}

// leaveUnplaced gives the lane to others while no worker exists for any job of the group.
func (g *course) leaveUnplaced(now time.Time) {
	until := g.unplacedUntil()
	if until.IsZero() || now.Before(until) {
		return
	}
	g.halt.Leave(true)
	g.note(run.Delayed, contract.CodeNoWorker, g.missing(), 0)
	g.engine.Suspend(now)
	g.giveBack(now, time.Time{})
}

// comeBack continues with the remaining jobs: the window is open, and it is the group's turn again.
func (g *course) comeBack(now time.Time) {
	g.halt.Return()
	g.setClosing(now)
	if g.jobs.Open.Len() > 0 && g.claims() {
		g.phase = PhaseClaiming
		g.do(ClaimKeys{Turn: g.turn.Number})
		return
	}
	g.resume(now)
}

// resume makes everything that is left start again.
func (g *course) resume(now time.Time) {
	g.engine.Unsuspend(now)
	if !g.begun {
		g.beginRunning(now)
		return
	}
	g.phase = PhaseRunning
	g.engine.Watch()
}

// stayAway ends the jobs that were to continue with the next window.
func (g *course) stayAway(why reason, now time.Time) {
	code := contract.CodeWindowEnd
	if g.halt.Unplaced {
		code = contract.CodeNoWorker
	}
	g.halt.Stop(halt.Window, why)
	g.turn.Step, g.phase = stepNone, PhaseRunning
	g.note(run.Terminated, code, why.String(), 0)
	g.engine.Stop(now, run.NotStarted, why.String())
	if !g.begun {
		g.beginRunning(now)
	}
	g.endBacklog(StateNotStarted, why.String(), now)
}
