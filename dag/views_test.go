package dag_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag"
)

// TestTheTaskThatStopsAChainIsNamed: a failed one before one that only could not start.
func TestTheTaskThatStopsAChainIsNamed(t *testing.T) {
	t.Parallel()
	in := chained(3)
	in.Tasks = append(in.Tasks, dag.Task{ID: "alone", Needs: []string{"f.0002"}})
	r, _ := begun(t, in, dag.Options{Hold: true, Chains: map[string]dag.Chain{"f": {Entries: []string{"g", "f"}, InFlight: 1, OnFailure: dag.Stop}}})
	require.Equal(t, dag.None, r.StoppedBy(1), "it waits for its turn")
	next(t, r, dag.Event{Kind: dag.EventFailed, Task: 0})
	require.Equal(t, dag.UpstreamFailed, r.State(3))
	for _, i := range []dag.Index{1, 2, 4, 5} {
		require.Equal(t, dag.Canceled, r.State(i))
		assert.Equal(t, dag.Index(0), r.StoppedBy(i), "task %s", r.ID(i))
	}
	assert.Equal(t, dag.None, r.StoppedBy(0))
	assert.Equal(t, dag.None, r.StoppedBy(3), "it was blocked")
	assert.Equal(t, dag.None, r.StoppedBy(6), "it is of no chain")
	assert.Equal(t, dag.UpstreamFailed, r.State(6))

	next(t, r, dag.Event{Kind: dag.EventRetry, Task: 0})
	assert.Equal(t, dag.None, r.StoppedBy(1))
}

// TestACanceledTaskIsNotStopped: an operator canceled it, or the policy of the run did.
func TestACanceledTaskIsNotStopped(t *testing.T) {
	t.Parallel()
	chains := map[string]dag.Chain{"f": {Entries: []string{"f", "g"}, InFlight: 1, OnFailure: dag.Stop}}
	r, _ := begun(t, chained(2), dag.Options{Hold: true, Chains: chains})
	next(t, r, dag.Event{Kind: dag.EventCancelTask, Task: 1})
	next(t, r, dag.Event{Kind: dag.EventFailed, Task: 0})
	require.Equal(t, dag.Canceled, r.State(1))
	assert.Equal(t, dag.None, r.StoppedBy(1))

	r, _ = begun(t, chained(2), dag.Options{OnFailure: dag.Stop, Hold: true, Chains: chains})
	next(t, r, dag.Event{Kind: dag.EventFailed, Task: 0})
	require.Equal(t, dag.Canceled, r.State(1))
	assert.Equal(t, dag.None, r.StoppedBy(1), "the policy of the run stopped everything")
}

// TestOpenItemsAreShownByTheirTasks: by a running one, else by one that waits.
func TestOpenItemsAreShownByTheirTasks(t *testing.T) {
	t.Parallel()
	in := chained(4)
	r, start := begun(t, in, dag.Options{Concurrency: 2, Chains: map[string]dag.Chain{"f": {Entries: []string{"f", "g"}, InFlight: 3}}})
	require.Equal(t, "[start 0 start 1]", fmt.Sprint(start))
	assert.Equal(t, []dag.Index{0, 1}, r.OpenItems("f", 9))
	require.Equal(t, "[start 2]", fmt.Sprint(next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 0})))
	assert.Equal(t, []dag.Index{4, 1, 2}, r.OpenItems("f", 9), "of the first item no task runs")
	assert.Equal(t, []dag.Index{4, 1}, r.OpenItems("f", 2))
	assert.Empty(t, r.OpenItems("g", 9), "the chain has another name")
	use, waits := r.WaitsForItem(3)
	assert.Equal(t, []any{dag.ChainUse{Name: "f", Limit: 3, InFlight: 3, Waiting: 1, Ready: 1}, true, true}, []any{use, waits, use.Full()})
	for _, i := range []dag.Index{0, 1, 4, 7} {
		_, waits = r.WaitsForItem(i)
		assert.False(t, waits, "task %s", r.ID(i))
	}
}

// TestRefusalsNameTheTask, if they are about one.
func TestRefusalsNameTheTask(t *testing.T) {
	t.Parallel()
	r, _ := begun(t, chained(2), dag.Options{Hold: true})
	for _, kind := range []dag.EventKind{dag.EventSkip, dag.EventRetry, dag.EventRerun} {
		assert.Contains(t, refused(t, r, dag.Event{Kind: kind, Task: 0}), kind.String()+` refused for task "f.0000": it is running`)
	}
	assert.Contains(t, refused(t, r, dag.Event{Kind: dag.EventCompleted, Task: 2}), `completed refused for task "g.0000": it is pending`)
	assert.Contains(t, refused(t, r, dag.Event{Kind: dag.EventRelease, Task: 0}), "release refused: the run is not held")
	assert.Contains(t, refused(t, r, dag.Event{Kind: dag.EventAddTasks, Task: 0}), "add-tasks refused: there are no tasks to add")
	assert.Contains(t, refused(t, r, dag.Event{Kind: dag.EventDeferred, Task: 0, Growth: &dag.Growth{}}), `deferred refused for task "f.0000": there are no tasks to wait for`)
	next(t, r, dag.Event{Kind: dag.EventFailed, Task: 0})
	assert.Contains(t, refused(t, r, dag.Event{Kind: dag.EventRetry, Task: 2}), "it is upstream_failed; only a failed or canceled task can be retried; retry the task that blocked it, or everything")
	assert.NotContains(t, refused(t, r, dag.Event{Kind: dag.EventRetry, Task: 1}), "blocked it")
	assert.Equal(t, "start 1", dag.Decision{Kind: dag.DecisionStart, Task: 1}.String())
	assert.Equal(t, "finish failed", dag.Decision{Kind: dag.DecisionFinish, Outcome: dag.OutcomeFailed, Task: dag.None}.String())
}

// TestARedefinedTaskIsReported once, by the event that redefined it.
func TestARedefinedTaskIsReported(t *testing.T) {
	t.Parallel()
	r, _ := begun(t, chained(2), dag.Options{})
	add := func(tasks ...dag.Task) {
		g := &dag.Growth{}
		for _, task := range tasks {
			g.Tasks = append(g.Tasks, dag.Addition{Task: task})
		}
		next(t, r, dag.Event{Kind: dag.EventAddTasks, Growth: g})
	}
	add(dag.Task{ID: "g.0001", Priority: 7}, dag.Task{ID: "new"}, dag.Task{ID: "g.0000", Needs: []string{"f.0000"}})
	assert.Equal(t, []dag.Index{3}, r.Redefined(), "g.0000 is defined like that already")
	assert.True(t, r.IsRedefined(3))
	assert.False(t, r.IsRedefined(2) || r.IsRedefined(4))
	assert.Equal(t, []any{int32(7), dag.Running}, []any{r.Priority(3), r.State(3)}, "it needs nothing now")
	next(t, r, dag.Event{Kind: dag.EventPause})
	assert.Empty(t, r.Redefined())
}
