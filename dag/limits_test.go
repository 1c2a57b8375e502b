package dag_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag"
)

// begun starts a run.
func begun(t *testing.T, in dag.Input, o dag.Options) (*dag.Run, []dag.Decision) {
	t.Helper()
	r := dag.NewRun(mustBuild(t, in), o)
	buf, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	return r, buf
}

func next(t *testing.T, r *dag.Run, ev dag.Event) []dag.Decision {
	t.Helper()
	buf, err := r.Next(ev, nil)
	require.NoError(t, err)
	return buf
}

func refused(t *testing.T, r *dag.Run, ev dag.Event) string {
	t.Helper()
	before := r.Snapshot()
	_, err := r.Next(ev, nil)
	require.Error(t, err)
	assert.Equal(t, before, r.Snapshot(), "I7")
	return err.Error()
}

func many(n int, task func(k int) dag.Task) (in dag.Input) {
	for k := range n {
		in.Tasks = append(in.Tasks, task(k))
	}
	return in
}

// TestCrowdedTasksAreBounded: each is in the state of the run. The next one starts when a crowded one is admitted.
func TestCrowdedTasksAreBounded(t *testing.T) {
	t.Parallel()
	r, start := begun(t, many(dag.MaxCrowded+50, func(k int) dag.Task { return dag.Task{ID: fmt.Sprint(k), Gated: true} }), dag.Options{Concurrency: 10})
	require.Len(t, start, 10)
	for k := 0; r.Crowded() < dag.MaxCrowded; k++ {
		started := next(t, r, dag.Event{Kind: dag.EventCrowded, Task: dag.Index(k)})
		want := 1
		if r.Crowded() == dag.MaxCrowded {
			want = 0
		}
		require.Len(t, started, want, "%d are crowded", r.Crowded())
	}
	assert.Equal(t, 9, r.AtGate())
	assert.Len(t, next(t, r, dag.Event{Kind: dag.EventAdmit, Task: 0}), 2, "it proceeds, and the next one comes to the gates")
	assert.Equal(t, []int{dag.MaxCrowded - 1, 10, 1}, []int{r.Crowded(), r.AtGate(), r.InFlight()})
}

// TestLimitsThatAreNone: a limit has a name and is positive.
func TestLimitsThatAreNone(t *testing.T) {
	t.Parallel()
	o := dag.Options{
		FanOuts: map[string]int{"f": 0, "": 2, "g": -1, "later": 3},
		Chains:  map[string]dag.Chain{"f": {Entries: []string{"f"}}, "": {Entries: []string{"f"}, InFlight: 2}, "g": {InFlight: 2}, "x": {Entries: []string{""}, InFlight: 2}},
	}
	r, start := begun(t, chained(3), o)
	assert.Len(t, start, 3)
	assert.Empty(t, r.Chains())
	assert.Equal(t, []dag.FanOut{{Name: "later", Limit: 3}}, r.FanOuts())
}

// TestALimitIsSetWhereItMayHold: at a fan-out with tasks, or with a limit.
func TestALimitIsSetWhereItMayHold(t *testing.T) {
	t.Parallel()
	r, start := begun(t, chained(4), dag.Options{Concurrency: 1, FanOuts: map[string]int{"later": 3}})
	require.Len(t, start, 1)
	set := func(fanOut string, limit int) dag.Event {
		return dag.Event{Kind: dag.EventSetConcurrency, FanOut: fanOut, Limit: limit, Task: dag.None}
	}
	for fanOut, limit := range map[string]int{"nobody": 1, "f": 0, "g": -1, "later": 0} {
		assert.Contains(t, refused(t, r, set(fanOut, limit)), fmt.Sprintf("there is no fan-out %q yet that could run %d tasks", fanOut, limit))
	}
	assert.Empty(t, next(t, r, set("later", 5)))
	assert.Empty(t, next(t, r, set("f", 2)))
	assert.Equal(t, []dag.FanOut{{Name: "f", Limit: 2, Running: 1, Ready: 3}, {Name: "later", Limit: 5}}, r.FanOuts())
	assert.Len(t, next(t, r, set("", -7)), 1, "the run has no limit, the fan-out has one")
	assert.Zero(t, r.Options().Concurrency)
	f, limited := r.FanOut(0)
	assert.Equal(t, []any{dag.FanOut{Name: "f", Limit: 2, Running: 2, Ready: 2}, true, true}, []any{f, limited, f.Full()})
	_, limited = r.FanOut(4)
	assert.False(t, limited)
	assert.Empty(t, next(t, r, set("f", 1)), "running tasks continue")
	f, _ = r.FanOut(0)
	assert.True(t, f.Full())
}

// TestAnOperatorRaisesALimitWithTasksThatAreThere: the request is repeated, and only its limits are new.
func TestAnOperatorRaisesALimitWithTasksThatAreThere(t *testing.T) {
	t.Parallel()
	r, start := begun(t, many(4, func(k int) dag.Task { return dag.Task{ID: fmt.Sprintf("f.%d", k)} }), dag.Options{FanOuts: map[string]int{"f": 1}})
	require.Len(t, start, 1)
	again := &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "f.3"}}}, FanOuts: map[string]int{"f": 2}}
	assert.Len(t, next(t, r, dag.Event{Kind: dag.EventAddTasks, Growth: again}), 1)
	assert.Empty(t, r.Redefined())

	again.FanOuts["f"] = 4
	part := &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "part"}}}}
	next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 0, Growth: part})
	next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 4})
	next(t, r, dag.Event{Kind: dag.EventRerun, Task: 0})
	for i := dag.Index(1); r.State(0) != dag.Running; i++ { // The limit is taken by others.
		next(t, r, dag.Event{Kind: dag.EventCompleted, Task: i})
	}
	repeated := &dag.Growth{Tasks: part.Tasks, FanOuts: map[string]int{"f": 4}, Chains: map[string]dag.Chain{"f": {Entries: []string{"f"}, InFlight: 1}}}
	next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 0, Growth: repeated})
	assert.Equal(t, 2, r.FanOuts()[0].Limit, "a splitter's repetition changes nothing")
	assert.Empty(t, r.Chains())
}

