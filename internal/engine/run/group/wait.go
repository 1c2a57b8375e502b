package group

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/after"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/run"
)

// firstStart is the earliest start of a submitted job. Before it the group would hold its lane, and spend its
// max_runtime, without work.
func (g *work) firstStart() time.Time {
	if !g.cfg.Submitted || g.begun || g.jobs.Backlog.Len() > 0 {
		return time.Time{}
	}
	return g.jobs.Open.Bounds().First
}

// lastStart is the expiry of the last submitted job; zero: never.
func (g *work) lastStart() time.Time {
	if g.jobs.Backlog.Len() > 0 {
		return time.Time{}
	}
	return g.jobs.Open.Bounds().Last
}

// maxWait is how long a group of the Schedule waits for one thing.
func (c Config) maxWait() time.Duration {
	if c.MaxWait > 0 {
		return c.MaxWait
	}
	return defaultMaxWait
}

// laneDeadline returns the end of the wait for the turn; zero: there is none. A group of the Schedule keeps its place in
// the lane: the next tick would begin behind all others. A submitted group waits while one of its jobs can still start.
// Without a lane the turn only permits the job type to start, and the group waits for one interval.
func (g *work) laneDeadline() time.Time {
	switch {
	case g.cfg.Submitted:
		return g.lastStart()
	case g.cfg.Lane == "":
		return g.turn.AskedAt.Add(g.cfg.maxWait())
	}
	return time.Time{}
}

// windowDeadline is the same for the window.
func (g *work) windowDeadline() time.Time {
	switch {
	case g.halt.Away && g.cfg.Submitted:
		return g.clock.CreatedAt.Add(MaxAway)
	case g.cfg.Submitted:
		return g.lastStart()
	}
	return g.turn.Since.Add(g.cfg.maxWait())
}

// workerDeadline bounds how long the group waits for a worker before it has taken
// its turn.
func (g *times) workerDeadline() time.Time {
	wait := min(g.cfg.maxWait(), g.cfg.Policy.MaxRuntime.Std())
	if g.cfg.Submitted {
		wait = max(wait, g.cfg.Policy.ExecutionTimeout.Std())
	}
	at := g.turn.Since.Add(wait)
	if g.engine.Incomplete() { // The registry was just rebuilt.
		at = instant.Later(at, g.clock.LastTick.Add(run.RebuildPause))
	}
	return at
}

func (v SuccessesKnown) apply(g *Group, now time.Time) { g.after.Known(v.Last, now) }

func (v Succeeded) apply(g *Group, _ time.Time) { g.after.Success(v.JobType, v.At) }

func (Released) apply(g *Group, now time.Time) {
	if g.turn.Step == stepAfter {
		g.noteWait(contract.CodeAfter, explain.TextAwaited(g.after.Unmet()), g.turn.Since, now)
		g.enter(stepWindow, now)
	}
	g.after = after.Wait{}
	CalendarSet{}.apply(g, now)
}

// awaitSuccesses continues when the job types have succeeded that the group is after.
func (g *course) awaitSuccesses(now time.Time) {
	switch names := g.after.Unmet(); {
	case len(names) == 0:
		g.noteWait(contract.CodeAfter, explain.TextAwaited(g.after.Names()), g.turn.Since, now)
		g.enter(stepWindow, now)
	case g.after.Over(now):
		g.skip(reason{Code: contract.CodeAfter, Detail: explain.TextAfter(names, g.after)}, now)
	case !g.after.Looking && !now.Before(g.after.LookAt()):
		g.after.Looking = true
		g.do(LookSuccesses{g.after.Names()})
	}
}

// awaitWindow continues when the window is open.
func (g *course) awaitWindow(now time.Time) {
	switch opens, closed := g.window.ClosedUntil(now); {
	case !g.cfg.Windows:
		g.enter(stepPrepare, now)
	case now.Before(g.turn.HoldUntil):
	case g.window.Asking:
	case g.window.Broken != "":
		g.skip(reason{Code: contract.CodeWindowClosed, Detail: g.window.Broken}, now)
	case g.window.Last == nil || g.window.AskedAt.Before(instant.Later(g.turn.Since, g.turn.HoldUntil)):
		g.askWindows(now) // The known window may have come to its end.
	case !closed:
		g.noteWait(contract.CodeWindowClosed, explain.TextWindowAwaited, g.turn.Since, now)
		g.enter(stepPrepare, now)
	default:
		if g.opensTooLate(opens) {
			g.skip(g.tooLate(opens), now)
		}
	}
}

// opensTooLate reports whether the group does not wait for a window that opens then;
// zero: none does.
func (g *work) opensTooLate(opens time.Time) bool {
	until := g.windowDeadline()
	return opens.IsZero() || !until.IsZero() && opens.After(until)
}

func (g *times) askWindows(now time.Time) {
	g.window.Asking, g.window.AskedAt = true, now
	g.do(AskWindows{})
}
