package dag_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/dag"
)

// drawTask draws one task that may need any of the earlier ones.
func drawTask(t *rapid.T, id string, earlier []string) dag.Task {
	task := dag.Task{
		ID:        id,
		Priority:  int32(rapid.SampledFrom([]int{0, 0, 0, 1, -2, 7}).Draw(t, "priority")),
		Rule:      rapid.SampledFrom([]dag.Rule{0, 0, 0, 0, dag.AllDone, dag.OneFailed, dag.Always}).Draw(t, "rule"),
		Unmetered: rapid.IntRange(0, 9).Draw(t, "free") == 0,
		Gated:     rapid.IntRange(0, 2).Draw(t, "gated") == 0,
		FanOut:    rapid.IntRange(0, 5).Draw(t, "isFanOut") == 0,
		Payload:   []byte(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "payload")),
	}
	switch id[:2] { // The tasks of a fan-out differ in their args only.
	case "f.":
		task.Priority, task.Unmetered, task.Gated, task.FanOut = 0, false, false, false
	case "g.":
		task.Priority, task.Unmetered, task.Gated, task.FanOut = 1, false, true, false
	case "h.":
		task.Priority, task.Unmetered = 0, true
	}
	if rapid.IntRange(0, 3).Draw(t, "hasArgs") == 0 {
		task.Args = []byte(id)
	}
	if len(earlier) > 0 {
		task.Needs = rapid.SliceOfNDistinct(rapid.SampledFrom(earlier), 0, min(len(earlier), 4), rapid.ID).Draw(t, "needs")
	}
	if task.Rule == dag.OneFailed && len(task.Needs) == 0 {
		task.Rule = dag.AllSuccess
	}
	return task
}

// drawID names a task: some are of a fan-out. Two fan-outs share each item.
func drawID(t *rapid.T, prefix string, n int) string {
	if rapid.IntRange(0, 2).Draw(t, "fanOut") == 0 {
		return fmt.Sprintf("%s%d", prefix, n)
	}
	return fmt.Sprintf("%s.%s%d", []string{"f", "g"}[n%2], prefix, n/2)
}

// drawInput draws an acyclic declaration in any order.
func drawInput(t *rapid.T, most int) dag.Input {
	n := rapid.IntRange(0, most).Draw(t, "tasks")
	var in dag.Input
	var ids []string
	for k := range n {
		id := drawID(t, "t", k)
		in.Tasks = append(in.Tasks, drawTask(t, id, ids))
		ids = append(ids, id)
	}
	in.Tasks = rapid.Permutation(in.Tasks).Draw(t, "order")
	if rapid.Bool().Draw(t, "meta") {
		in.Meta = []byte("meta")
	}
	return in
}

func drawOptions(t *rapid.T) dag.Options {
	return dag.Options{
		Concurrency: rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "concurrency"),
		OnFailure:   rapid.SampledFrom([]dag.FailurePolicy{dag.Continue, dag.Stop}).Draw(t, "onFailure"),
		Hold:        rapid.IntRange(0, 3).Draw(t, "hold") == 0,
		FanOuts:     rapid.SampledFrom([]map[string]int{nil, nil, {"f": 1}, {"f": 2, "g": 1}, {"f": 1, "g": 1, "h": 1}}).Draw(t, "fanOuts"),
		Chains: rapid.SampledFrom([]map[string]dag.Chain{
			nil,
			nil,
			{"f": {Entries: []string{"f", "g"}, InFlight: 1, OnFailure: dag.Stop}},
			{"f": {Entries: []string{"f", "g", "h"}, InFlight: 2}},
			{"f": {Entries: []string{"f", "h"}, InFlight: 2, OnFailure: dag.Stop}, "g": {Entries: []string{"g"}, InFlight: 1}},
		}).Draw(t, "chains"),
	}
}

// pair runs dag.Run next to the reference.
type pair struct {
	t     *rapid.T
	graph *dag.Graph
	run   *dag.Run
	ref   *reference
	added int
	// reports is how many of ten events are reports; the others are requests.
	reports int
}

func newPair(t *rapid.T, in dag.Input, o dag.Options) *pair {
	g, err := dag.Build(in)
	require.NoError(t, err)
	return &pair{t: t, graph: g, run: dag.NewRun(g, o), ref: newReference(in, o), reports: rapid.SampledFrom([]int{3, 7}).Draw(t, "reports")}
}

func (p *pair) index(id string) dag.Index {
	if id == "" {
		return dag.None
	}
	i, ok := p.run.Lookup(id)
	require.True(p.t, ok, "no task %s", id)
	return i
}

