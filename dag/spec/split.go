package spec

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// MaxAddedBytes bounds a list of added tasks to the size of one message to a workflow.
const MaxAddedBytes = 1 << 20

// Split reads tasks from the result of task i: a JSON object whose key "tasks" holds a list as in a spec. It returns
// the growth for EventCompleted, and the result without the tasks. As for "continue", null is no value.
//
// Their needs may name any task of the run; tasks without needs follow task i. They cannot name files, so none may be
// a sub-DAG. The error is [Faults].
func Split(run *dag.Run, i dag.Index, result []byte) (*dag.Growth, []byte, error) {
	if len(result) == 0 {
		return nil, result, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(result, &object); err != nil || absent(object["tasks"]) {
		return nil, result, nil //nolint:nilerr // a result of another form belongs to no splitter
	}
	g, err := parseGrowth(run, "result of task "+run.ID(i), object["tasks"], run.ID(i))
	if err != nil {
		return nil, nil, err
	}
	delete(object, "tasks")
	rest, err := json.Marshal(object)
	if err != nil {
		return nil, nil, fmt.Errorf("the result of task %q: %w", run.ID(i), err)
	}
	return g, rest, nil
}

// Deferral is the result of a task that continues after other tasks.
type Deferral struct {
	// Growth holds these tasks, for EventDeferred.
	Growth *dag.Growth
	// Checkpoint is passed to the task when it continues.
	Checkpoint json.RawMessage
}

// Defer reads the result of a task that continues: a JSON object with the keys "tasks", as in [Split], and
// "continue", any value except null. The tasks cannot refer to task i.
func Defer(run *dag.Run, i dag.Index, result []byte) (*Deferral, error) {
	var object map[string]json.RawMessage // A struct would also take the key "Tasks".
	if len(result) == 0 || json.Unmarshal(result, &object) != nil || object["tasks"] == nil || absent(object["continue"]) {
		return nil, nil //nolint:nilnil,nilerr // a result of another form defers nothing
	}
	g, err := parseGrowth(run, "result of task "+run.ID(i), object["tasks"], "")
	if err != nil {
		return nil, err
	}
	var checkpoint bytes.Buffer
	if err := json.Compact(&checkpoint, object["continue"]); err != nil {
		return nil, fmt.Errorf("the value of continue: %w", err)
	}
	return &Deferral{Growth: g, Checkpoint: checkpoint.Bytes()}, nil
}

func absent(value json.RawMessage) bool { return value == nil || string(value) == "null" }

func parseGrowth(run *dag.Run, file string, data []byte, splitter string) (*dag.Growth, error) {
	added, err := compileAdded(run, file, data, splitter, false)
	if err != nil {
		return nil, err
	}
	return added.Growth, nil
}

func finder(run *dag.Run) func(string) ([]string, bool) {
	return func(name string) ([]string, bool) {
		if _, ok := run.Lookup(name); ok {
			return []string{name}, true
		}
		family := run.Family(name)
		ids := lists.Map(family, run.ID)
		return ids, len(ids) > 0
	}
}
