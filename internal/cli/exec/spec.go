package exec

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
)

// dagName is the name of the DAG, so the workflow id of a run is dag/exec/<time>.
const dagName = "exec"

// taskID is the fan-out. The task of worker web-1 is run.web-1.
const taskID = "run"

// maxAtOnce is the largest concurrency of a DAG.
const maxAtOnce = 500

type request struct {
	workers []string
	command []string
	// max bounds the programs that run at a time. 0 means all.
	max int
	// serial starts nothing more after a failure.
	serial  bool
	timeout time.Duration
}

// A task has one attempt and fails with its worker, because the program may have done its work already.
func (r request) compile() (*spec.Compiled, error) {
	atOnce := r.max
	if atOnce == 0 || atOnce > maxAtOnce {
		atOnce = maxAtOnce
	}
	onFailure := "continue"
	if r.serial {
		atOnce, onFailure = 1, "stop"
	}
	literal := lists.Map(r.command, escape)
	document, err := json.Marshal(map[string]any{
		"version": 1, "name": dagName, "concurrency": atOnce, "on_failure": onFailure,
		"tasks": []any{map[string]any{
			"id": taskID, "for_each": r.workers, "node": "{{.Item}}", "command": literal,
			"timeout": jobtype.Duration(r.timeout).String(), "on_worker_loss": "fail",
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("write the DAG of exec: %w", err)
	}
	return spec.CompileText(dagName+".json", string(document), nil, nil)
}

// escape returns the template whose result is the word.
func escape(word string) string { return strings.ReplaceAll(word, "{{", "{{`{{`}}") }

func workerOf(task string) string { return strings.TrimPrefix(task, taskID+".") }