// named writes decisions by task names.
func (p *pair) named(ds []dag.Decision) []out {
	var outs []out
	for _, d := range ds {
		o := out{kind: d.Kind, end: d.Outcome}
		if d.Task != dag.None {
			o.task = p.run.ID(d.Task)
		}
		outs = append(outs, o)
	}
	return outs
}

func (p *pair) states() map[string]dag.State {
	m := map[string]dag.State{}
	for i := range dag.Index(p.run.Len()) {
		m[p.run.ID(i)] = p.run.State(i)
	}
	return m
}

// step gives one event to both and compares all visible state.
func (p *pair) step(kind dag.EventKind, id string, limit int, g *dag.Growth) {
	before := p.states()
	snapshot := p.run.Snapshot()
	ev := dag.Event{Kind: kind, Task: dag.None, Limit: limit, Growth: g}
	if kind == dag.EventSetConcurrency {
		ev.FanOut = id
	} else {
		ev.Task = p.index(id)
	}
	twin, err := dag.Restore(p.graph, snapshot)
	require.NoError(p.t, err)

	got, err := p.run.Next(ev, nil)
	want, ok := p.ref.step(kind, id, limit, g)
	require.Equal(p.t, ok, err == nil, "%s %s: reference accepts: %t, run says: %v", kind, id, ok, err)
	require.Equal(p.t, want, p.named(got), "%s %s", kind, id)
	if err != nil {
		require.Equal(p.t, snapshot, p.run.Snapshot(), "I7: a refused event changed something")
	}

	// I9: a run restored before the event makes the same decisions and ends in the same state.
	same, twinErr := twin.Next(ev, nil)
	require.Equal(p.t, got, same)
	require.Equal(p.t, err == nil, twinErr == nil)
	require.Equal(p.t, p.run.Snapshot(), twin.Snapshot())
	require.ElementsMatch(p.t, p.run.Transitions(), twin.Transitions())
	require.Equal(p.t, p.run.Chains(), twin.Chains())
	require.Equal(p.t, p.run.FanOuts(), twin.FanOuts())

	p.compare(before, err == nil)
}

func (p *pair) compare(before map[string]dag.State, accepted bool) {
	counts := map[dag.State]int{}
	after := p.states()
	require.Len(p.t, after, len(p.ref.tasks))
	flight, gates := 0, 0
	for id, t := range p.ref.tasks {
		require.Equal(p.t, t.state.String(), after[id].String(), "task %s", id)
		require.Equal(p.t, t.canceling, p.run.Canceling(p.index(id)), "task %s canceling", id)
		counts[t.state]++
		require.Equal(p.t, t.admitted, p.run.Admitted(p.index(id)), "task %s admitted", id)
		switch {
		case t.state != dag.Running || t.free:
		case t.crowded:
		case t.gate:
			gates++
		default:
			flight++
		}
	}
	for _, s := range dag.States() {
		require.Equal(p.t, counts[s], p.run.Count(s), "I10: count of %s", s)
	}
	for _, f := range p.run.FanOuts() {
		require.Equal(p.t, p.ref.limits[f.Name], f.Limit)
		require.Equal(p.t, p.ref.inFanOut(f.Name, dag.Running), f.Running)
		require.Equal(p.t, p.ref.inFanOut(f.Name, dag.Ready), f.Ready)
		ran := 0 // Running tasks continue when the limit is lowered.
		for id, t := range p.ref.tasks {
			if t.fanOut == f.Name && before[id] == dag.Running {
				ran++
			}
		}
		require.LessOrEqual(p.t, f.Running, max(f.Limit, ran), "I16: too many tasks of %s run", f.Name)
	}
	require.Len(p.t, p.run.FanOuts(), len(p.ref.limits))
	p.compareChains()
	require.Equal(p.t, flight, p.run.InFlight())
	require.Equal(p.t, gates, p.run.AtGate())
	require.Equal(p.t, p.ref.finished, p.run.Finished())
	require.Equal(p.t, p.ref.held, p.run.Held())
	if accepted {
		for _, m := range p.run.Transitions() {
			id := p.run.ID(m.Task)
			require.Equal(p.t, before[id], m.From, "I10: transition of %s", id)
			before[id] = m.To
		}
		for id, s := range before {
			require.Equal(p.t, after[id], s, "I10: transitions of %s lead elsewhere", id)
		}
	}
	p.invariants(counts, flight, gates)
}

