package dagrun

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
)

type timerKind uint8

const (
	timerDeadline timerKind = iota
	timerRelease            // a held run has no operator
	timerIdle               // a sleep is over, or an approval's time
)

// Whether a timer still matters is decided when it fires.
type timer struct {
	at   time.Time
	kind timerKind
	task dag.Index
}

// Compare is complete, so that timers of one moment fire in the same order after Restore.
func (t timer) Compare(o timer) int {
	return cmp.Or(t.at.Compare(o.at), cmp.Compare(t.kind, o.kind), cmp.Compare(t.task, o.task))
}

// NextWake is when [run.Tick] must be applied at the latest; zero if nothing is pending.
func (g *waits) NextWake() time.Time {
	for len(g.timers) > 0 && !g.matters(g.timers[0]) {
		g.timers.Pop()
	}
	wake := g.engine.NextWake()
	if len(g.timers) > 0 && (wake.IsZero() || g.timers[0].at.Before(wake)) {
		return g.timers[0].at
	}
	return wake
}

// matters keeps the run from waking in vain.
func (g *waits) matters(t timer) bool {
	if g.run.Finished() {
		return false
	}
	switch t.kind {
	case timerDeadline:
		return !g.run.Ending() && t.at.Equal(g.deadline)
	case timerRelease:
		return g.run.Held() && t.at.Equal(g.heldUntil)
	case timerIdle:
	}
	waits := g.live[t.task]
	return waits != nil && (waits.phase == phaseSleeping || waits.phase == phaseApproval) && t.at.Equal(waits.until)
}

func (g *Graph) fireTimers(now time.Time) {
	for len(g.timers) > 0 && !g.timers[0].at.After(now) {
		if t := g.timers.Pop(); g.matters(t) {
			g.engine.Progressed()
			g.fire(t, now)
		}
	}
}

func (g *Graph) fire(t timer, now time.Time) {
	switch t.kind {
	case timerDeadline:
		g.reason = explain.TextDeadline(g.deadline.Sub(g.startedAt))
		g.engine.Note(run.Note{Verdict: run.Terminated, Code: contract.CodeDeadline, Item: run.WholeRun, Detail: g.reason})
		g.must(dag.Event{Kind: dag.EventDeadline}, now)
		g.ending()
	case timerRelease:
		g.must(dag.Event{Kind: dag.EventRelease}, now)
	case timerIdle:
		waits := g.live[t.task]
		if waits.phase == phaseSleeping {
			g.endIdle(waits, run.Ending{}, now)
			return
		}
		g.engine.Note(run.Note{Verdict: run.Terminated, Code: contract.CodeDeadline, Item: int(t.task), Detail: explain.TextNotApproved})
		g.endIdle(waits, run.Ending{Failure: contract.FailurePermanent, Message: explain.TextApproval(waits.definition.Approval.Timeout.Std())}, now)
	}
}
