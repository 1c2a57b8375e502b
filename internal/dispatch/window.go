package dispatch

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/internal/window"
	"github.com/roundsman/roundsman/jobtype"
)

// Window is the span of time in which the group may start jobs. It has begun.
type Window struct {
	// Closes is when it ends; zero if it does not end for a long time.
	Closes time.Time `json:"closes,omitzero"`
	// Next is when the next one begins, if that is known.
	Next time.Time `json:"next,omitzero"`
	// Longest is how long the longest one is; 0 if that is not known.
	Longest time.Duration `json:"longest,omitempty"`
	// Learned is how long a job without an estimate is taken to run, and
	// LearnedOf from how many runs that is known; 0: it is not.
	Learned   time.Duration `json:"learned,omitempty"`
	LearnedOf int           `json:"learned_of,omitempty"`
}

// WindowSet replaces the group's window: somebody changed the configuration. A
// window that has closed already ends the group's work as its closing does.
type WindowSet struct{ Window Window }

func (e WindowSet) apply(g *Group, now time.Time) {
	switch {
	case g.returning:
		g.resetWindow(e.Window, now)
	case g.stopping == stopWindow:
	default:
		g.cfg.Window = &e.Window
		g.setWindowTimers()
		g.bringBack(now)
	}
}

func (g *Group) closes() time.Time {
	if g.cfg.Window == nil {
		return time.Time{}
	}
	return g.cfg.Window.Closes
}

// setWindowTimers arms the closing, the end of the drain, and the moment from
// which on not even the shortest job fits.
func (g *Group) setWindowTimers() {
	closes := g.closes()
	g.noFitAt = time.Time{}
	if closes.IsZero() {
		return
	}
	g.timers.push(timer{at: closes, kind: timerClose})
	g.timers.push(timer{at: g.drained(), kind: timerDrained})
	if shortest := g.shortest(); shortest > time.Millisecond && g.phase == PhaseDispatching {
		g.noFitAt = closes.Add(time.Millisecond - shortest)
		g.timers.push(timer{at: g.noFitAt, kind: timerNoFit})
	}
}

// drained is when jobs that still run after the closing are canceled.
func (g *Group) drained() time.Time { return g.closes().Add(g.cfg.Policy.DrainGrace.Std()) }

// maxDone is the most that a checkpoint stands for: a job that has not ended has
// something left to do.
const maxDone = 99

// estimate is how long a job is taken to run from now on; 0 if nobody knows. One
// that goes on from a checkpoint needs what is left, if its handler said how much
// it had done by then: of the rest only would be less, so that this is never too
// short.
func (g *Group) estimate(j *job) time.Duration {
	whole := g.whole(j)
	if len(j.Checkpoint) > 0 && j.Done > 0 {
		return time.Duration(float64(whole) * (100 - min(j.Done, maxDone)) / 100)
	}
	return whole
}

// whole is how long a job is taken to run from its beginning.
func (g *Group) whole(j *job) time.Duration {
	if known := j.Proposal.EstimatedRuntime; known > 0 || g.cfg.Window == nil {
		return known.Std()
	}
	return g.cfg.Window.Learned
}

func (g *Group) shortest() time.Duration {
	shortest := time.Duration(-1)
	for _, j := range g.jobs {
		if e := g.estimate(j); !j.State.Final() && (shortest < 0 || e < shortest) {
			shortest = e
		}
	}
	return max(shortest, 0)
}

// fits reports whether a job that starts at that time ends before the closing.
func (g *Group) fits(j *job, at time.Time) bool {
	closes := g.closes()
	return closes.IsZero() || at.Before(closes) && !at.Add(g.estimate(j)).After(closes)
}

// park takes a job out that does not fit any more: later it fits even less.
// Others start in its place.
func (g *Group) park(j *job, now time.Time) {
	j.Late, j.queued, j.WaitsAt = true, false, now
	g.late++
	g.leaveDoor(j)
}

func (g *Group) unpark(j *job) {
	if j.Late {
		j.Late = false
		g.late--
	}
}

// parkHeads looks at the first job of every class, also of those that wait for a
// worker: whether it is put aside must not depend on when somebody looked for
// one last.
func (g *Group) parkHeads(now time.Time) {
	if g.closes().IsZero() {
		return
	}
	for _, c := range g.queue.order {
		for c.settle() && !g.fits(c.heap[0], now) {
			g.park(c.pop(), now)
		}
	}
}

// parkLate takes out everything that does not fit any more, also what waits for
// its resources or its time.
func (g *Group) parkLate(now time.Time) {
	for _, j := range g.jobs {
		if j.State == StatePending && !j.Late && !g.fits(j, latestOf(now, j.ReadyAt)) {
			g.park(j, now)
		}
	}
}