func (p *pair) compareChains() {
	require.Len(p.t, p.run.Chains(), len(p.ref.chains))
	p.ref.endItems()
	for _, c := range p.run.Chains() {
		waiting, ready := map[string]bool{}, 0
		for id, t := range p.ref.tasks {
			item, of := p.ref.item(id)
			if of != c.Name || p.ref.begun[item] || t.state >= dag.Completed {
				continue
			}
			waiting[item] = true
			if t.state == dag.Ready {
				ready++
			}
		}
		require.Equal(p.t, dag.ChainUse{
			Name: c.Name, Limit: p.ref.chains[c.Name].InFlight, InFlight: p.ref.inFlight(c.Name), Waiting: len(waiting), Ready: ready,
		}, c, "I19")
	}
}

// invariants checks the invariants of every state, without the reference.
func (p *pair) invariants(counts map[dag.State]int, flight, gates int) {
	o := p.run.Options()
	active := p.run.Started() && !p.run.Finished() && !p.run.Held()
	if active && !p.run.Paused() {
		for id, t := range p.ref.tasks {
			full := func(n int) bool { return o.Concurrency > 0 && n >= o.Concurrency }
			f, limited := p.run.FanOut(p.index(id))
			switch {
			case t.state == dag.Ready && limited && f.Full():
			case t.state == dag.Ready && p.ref.barred(id):
				_, waits := p.run.WaitsForItem(p.index(id))
				require.True(p.t, waits, "I19: the chain does not say that %s waits", id)
				_, of := p.ref.item(id)
				require.Len(p.t, p.run.OpenItems(of, 100), p.ref.inFlight(of))
			case t.state == dag.Ready && t.gated:
				require.True(p.t, full(gates), "I2: a gated task waits without need")
			case t.state == dag.Ready:
				require.False(p.t, t.free, "I2: an unmetered task waits")
				require.True(p.t, full(flight), "I2: a ready task waits without need")
			case t.admitted:
				require.True(p.t, full(flight), "I15: an admitted task waits without need")
			}
		}
	}
	live := counts[dag.Pending] + counts[dag.Ready] + counts[dag.Running]
	require.Equal(p.t, active, p.run.Started() && live > 0, "I8")
	if active && live > 0 {
		require.Positive(p.t, counts[dag.Ready]+counts[dag.Running], "a run must never wait for nothing")
	}
}

// growth draws tasks to add that both sides accept.
func (p *pair) growth(splitter string) *dag.Growth {
	g := &dag.Growth{FanOuts: map[string]int{"h": 2}, Chains: rapid.SampledFrom([]map[string]dag.Chain{
		nil,
		nil,
		{"h": {Entries: []string{"h"}, InFlight: 1}},
		{"g": {Entries: []string{"g", "h"}, InFlight: 2, OnFailure: dag.Stop}},
	}).Draw(p.t, "addedChains")}
	var fresh []string
	for range rapid.IntRange(1, 3).Draw(p.t, "additions") {
		id := drawID(p.t, "n", p.added)
		if rapid.IntRange(0, 2).Draw(p.t, "limited") == 0 {
			id = fmt.Sprintf("h.n%d", p.added)
		}
		p.added++
		choice := fresh
		if splitter == "" || rapid.IntRange(0, 2).Draw(p.t, "foreign") == 0 {
			choice = append(append([]string{}, p.ref.order...), fresh...)
		}
		a := dag.Addition{Task: drawTask(p.t, id, choice)}
		if fans := p.ref.where(func(t *refTask) bool { return t.fan }); splitter != "" && len(fans) > 0 && rapid.Bool().Draw(p.t, "ofFanOut") {
			a.Under = rapid.SampledFrom(fans).Draw(p.t, "under")
		}
		if splitter == "" && rapid.Bool().Draw(p.t, "before") {
			if waiting := p.ref.where(func(t *refTask) bool { return t.state < dag.Running }); len(waiting) > 0 {
				a.Before = []string{rapid.SampledFrom(waiting).Draw(p.t, "target")}
			}
		}
		g.Tasks = append(g.Tasks, a)
		fresh = append(fresh, id)
	}
	p.redefine(g, splitter, fresh)
	return g
}