// TestAResumedRunKeepsTheLimitsOfAddedFanOuts: those that its own document declares come from there.
func TestAResumedRunKeepsTheLimitsOfAddedFanOuts(t *testing.T) {
	t.Parallel()
	in := dag.Input{Tasks: []dag.Task{{ID: "split"}, {ID: "own.a"}, {ID: "own.b"}, {ID: "stands", FanOut: true, Needs: []string{"split"}}}}
	prior, _ := begun(t, in, dag.Options{FanOuts: map[string]int{"own": 1}, Chains: map[string]dag.Chain{"own": {Entries: []string{"own"}, InFlight: 1}}})
	growth := &dag.Growth{
		Tasks:   []dag.Addition{{Task: dag.Task{ID: "new.a"}}, {Task: dag.Task{ID: "new.b"}}, {Task: dag.Task{ID: "given.a"}}, {Task: dag.Task{ID: "stands.a"}, Under: "stands"}},
		FanOuts: map[string]int{"new": 2, "given": 3, "stands": 4},
		Chains:  map[string]dag.Chain{"new": {Entries: []string{"new"}, InFlight: 2}, "given": {Entries: []string{"given"}, InFlight: 3}, "stands": {Entries: []string{"stands"}, InFlight: 4}},
	}
	next(t, prior, dag.Event{Kind: dag.EventCompleted, Task: 0, Growth: growth})
	next(t, prior, dag.Event{Kind: dag.EventCancelRun, Task: dag.None})
	o := dag.Options{FanOuts: map[string]int{"given": 7}, Chains: map[string]dag.Chain{"given": {Entries: []string{"given"}, InFlight: 7}}}
	run, _, err := dag.Resume(prior, prior.Graph(), o, dag.ResumeRequest{Run: "first"})
	require.NoError(t, err)
	limits, inFlight := map[string]int{}, map[string]int{}
	for _, f := range run.FanOuts() {
		limits[f.Name] = f.Limit
	}
	for _, c := range run.Chains() {
		inFlight[c.Name] = c.Limit
	}
	assert.Equal(t, map[string]int{"given": 7, "new": 2}, limits, "the document has own and stands, without limits now")
	assert.Equal(t, map[string]int{"given": 7, "new": 2}, inFlight)
	assert.Equal(t, []string{"given", "new"}, slices.Sorted(maps.Keys(inFlight)))
}

// TestAGrowthHasBounds: a splitter between wide layers brings as many dependencies as both have tasks.
func TestAGrowthHasBounds(t *testing.T) {
	t.Parallel()
	const wide = 1 << 10
	in := many(wide, func(k int) dag.Task { return dag.Task{ID: fmt.Sprint("t", k), Needs: []string{"first"}} })
	in.Tasks = append(in.Tasks, dag.Task{ID: "first"})
	r, _ := begun(t, in, dag.Options{})
	part := func(n int) *dag.Growth {
		g := &dag.Growth{}
		for k := range n {
			g.Tasks = append(g.Tasks, dag.Addition{Task: dag.Task{ID: fmt.Sprint("n", k), Needs: []string{"first"}}})
		}
		return g
	}
	assert.Contains(t, refused(t, r, dag.Event{Kind: dag.EventCompleted, Task: wide, Growth: part(wide)}), "the added tasks bring 1049600 dependencies; the limit is 1048576 at once")
	next(t, r, dag.Event{Kind: dag.EventCompleted, Task: wide, Growth: part(wide - 1)})
	assert.Equal(t, 2*wide, r.Len())
}

// TestALimitIsAddedToTasksThatWait for another one: all of them start in the end.
func TestALimitIsAddedToTasksThatWait(t *testing.T) {
	t.Parallel()
	chain := map[string]dag.Chain{"f": {Entries: []string{"f", "g"}, InFlight: 1}}
	for name, c := range map[string]struct {
		options dag.Options
		ev      dag.Event
	}{
		"a fan-out of a chain":  {dag.Options{Chains: chain}, dag.Event{Kind: dag.EventSetConcurrency, FanOut: "f", Limit: 2, Task: dag.None}},
		"a chain of a fan-out":  {dag.Options{FanOuts: map[string]int{"f": 1}}, dag.Event{Kind: dag.EventAddTasks, Task: dag.None, Growth: &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "more"}}}, Chains: chain}}},
		"a fan-out that paused": {dag.Options{Chains: chain, FanOuts: map[string]int{"f": 1}}, dag.Event{Kind: dag.EventPause, Task: dag.None}},
	} {
		r, _ := begun(t, chained(6), c.options)
		next(t, r, c.ev)
		next(t, r, dag.Event{Kind: dag.EventResume, Task: dag.None})
		for range r.Len() {
			for i := range dag.Index(r.Len()) {
				if r.State(i) == dag.Running {
					next(t, r, dag.Event{Kind: dag.EventCompleted, Task: i})
				}
			}
		}
		assert.True(t, r.Finished(), "%s: %d tasks are ready, %d wait", name, r.Count(dag.Ready), r.Count(dag.Pending))
	}
}