// endIfNothingFits: nothing runs, and what is left cannot start before the
// closing. Waiting for that would hold the lane for nothing.
func (g *Group) endIfNothingFits(now time.Time) {
	if g.late > 0 && g.late == g.open && g.phase == PhaseDispatching {
		g.shut(fmt.Sprintf("%s: %s before the window closes at %s%s", WaitWindowFit, doNotFit(g.late), g.closes().UTC().Format(time.RFC3339), g.neverText()), now)
	}
}

func doNotFit(n int) string {
	if n == 1 {
		return "1 job does not fit"
	}
	return fmt.Sprintf("%d jobs do not fit", n)
}

func neverFit(n int) string {
	if n == 1 {
		return "1 of them never fits:"
	}
	return fmt.Sprintf("%d of them never fit:", n)
}

// neverText says that jobs are left which no window is long enough for: nothing
// but a person can help them.
func (g *Group) neverText() string {
	longest := g.cfg.Window.Longest
	never := 0
	for _, j := range g.jobs {
		if j.Late && longest > 0 && g.estimate(j) > longest {
			never++
		}
	}
	if never == 0 {
		return ""
	}
	return fmt.Sprintf("; %s no window of the next weeks is longer than %s", neverFit(never), jobtype.Duration(longest))
}

// closeWindow: from now on nothing starts. What runs drains, or is canceled and
// keeps its checkpoint.
func (g *Group) closeWindow(now time.Time) {
	reason := fmt.Sprintf("WINDOW_CLOSED: the window closed at %s", g.closes().UTC().Format(time.RFC3339))
	if next := g.cfg.Window.Next; !next.IsZero() {
		reason += ", the next one opens at " + next.UTC().Format(time.RFC3339)
	}
	if g.late > 0 {
		reason += fmt.Sprintf("; %s into what was left of it%s", doNotFit(g.late), g.neverText())
	}
	g.shut(reason, now)
	if g.cfg.Policy.OnWindowEnd == jobtype.WindowEndCheckpoint {
		g.cancelRunning(reason, now)
	}
}

// shut ends what the window lets start: for good, or until the next one.
func (g *Group) shut(reason string, now time.Time) {
	if g.comesBack() {
		g.putOff(reason, now)
		return
	}
	g.stop(stopWindow, reason, now)
}

// lateText says for people why a job does not fit.
func (g *Group) lateText(j *job) string {
	w := g.cfg.Window
	estimate := g.estimate(j)
	closes := "the window closes at " + w.Closes.UTC().Format(time.RFC3339)
	if !j.ReadyAt.Before(w.Closes) {
		return fmt.Sprintf("it does not start before %s, and %s", j.ReadyAt.UTC().Format(time.RFC3339), closes)
	}
	whole := g.whole(j)
	what := "its estimated_runtime of " + jobtype.Duration(whole).String()
	if j.Proposal.EstimatedRuntime == 0 {
		what = fmt.Sprintf("the learned p95 of %d runs, %s,", w.LearnedOf, jobtype.Duration(whole))
	}
	if estimate < whole {
		what = fmt.Sprintf("what is left of %s after its checkpoint at %.0f%%, %s,", what, j.Done, jobtype.Duration(estimate.Round(time.Second)))
	}
	text := fmt.Sprintf("%s does not fit before %s", what, closes)
	if w.Longest > 0 && estimate > w.Longest {
		text += fmt.Sprintf("; it never fits: no window of the next weeks is longer than %s", jobtype.Duration(w.Longest))
	}
	return text
}

// lateWait is what a job waits for that cannot start before the closing; a zero
// Code if it can.
func (g *Group) lateWait(j *job, now time.Time) Wait {
	if !j.Late && g.fits(j, latestOf(now, j.ReadyAt)) {
		return Wait{}
	}
	since := j.WaitsAt
	if !j.Late && now.Before(j.ReadyAt) {
		since = latestOf(since, g.startedAt)
	} else if !j.Late {
		since = latestOf(g.startedAt, g.closes().Add(-g.estimate(j)))
	}
	return Wait{Code: WaitWindowFit, Since: since, Until: g.closes(), Detail: g.lateText(j)}
}

// remember keeps how long a completed attempt took, unless it only did the rest
// of an earlier one.
func (g *Group) remember(j *job, took time.Duration, now time.Time) {
	if j.Resumed {
		return
	}
	if took <= 0 {
		took = now.Sub(j.StartedAt)
	}
	g.took = append(g.took, took)
	if over := len(g.took) - window.MaxKnown; over > 0 {
		g.took = append(g.took[:0], g.took[over:]...)
	}
}

// Took lists how long the last completed attempts took, oldest first.
func (g *Group) Took() []time.Duration { return g.took }
