package runs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/starter"
)

// TestATreeHasTheTasksOfSubDAGs: each stands below the task of its DAG, before the tasks that need that task.
func TestATreeHasTheTasksOfSubDAGs(t *testing.T) {
	t.Parallel()
	run := func(id string, tasks ...starter.Item) []starter.Item {
		for i := range tasks {
			tasks[i].Run = starter.RunRef{WorkflowID: id}
		}
		return tasks
	}
	dags := map[string][]starter.Item{
		"r/inner":      run("r/inner", starter.Item{ID: "check"}, starter.Item{ID: "deep", Kind: "dag", Needs: []string{"check"}}),
		"r/inner/deep": run("r/inner/deep", starter.Item{ID: "last"}),
	}
	var inside func(starter.Item) []starter.Item
	inside = func(item starter.Item) []starter.Item {
		if item.Kind != "dag" {
			return nil
		}
		return treeOf(dags[item.Run.WorkflowID+"/"+item.ID], inside)
	}
	var names []string
	for _, item := range treeOf(run("r", starter.Item{ID: "prep"}, starter.Item{ID: "inner", Kind: "dag", Needs: []string{"prep"}}, starter.Item{ID: "done", Needs: []string{"inner"}}), inside) {
		names = append(names, item.ID)
	}
	assert.Equal(t, []string{"prep", "· inner", "· · inner/check", "· · · inner/deep", "· · · · inner/deep/last", "· · done"}, names)
}