// redefine adds existing tasks of the run to a growth.
func (p *pair) redefine(g *dag.Growth, splitter string, fresh []string) {
	choice := p.ref.where(func(t *refTask) bool {
		continues := slices.ContainsFunc(t.needs, func(n string) bool { return p.ref.tasks[p.ref.tasks[n].parent] == t })
		return t.state < dag.Running && !t.fan && t.under == "" && (splitter == "" || t.parent == splitter) && !continues
	})
	if len(choice) == 0 || rapid.IntRange(0, 2).Draw(p.t, "redefines") > 0 {
		return
	}
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom(choice), 1, min(2, len(choice)), rapid.ID).Draw(p.t, "redefined") {
		earlier := slices.DeleteFunc(append(slices.Clone(p.ref.order), fresh...), func(n string) bool { return n == id })
		a := dag.Addition{Task: drawTask(p.t, id, earlier)}
		a.FanOut = false
		if splitter == "" && rapid.Bool().Draw(p.t, "before") {
			if waiting := p.ref.where(func(t *refTask) bool { return t.state < dag.Running && t != p.ref.tasks[id] }); len(waiting) > 0 {
				a.Before = []string{rapid.SampledFrom(waiting).Draw(p.t, "target")}
			}
		}
		a.Payload = fmt.Appendf(nil, "again %d", p.added)
		p.added++
		g.Tasks = append(g.Tasks, a)
	}
}

// closesCycle reports whether the growth closes a cycle, by a simple search.
func (p *pair) closesCycle(g *dag.Growth, splitter string) bool {
	needs := map[string][]string{}
	for id, t := range p.ref.tasks {
		needs[id] = append([]string{}, t.needs...)
	}
	own := func(a dag.Addition) []string {
		if len(a.Needs) == 0 && splitter != "" {
			return []string{splitter}
		}
		return a.Needs
	}
	for _, a := range g.Tasks {
		if p.ref.tasks[a.ID] != nil {
			needs[a.ID] = p.ref.imposed(a.ID, own(a))
		}
	}
	for _, a := range g.Tasks {
		needs[a.ID] = append(needs[a.ID], own(a)...)
		for _, b := range a.Before {
			needs[b] = append(needs[b], a.ID)
		}
	}
	for _, a := range g.Tasks {
		for _, id := range p.ref.heirs(splitter, a.Under) {
			if p.ref.tasks[a.ID] == nil && !neededBeside(g, a) {
				needs[id] = append(needs[id], a.ID)
			}
		}
	}
	for len(needs) > 0 {
		removed := false
		for id, row := range needs {
			free := true
			for _, n := range row {
				if _, there := needs[n]; there {
					free = false
				}
			}
			if free {
				delete(needs, id)
				removed = true
			}
		}
		if !removed {
			return true
		}
	}
	return false
}

// event draws the next event: mostly reports of running tasks.
func (p *pair) event() {
	running := p.ref.where(func(t *refTask) bool { return t.state == dag.Running })
	if len(running) > 0 && rapid.IntRange(0, 9).Draw(p.t, "report") < p.reports {
		id := rapid.SampledFrom(running).Draw(p.t, "running")
		kind := rapid.SampledFrom([]dag.EventKind{
			dag.EventCompleted, dag.EventCompleted, dag.EventCompleted, dag.EventFailed,
			dag.EventSkipped, dag.EventCanceled, dag.EventStarted, dag.EventAdmit, dag.EventAdmit, dag.EventAdmit, dag.EventWithdraw, dag.EventCrowded, dag.EventYield,
		}).Draw(p.t, "end")
		if rapid.IntRange(0, 9).Draw(p.t, "defers") == 0 {
			p.deferTo(id)
			return
		}
		if kind == dag.EventCompleted && p.ref.cancel == 0 && rapid.IntRange(0, 5).Draw(p.t, "split") == 0 {
			p.grow(kind, id)
			return
		}
		p.step(kind, id, 0, nil)
		return
	}
	p.request()
}

// deferTo makes a task wait for tasks that it adds; some need other tasks of the run. The run refuses
// it if these wait for the task.
func (p *pair) deferTo(id string) {
	if t := p.ref.tasks[id]; p.ref.cancel > 0 || t.canceling || t.rule == dag.OneFailed {
		p.step(dag.EventDeferred, id, 0, &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "never"}}}})
		return
	}
	g := p.growth(id)
	g.Tasks = slices.DeleteFunc(g.Tasks, func(a dag.Addition) bool { return p.ref.tasks[a.ID] != nil })
	for k := range g.Tasks {
		g.Tasks[k].Under, g.Tasks[k].Before = "", []string{id}
	}
	if !p.closesCycle(g, "") {
		for k := range g.Tasks {
			g.Tasks[k].Before = nil
		}
		p.step(dag.EventDeferred, id, 0, g)
		return
	}
	before := p.run.Snapshot()
	_, err := p.run.Next(dag.Event{Kind: dag.EventDeferred, Task: p.index(id), Growth: g}, nil)
	var faults *dag.FaultsError
	require.ErrorAs(p.t, err, &faults, "I11: a cycle was accepted")
	require.Equal(p.t, before, p.run.Snapshot(), "I7")
}

