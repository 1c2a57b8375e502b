package dagrun

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// gate counts the places and tasks that could deadlock a run with resources or sub-DAGs.
type gate struct {
	// Places that do not end by themselves: of sub-DAGs, and of tasks that wait for resources they had released.
	stuck int
	// admitted counts the tasks that have their resources and wait for a place.
	admitted int
	yielded  []*task
}

func (a *gate) count(t *task) {
	stuck := t.placed && (t.asking || t.definition != nil && t.definition.Kind == spec.KindDAG)
	switch {
	case stuck && !t.stuck:
		a.stuck++
	case !stuck && t.stuck:
		a.stuck--
	}
	t.stuck = stuck
}

func (g *Graph) admit(t *task, now time.Time) {
	t.asking = false
	g.gate.count(t)
	if t.placed {
		g.engine.Proceed(now, int(t.i))
		return
	}
	if g.room() <= 0 && g.engine.Withdraw(int(t.i)) { // It would keep the needs of others idle.
		g.must(dag.Event{Kind: dag.EventCrowded, Task: t.i}, now)
		g.yield(t)
		return
	}
	t.admitted = true
	g.gate.admitted++
	g.must(dag.Event{Kind: dag.EventAdmit, Task: t.i}, now)
}

func (g *Graph) proceed(i dag.Index, now time.Time) {
	t := g.live[i]
	if t == nil {
		return
	}
	g.unadmit(t)
	t.placed = true
	g.gate.count(t)
	g.engine.Proceed(now, int(i))
}

func (g *Graph) unadmit(t *task) bool {
	if !t.admitted {
		return false
	}
	t.admitted = false
	g.gate.admitted--
	return true
}

func (g *Graph) released(t *task, now time.Time) {
	t.asking = false
	g.gate.count(t)
	if g.unadmit(t) {
		g.must(dag.Event{Kind: dag.EventWithdraw, Task: t.i}, now)
	}
}

// blocked reports whether all places are stuck. They may wait for the very resources that a task would hold while it
// waits for such a place. Every other task with a place ends by itself.
func (g *Graph) blocked() bool {
	limit := g.run.Options().Concurrency
	return limit > 0 && g.gate.stuck >= limit && g.gate.stuck == g.run.InFlight()
}

func (g *Graph) room() int {
	if limit := g.run.Options().Concurrency; limit > 0 {
		return limit - g.gate.admitted
	}
	return 1
}

// A deferred task that cleans up gets one attempt, and does not keep an ending run open.
func (g *Graph) deferred(t *task, r *run.Report, now time.Time) {
	switch {
	case g.run.Ending():
		g.engine.End(now, int(t.i), run.Failed, r.Message)
	case g.run.Crowded() < dag.MaxCrowded: // Each such task is in the state that travels.
		t.placed = false
		g.gate.count(t)
		g.must(dag.Event{Kind: dag.EventYield, Task: t.i}, now)
	}
}

func (g *Graph) due(t *task, now time.Time) {
	if t.placed {
		g.engine.Proceed(now, int(t.i))
		return
	}
	g.must(dag.Event{Kind: dag.EventAdmit, Task: t.i}, now)
}

func (g *Graph) yield(t *task) {
	t.phase = phaseYielded
	g.gate.yielded = append(g.gate.yielded, t)
}

// makeWay makes tasks that wait for a place release their resources while all places are stuck.
func (g *Graph) makeWay(now time.Time) {
	switch blocked := g.blocked(); {
	case blocked && g.gate.admitted > 0:
		for _, t := range g.begun() {
			if t.admitted && g.engine.Withdraw(int(t.i)) {
				g.released(t, now)
				g.yield(t)
			}
		}
	case !blocked && len(g.gate.yielded) > 0 && g.room() > 0 && !g.run.Paused():
		g.offerYielded(now)
	}
}

// offerYielded drops tasks that were canceled meanwhile.
func (g *Graph) offerYielded(now time.Time) {
	room := g.room()
	if g.run.Options().Concurrency <= 0 {
		room = len(g.gate.yielded)
	}
	for room > 0 && len(g.gate.yielded) > 0 {
		t := g.gate.yielded[0]
		g.gate.yielded = g.gate.yielded[1:]
		if t.phase == phaseYielded {
			g.offer(t, now)
			room--
		}
	}
}

func (g *tasks) begun() []*task {
	list := make([]*task, 0, len(g.live))
	//workflowcheck:ignore sorted right below
	for _, t := range g.live {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *task) int { return cmp.Compare(a.seq, b.seq) })
	return list
}

func (g *catalog) grace(t *task) time.Duration {
	grace := max(jobtype.Policy{}.WithDefaults().HeartbeatTimeout, t.definition.HeartbeatTimeout)
	if known, ok := g.cfg.JobTypes[t.definition.JobType]; ok {
		grace = max(grace, known.Policy.HeartbeatTimeout)
	}
	return grace.Std()
}
