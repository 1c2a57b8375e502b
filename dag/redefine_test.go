package dag_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag"
)

// TestDirectionIsTurned: x waited for y; now y waits for a new task that needs x. The old dependency
// closes a cycle, but redefining x removes it.
func TestDirectionIsTurned(t *testing.T) {
	t.Parallel()
	graph, err := dag.Build(dag.Input{Tasks: []dag.Task{{ID: "first"}, {ID: "y", Needs: []string{"first"}}, {ID: "x", Needs: []string{"y"}}}})
	require.NoError(t, err)
	run := dag.NewRun(graph, dag.Options{})
	add := func(tasks ...dag.Addition) {
		_, err := run.Next(dag.Event{Kind: dag.EventAddTasks, Growth: &dag.Growth{Tasks: tasks}}, nil)
		require.NoError(t, err)
	}
	_, err = run.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	add(dag.Addition{Task: dag.Task{ID: "last", Needs: []string{"x"}}, Before: nil})
	add(dag.Addition{Task: dag.Task{ID: "new", Needs: []string{"x"}}, Before: []string{"y"}}, dag.Addition{Task: dag.Task{ID: "x"}})
	var order []string
	for !run.Finished() {
		for i := range dag.Index(run.Len()) {
			if run.State(i) == dag.Running {
				order = append(order, run.ID(i))
				_, err := run.Next(dag.Event{Kind: dag.EventCompleted, Task: i}, nil)
				require.NoError(t, err)
			}
		}
	}
	assert.ElementsMatch(t, []string{"first", "x", "last", "new", "y"}, order)
	assert.Equal(t, "y", order[len(order)-1])
}