// grow adds tasks, which the run must refuse if they close a cycle.
func (p *pair) grow(kind dag.EventKind, splitter string) {
	g := p.growth(splitter)
	if !p.closesCycle(g, splitter) {
		p.step(kind, splitter, 0, g)
		return
	}
	before := p.run.Snapshot()
	_, err := p.run.Next(dag.Event{Kind: kind, Task: p.index(splitter), Growth: g}, nil)
	var faults *dag.FaultsError
	require.ErrorAs(p.t, err, &faults, "I11: a cycle was accepted")
	require.Equal(p.t, before, p.run.Snapshot(), "I7")
}

// splitter returns a task that has added others; running it again is where
// growth and operators meet.
func (p *pair) splitter() string {
	for _, id := range p.ref.order {
		if parent := p.ref.tasks[id].parent; parent != "" {
			return parent
		}
	}
	return ""
}

func (p *pair) request() {
	kind := rapid.SampledFrom([]dag.EventKind{
		dag.EventStart, dag.EventCompleted, dag.EventFailed,
		dag.EventRetry, dag.EventRetry, dag.EventRetry, dag.EventSkip, dag.EventSkip, dag.EventRerun, dag.EventRerun, dag.EventRerun,
		dag.EventCancelTask, dag.EventCancelTask, dag.EventCancelRun, dag.EventDeadline, dag.EventPause, dag.EventResume, dag.EventResume,
		dag.EventAddTasks, dag.EventSetConcurrency, dag.EventRelease,
	}).Draw(p.t, "request")
	switch kind {
	case dag.EventAddTasks:
		if p.ref.finished || !p.ref.started || p.ref.cancel > 0 {
			p.step(kind, "", 0, &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "late"}}}})
			return
		}
		p.grow(kind, "")
	case dag.EventSetConcurrency:
		p.step(kind, rapid.SampledFrom([]string{"", "", "f", "g", "none"}).Draw(p.t, "fanOut"), rapid.IntRange(0, 3).Draw(p.t, "limit"), nil)
	case dag.EventCompleted, dag.EventFailed, dag.EventSkip, dag.EventRerun, dag.EventCancelTask:
		if kind == dag.EventRerun && rapid.Bool().Draw(p.t, "splitter") {
			if id := p.splitter(); id != "" {
				p.step(kind, id, 0, nil)
				return
			}
		}
		if len(p.ref.order) > 0 {
			p.step(kind, rapid.SampledFrom(p.ref.order).Draw(p.t, "task"), 0, nil)
		}
	case dag.EventRetry:
		choice := p.ref.where(func(t *refTask) bool { return t.state == dag.Failed || t.state == dag.Canceled })
		if rapid.IntRange(0, 3).Draw(p.t, "any") == 0 {
			choice = append([]string{""}, p.ref.order...)
		}
		if len(choice) > 0 {
			p.step(kind, rapid.SampledFrom(choice).Draw(p.t, "task"), 0, nil)
		}
	default:
		p.step(kind, "", rapid.IntRange(0, 3).Draw(p.t, "limit"), nil)
	}
}

// TestAgainstReference drives random graphs with random reports and requests
// through the run and the reference and compares every decision and every state
// (I1–I4, I6–I11).
func TestAgainstReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t, drawInput(t, rapid.SampledFrom([]int{4, 10}).Draw(t, "size")), drawOptions(t))
		if rapid.IntRange(0, 9).Draw(t, "early") > 0 {
			p.step(dag.EventStart, "", 0, nil)
		}
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			p.event()
		}
		p.finish()
	})
}

// finish brings the run to its end, which must always be possible (I8).
func (p *pair) finish() {
	p.step(dag.EventStart, "", 0, nil)
	if p.ref.finished {
		return
	}
	p.step(dag.EventResume, "", 0, nil)
	for range 10 * (len(p.ref.order) + 1) {
		running := p.ref.where(func(t *refTask) bool { return t.state == dag.Running })
		if len(running) == 0 {
			break
		}
		p.step(dag.EventCompleted, running[0], 0, nil)
	}
	if p.ref.held {
		p.step(dag.EventRelease, "", 0, nil)
	}
	require.True(p.t, p.run.Finished(), "I8: the run did not end")
	require.NotEqual(p.t, dag.NoOutcome, p.run.Outcome())
}
