package spec

import (
	"encoding/json"
	"fmt"

	"github.com/roundsman/roundsman/dag"
)

// MaxAddedBytes bounds a list of tasks that is added to a run: what one message
// to a workflow may carry.
const MaxAddedBytes = 1 << 20

// Split looks for tasks in the result of task i: a JSON object whose key "tasks"
// holds a list like that of a spec. It returns the growth to pass with
// EventSucceeded, nil if there is none, and the result without the tasks.
//
// The tasks obey the rules of a spec. Their needs may name each other and any
// task of the run; those without needs follow task i. They cannot name files, so
// none may be a sub-DAG. The error is [Faults]; the caller fails task i with it.
func Split(run *dag.Run, i dag.Index, result []byte) (*dag.Growth, []byte, error) {
	if len(result) == 0 {
		return nil, result, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(result, &object); err != nil || object["tasks"] == nil {
		return nil, result, nil //nolint:nilerr // a result of another form is no splitter's
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

func parseGrowth(run *dag.Run, file string, data []byte, splitter string) (*dag.Growth, error) {
	added, err := compileAdded(run, file, data, splitter)
	if err != nil {
		return nil, err
	}
	return added.Growth, nil
}

// finder resolves the names of a run's tasks: an id, or that of an entry for all
// its tasks.
func finder(run *dag.Run) func(string) ([]string, bool) {
	return func(name string) ([]string, bool) {
		if _, ok := run.Lookup(name); ok {
			return []string{name}, true
		}
		family := run.Family(name)
		ids := make([]string, len(family))
		for k, i := range family {
			ids[k] = run.ID(i)
		}
		return ids, len(ids) > 0
	}
}
