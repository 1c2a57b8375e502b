package dag_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag"
)

// chained declares n items of f and then g.
func chained(n int) dag.Input {
	var in dag.Input
	for k := range n {
		in.Tasks = append(in.Tasks, dag.Task{ID: fmt.Sprintf("f.%04d", k)})
	}
	for k := range n {
		in.Tasks = append(in.Tasks, dag.Task{ID: fmt.Sprintf("g.%04d", k), Needs: []string{fmt.Sprintf("f.%04d", k)}})
	}
	return in
}

// TestParkedTasksStay is I12 for items that wait for their chain and for their fan-out: the work of a
// report must not grow with the number of waiting items.
func TestParkedTasksStay(t *testing.T) {
	t.Parallel()
	r := dag.NewRun(mustBuild(t, chained(300)), dag.Options{
		FanOuts: map[string]int{"f": 1},
		Chains:  map[string]dag.Chain{"f": {Entries: []string{"f", "g"}, InFlight: 2}},
	})
	buf, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	var running []dag.Index
	most := 0
	for !r.Finished() {
		for _, d := range buf {
			running = append(running, d.Task)
		}
		before := r.Parked()
		buf, err = r.Next(dag.Event{Kind: dag.EventCompleted, Task: running[0]}, buf[:0])
		require.NoError(t, err)
		running = running[1:]
		moved := 0
		for k, n := range r.Parked() {
			moved += max(n-before[k], before[k]-n)
		}
		most = max(most, moved)
	}
	assert.LessOrEqual(t, most, 10, "parked tasks that one report has moved")
}

// TestLimitReleasesSome: repeating a limit with each growth must not touch all waiting tasks.
func TestLimitReleasesSome(t *testing.T) {
	t.Parallel()
	r := dag.NewRun(mustBuild(t, chained(300)), dag.Options{FanOuts: map[string]int{"f": 2}})
	_, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	_, err = r.Next(dag.Event{Kind: dag.EventPause}, nil)
	require.NoError(t, err)
	waiting := func() (n int) {
		for _, length := range r.Parked() {
			n += length
		}
		return n
	}
	before := waiting()
	_, err = r.Next(dag.Event{Kind: dag.EventSetConcurrency, FanOut: "f", Limit: 3}, nil)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, waiting(), before-1)
	decisions, err := r.Next(dag.Event{Kind: dag.EventSetConcurrency, FanOut: "f", Limit: 100}, nil)
	require.NoError(t, err)
	assert.Empty(t, decisions)
	decisions, err = r.Next(dag.Event{Kind: dag.EventResume}, nil)
	require.NoError(t, err)
	assert.Len(t, decisions, 98, "each start makes the next task available")
}

// TestTasksOfOtherKindsStart: an added task of a limited fan-out needs resources, and others wait behind it.
func TestTasksOfOtherKindsStart(t *testing.T) {
	t.Parallel()
	r := dag.NewRun(mustBuild(t, dag.Input{Tasks: []dag.Task{
		{ID: "gate", Gated: true}, {ID: "gate-too", Gated: true}, {ID: "f.1", Priority: 9}, {ID: "f.2", Gated: true, Priority: 5}, {ID: "f.3"},
	}}), dag.Options{Concurrency: 2, FanOuts: map[string]int{"f": 1}})
	start, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	require.Equal(t, "[start 2 start 0 start 1]", fmt.Sprint(start))
	next, err := r.Next(dag.Event{Kind: dag.EventCompleted, Task: 2}, nil)
	require.NoError(t, err)
	assert.Equal(t, "[start 4]", fmt.Sprint(next), "f.2 has no room at the gates")
}

// TestASkippedTaskTakesNoPlace: a task was skipped while it waited for its fan-out, and runs again with an item that may
// not begin. Its old entry must not hide the next task of the fan-out.
func TestASkippedTaskTakesNoPlace(t *testing.T) {
	t.Parallel()
	g := mustBuild(t, dag.Input{Tasks: []dag.Task{{ID: "f.b"}, {ID: "f.a"}, {ID: "f.c"}, {ID: "g.a"}, {ID: "g.b"}, {ID: "g.c"}, {ID: "g.d"}, {ID: "f.d"}}})
	r := dag.NewRun(g, dag.Options{FanOuts: map[string]int{"f": 1}, Chains: map[string]dag.Chain{"f": {Entries: []string{"f", "g"}, InFlight: 3}}})
	for _, c := range []struct {
		kind dag.EventKind
		task string
		want string
	}{
		{dag.EventStart, "f.b", "[start 0 start 3 start 4 start 5]"},
		{dag.EventSkip, "f.a", "[]"},
		{dag.EventCompleted, "g.a", "[start 6]"},
		{dag.EventRerun, "f.a", "[]"},
		{dag.EventCompleted, "f.b", "[start 2]"},
	} {
		i, _ := g.Lookup(c.task)
		decisions, err := r.Next(dag.Event{Kind: c.kind, Task: i}, nil)
		require.NoError(t, err)
		require.Equal(t, c.want, fmt.Sprint(decisions), "%s %s", c.kind, c.task)
	}
}
