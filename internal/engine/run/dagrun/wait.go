package dagrun

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
)

// Wait is one thing that a task, or the run, waits for.
type Wait struct {
	run.Wait

	// First of the tasks that wait for the same; dag.None for the run as a whole.
	Task  dag.Index
	Tasks int
}

const maxNamed = 10

// Waits returns the waits of a task, the most fundamental first. Only a running or ended task has none. Its cost
// grows with the task's dependencies only.
func (g *waits) Waits(i dag.Index) []Wait {
	var list []Wait
	switch state := g.run.State(i); {
	case !g.run.Started():
		return []Wait{g.notBegun(i)}
	case state == dag.Pending || state == dag.UpstreamFailed:
		list = append(list, g.upstream(i))
	case state == dag.Canceled:
		if w, stopped := g.stoppedWait(i); stopped {
			list = append(list, w)
		}
	case state == dag.Ready && !g.run.Paused():
		list = append(list, g.crowded(i))
	case state == dag.Running && g.live[i] == nil && g.lane.State == laneRequested:
		list = append(list, Wait{Wait: g.laneWait(), Task: i})
	case state == dag.Running && g.live[i] == nil:
		list = append(list, Wait{Wait: run.Wait{Code: contract.CodeStarting, Detail: explain.TextStarting}, Task: i})
	case state == dag.Running:
		list = g.waitsOfBegun(g.live[i])
	}
	if g.run.Paused() && g.stoppedByPause(i) {
		list = slices.Insert(list, 0, g.pausedWait(i))
	}
	return list
}

func (g *waits) notBegun(i dag.Index) Wait {
	return Wait{Wait: run.Wait{Code: contract.CodeStarting, Since: g.startedAt, Detail: explain.TextRunNotBegun}, Task: i}
}

func (g *tasks) runs(t *task) bool {
	item, ok := g.engine.View(int(t.i))
	return ok && item.Phase == run.PhaseRunning && !item.Idle
}

// stoppedByPause: a task that was started before the pause sleeps and is approved all the same.
func (g *tasks) stoppedByPause(i dag.Index) bool {
	switch g.run.State(i) {
	case dag.Pending, dag.Ready:
		return true
	case dag.Running:
		t := g.live[i]
		if t == nil || t.phase == phaseYielded {
			return t != nil
		}
		item, _ := g.engine.View(int(i))
		return item.Phase == run.PhaseQueued || item.Phase == run.PhaseGranted || item.Phase == run.PhaseDue
	case dag.Completed, dag.Failed, dag.UpstreamFailed, dag.Skipped, dag.Canceled:
	}
	return false
}

func (g *waits) pausedWait(i dag.Index) Wait {
	return Wait{Wait: g.engine.Paused().Wait(), Task: i}
}

func (g *waits) upstream(i dag.Index) Wait {
	failed := g.run.State(i) == dag.UpstreamFailed
	var stuck, rest []dag.Index // A task that waits itself is more worth knowing than one that runs.
	needs := g.run.Needs(i)
	open := 0
	for _, n := range needs {
		if !g.blames(n, failed) {
			continue
		}
		open++
		if t := g.live[n]; t != nil && !g.runs(t) && len(stuck) < maxNamed {
			stuck = append(stuck, n)
		} else if len(rest) < maxNamed {
			rest = append(rest, n)
		}
	}
	var names, states []string
	for _, n := range append(stuck, rest...)[:min(open, maxNamed)] {
		names = append(names, g.run.ID(n))
		states = append(states, g.run.ID(n)+" "+g.doing(n))
	}
	return Wait{Wait: run.Wait{
		Code: contract.CodeUpstream, Object: strings.Join(names, ", "), Since: g.startedAt,
		Detail: explain.TextUpstream(failed, open, len(needs), g.run.Rule(i), states),
	}, Task: i}
}

func (g *waits) blames(n dag.Index, failed bool) bool {
	state := g.run.State(n)
	if failed {
		return state == dag.Failed || state == dag.UpstreamFailed || state == dag.Canceled
	}
	return !state.Terminal()
}

