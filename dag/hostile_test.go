package dag_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag"
)

// TestChainWithoutEntriesIsNone: an operator adds items to an entry that continues a chain, with a limit of their
// own. The entry stays in its chain; the run must survive continue-as-new.
func TestChainWithoutEntriesIsNone(t *testing.T) {
	t.Parallel()
	g := mustBuild(t, chained(2))
	r := dag.NewRun(g, dag.Options{Chains: map[string]dag.Chain{"f": {Entries: []string{"f", "g"}, InFlight: 1}}})
	_, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	_, err = r.Next(dag.Event{Kind: dag.EventAddTasks, Growth: &dag.Growth{
		Tasks:  []dag.Addition{{Task: dag.Task{ID: "g.more"}}},
		Chains: map[string]dag.Chain{"g": {Entries: []string{"g"}, InFlight: 5}},
	}}, nil)
	require.NoError(t, err)
	assert.Len(t, r.Chains(), 1)
	twin, err := dag.Restore(g, r.Snapshot())
	require.NoError(t, err)
	assert.Equal(t, r.Snapshot(), twin.Snapshot())
}

// TestContinuedTaskIsStopped: a task continues, waits for a place, and a second task fails under the policy stop.
// A run restored in between must decide the same.
func TestContinuedTaskIsStopped(t *testing.T) {
	t.Parallel()
	g := mustBuild(t, dag.Input{Tasks: []dag.Task{{ID: "a"}, {ID: "b"}, {ID: "c"}}})
	r := dag.NewRun(g, dag.Options{OnFailure: dag.Stop})
	step := func(r *dag.Run, ev dag.Event) {
		t.Helper()
		_, err := r.Next(ev, nil)
		require.NoError(t, err)
	}
	part := &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "part"}}}}
	step(r, dag.Event{Kind: dag.EventStart})
	step(r, dag.Event{Kind: dag.EventDeferred, Task: 0, Growth: part})
	step(r, dag.Event{Kind: dag.EventCompleted, Task: 3})
	step(r, dag.Event{Kind: dag.EventFailed, Task: 1})
	step(r, dag.Event{Kind: dag.EventPause})
	step(r, dag.Event{Kind: dag.EventDeferred, Task: 0, Growth: part})
	require.Equal(t, dag.Ready, r.State(0))
	twin, err := dag.Restore(g, r.Snapshot())
	require.NoError(t, err)
	step(r, dag.Event{Kind: dag.EventFailed, Task: 2})
	step(twin, dag.Event{Kind: dag.EventFailed, Task: 2})
	assert.Equal(t, dag.Canceled, r.State(0))
	assert.Equal(t, twin.State(0), r.State(0))
}

// TestCannotContinueAfterItsFollowers: a task is run again, and now wants to wait for the tasks that it added after
// itself. Waiting for nothing, it would start again and again.
func TestCannotContinueAfterItsFollowers(t *testing.T) {
	t.Parallel()
	r := dag.NewRun(mustBuild(t, dag.Input{Tasks: []dag.Task{{ID: "a"}}}), dag.Options{Hold: true})
	part := &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "part"}}}}
	for _, ev := range []dag.Event{
		{Kind: dag.EventStart}, {Kind: dag.EventCompleted, Task: 0, Growth: part}, {Kind: dag.EventFailed, Task: 1}, {Kind: dag.EventRerun, Task: 0},
	} {
		_, err := r.Next(ev, nil)
		require.NoError(t, err)
	}
	require.Equal(t, dag.Running, r.State(0))
	before := r.Snapshot()
	decisions, err := r.Next(dag.Event{Kind: dag.EventDeferred, Task: 0, Growth: part}, nil)
	require.ErrorContains(t, err, "give the new task another id")
	assert.Empty(t, decisions)
	assert.Equal(t, before, r.Snapshot())
}

// TestImpossibleLimitsAreNotRestored: a name, a list or an item in flight that no run writes.
func TestImpossibleLimitsAreNotRestored(t *testing.T) {
	t.Parallel()
	g := mustBuild(t, chained(2))
	r := dag.NewRun(g, dag.Options{FanOuts: map[string]int{"f": 1, "g": 2}, Chains: map[string]dag.Chain{"p": {Entries: []string{"f", "g"}, InFlight: 1}, "q": {Entries: []string{"h"}, InFlight: 3}}})
	_, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	whole := r.Snapshot()
	limits := "\x02\x01f\x01\x01g\x02"
	chains := "\x02\x01p\x01\x00\x02\x01f\x01g\x01\x00\x01q\x03\x00\x01\x01h\x00"
	for name, c := range map[string][2]string{
		"limits out of order":        {limits, "\x02\x01g\x01\x01f\x02"},
		"the limits of one name":     {limits, "\x02\x01f\x01\x01f\x02"},
		"a limit of nothing":         {limits, "\x02\x01f\x00\x01g\x02"},
		"no limits":                  {limits, "\x00"},
		"chains out of order":        {chains, "\x02\x01q\x03\x00\x01\x01h\x00\x01p\x01\x00\x02\x01f\x01g\x01\x00"},
		"the chains of one name":     {chains, "\x02\x01p\x01\x00\x02\x01f\x01g\x01\x00\x01p\x03\x00\x01\x01h\x00"},
		"a chain of nothing":         {chains, "\x02\x01p\x00\x00\x02\x01f\x01g\x01\x00\x01q\x03\x00\x01\x01h\x00"},
		"a chain without entries":    {chains, "\x02\x01p\x01\x00\x02\x01f\x01g\x01\x00\x01q\x03\x00\x00\x00"},
		"an entry twice":             {chains, "\x02\x01p\x01\x00\x02\x01f\x01f\x01\x00\x01q\x03\x00\x01\x01h\x00"},
		"an entry of two chains":     {chains, "\x02\x01p\x01\x00\x02\x01f\x01g\x01\x00\x01q\x03\x00\x01\x01g\x00"},
		"an entry without a name":    {chains, "\x02\x01p\x01\x00\x02\x01f\x00\x01\x00\x01q\x03\x00\x01\x01h\x00"},
		"a second task of an item":   {chains, "\x02\x01p\x01\x00\x02\x01f\x01g\x01\x02\x01q\x03\x00\x01\x01h\x00"},
		"an item of another chain":   {chains, "\x02\x01p\x01\x00\x02\x01f\x01g\x00\x01q\x03\x00\x01\x01h\x01\x00"},
		"no chains, although listed": {chains, "\x00"},
	} {
		require.Equal(t, 1, bytes.Count(whole, []byte(c[0])), name)
		_, err := dag.Restore(g, reseal(bytes.Replace(whole, []byte(c[0]), []byte(c[1]), 1)))
		assert.ErrorIs(t, err, dag.ErrCorrupt, name)
	}
}
