package dagrun

import (
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

type gain struct {
	growth *dag.Growth
	gone   []dag.Index
	splits bool
	rest   []byte
}

// succeed fails the task if its result is too large, or describes tasks that cannot be added.
func (g *Graph) succeed(t *task, attempts int, result []byte, warning string, now time.Time) {
	if g.deferTask(t, attempts, result, now) {
		return
	}
	gain, err := g.gainOf(t.i, result)
	if err != nil {
		g.fail(t, attempts, explain.TextDoneBut+err.Error(), now)
		return
	}
	g.close(t, dag.Completed, attempts, "")
	if err := g.feed(dag.Event{Kind: dag.EventCompleted, Task: t.i, Growth: gain.growth}, now); err != nil {
		g.fail(t, attempts, explain.TextCannotAdd+err.Error(), now)
		return
	}
	g.noteEnding(t, false, attempts, "", now)
	g.book.warn(t.i, warning)
	g.keep(t.i, gain.rest)
	if !gain.splits {
		g.hand(t, result, now)
	}
	g.skipGone(gain.gone, now)
}

// deferTask returns false if the task does not continue after others.
func (g *Graph) deferTask(t *task, attempts int, result []byte, now time.Time) bool {
	deferral, err := spec.Defer(g.run, t.i, result)
	if err == nil && deferral == nil {
		return false
	}
	if err == nil {
		err = g.continues.check(g.run, t.i, deferral)
	}
	if err != nil {
		g.fail(t, attempts, explain.TextDoneBut+err.Error(), now)
		return true
	}
	g.close(t, dag.Pending, attempts, "")
	if err := g.feed(dag.Event{Kind: dag.EventDeferred, Task: t.i, Growth: deferral.Growth}, now); err != nil {
		g.fail(t, attempts, explain.TextCannotAdd+err.Error(), now)
		return true
	}
	g.continues.put(t.i, deferral.Checkpoint)
	return true
}

// A run that is ending takes no more tasks.
func (g *Graph) gainOf(i dag.Index, result []byte) (gain, error) {
	growth, rest, err := spec.Split(g.run, i, result)
	if err != nil {
		return gain{}, err
	}
	out := gain{growth: growth, splits: growth != nil, rest: rest}
	var expansion *spec.Expansion
	if g.run.Ending() {
		out.growth = nil
	} else if expansion, err = g.program.Expand(i, rest); err != nil {
		return out, err
	}
	if expansion != nil {
		if out.growth == nil {
			out.growth = &dag.Growth{}
		}
		out.growth.Tasks = append(out.growth.Tasks, expansion.Tasks...)
		out.gone = expansion.Gone
		if len(rest) > MaxResult {
			out.rest = expansion.Rest
		}
	}
	return out, g.checkResult(i, out.rest, out.growth)
}

// skipGone skips the tasks of items that a new run has dropped. Running and succeeded tasks stay.
func (g *Graph) skipGone(gone []dag.Index, now time.Time) {
	for _, i := range gone {
		if s := g.run.State(i); s != dag.Running && !satisfied(s) && !g.run.Finished() {
			g.must(dag.Event{Kind: dag.EventSkip, Task: i}, now)
		}
	}
}

// standIn ends the stand-in of a fan-out: its tasks have been added, or will never be.
func (g *Graph) standIn(i dag.Index, definition *spec.Definition, now time.Time) {
	for _, other := range g.run.Family(g.run.ID(i)) {
		if g.run.Under(other) == i {
			g.book.setAttempts(i, dag.Completed, 0)
			g.book.clear(i)
			g.must(dag.Event{Kind: dag.EventCompleted, Task: i}, now)
			return
		}
	}
	state := "gone"
	if of, ok := g.run.Lookup(definition.FanOut.Of); ok {
		state = g.run.State(of).String()
	}
	g.fail(&task{i: i}, 0, explain.TextNoItems(definition.FanOut.Of, state), now)
}