func (g *waits) doing(i dag.Index) string {
	state := g.run.State(i)
	if t := g.live[i]; state == dag.Running && t != nil {
		if waits := g.waitsOfBegun(t); len(waits) > 0 {
			return "waits: " + string(waits[0].Code)
		}
	}
	return "is " + state.String()
}

// A task with resources takes no place before it has them, but waits until few enough requests are ahead of it.
func (g *waits) crowded(i dag.Index) Wait {
	if i != dag.None {
		if use, waits := g.run.WaitsForItem(i); waits {
			return g.itemWait(use, i)
		}
		if f, limited := g.run.FanOut(i); limited && f.Full() {
			return g.fanOutWait(f, i)
		}
	}
	w := Wait{Wait: run.Wait{Code: contract.CodeConcurrency, Since: g.fullSince, Detail: explain.TextRunFull(g.run.Options().Concurrency)}, Task: i}
	if i != dag.None && g.run.Gated(i) {
		w.Since = g.gateSince
		w.Detail = explain.TextAhead(g.run.AtGate())
	}
	return w
}

func (g *waits) fanOutWait(f dag.FanOut, i dag.Index) Wait {
	return Wait{Wait: run.Wait{
		Code: contract.CodeConcurrency, Object: f.Name, Since: g.fanSince[f.Name],
		Detail: explain.TextFanOutFull(f.Limit, f.Name),
	}, Task: i}
}

// Limit is the concurrency of a fan-out, 0 without its own; of the run for an empty name.
func (g *catalog) Limit(fanOut string) int {
	if fanOut == "" {
		return g.run.Options().Concurrency
	}
	for _, f := range g.run.FanOuts() {
		if f.Name == fanOut {
			return f.Limit
		}
	}
	return 0
}

func (g *waits) noteFull(now time.Time) {
	note := func(since *time.Time, n int) {
		limit := g.run.Options().Concurrency
		switch full := limit > 0 && n >= limit; {
		case !full:
			*since = time.Time{}
		case since.IsZero():
			*since = now
		}
	}
	note(&g.fullSince, g.run.InFlight())
	note(&g.gateSince, g.run.AtGate())
	for _, f := range g.run.FanOuts() {
		g.noteSince(f.Name, f.Full(), now)
	}
	g.noteItems(now)
}

func (g *waits) waitsOfBegun(t *task) []Wait {
	w := Wait{Wait: run.Wait{Since: t.startedAt, Until: t.until}, Task: t.i}
	switch {
	case t.phase == phaseSleeping:
		w.Code, w.Detail = contract.CodeSleeping, explain.TextSleeps(t.definition.Sleep)
	case t.phase == phaseApproval:
		w.Code, w.Object, w.Detail = contract.CodeApproval, g.run.ID(t.i), cmp.Or(t.rendered.Prompt, explain.TextPerson)
	case t.phase == phaseLookup:
		w.Code, w.Object, w.Detail = contract.CodeStarting, t.definition.JobType, explain.TextLookedUp(t.definition.JobType)
	case g.run.Paused() && (t.phase == phaseYielded || t.admitted):
		return nil // That stops it; whether there is a place then is not known.
	case t.phase == phaseYielded:
		w.Code, w.Detail = contract.CodeConcurrency, explain.TextYields(g.run.Options().Concurrency)
	case t.admitted:
		w.Code, w.Detail = contract.CodeConcurrency, explain.TextHasResources(g.run.Options().Concurrency)
	case g.lane.State == laneRequested && g.engine.RunningAttempt(int(t.i)) == 0:
		w.Wait = g.laneWait()
	default:
		w.Wait = g.engine.WaitOf(int(t.i), g.now)
		if g.runs(t) || w.Code == "" && g.run.Paused() {
			return nil
		}
		if w.Code == "" {
			w.Code, w.Detail = contract.CodeStarting, explain.TextStarting
		}
	}
	return []Wait{w}
}
