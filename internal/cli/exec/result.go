package exec

import (
	"context"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/joblogs"
)

// stateAbsent is the state of a worker that had the labels but did not run the command.
const stateAbsent = "not_run"

var stateCompleted = dag.Completed.String() //nolint:gochecknoglobals // constant

// Result is the end of the program on one worker.
type Result struct {
	Worker string `json:"worker"`
	// State of the task (a warning counts as completed), or not_run for a worker that was not ONLINE.
	State string `json:"state"`
	// Output is the end of its output, at most 256 KiB.
	Output string `json:"output"`
	Error  string `json:"error"`
	// DurationMS is 0 if the program never started.
	DurationMS int64 `json:"duration_ms"`
}

// Report is the answer of the command as data.
type Report struct {
	Run string `json:"run"`
	// Completed and Failed count workers. Each state but completed and warning counts as failed.
	Completed int      `json:"completed"`
	Failed    int      `json:"failed"`
	Workers   []Result `json:"workers"`
}

func (r Result) done() bool { return r.State == stateCompleted || r.State == contract.JobWarning }

func (r *Report) count() {
	for _, result := range r.Workers {
		if result.done() {
			r.Completed++
		} else {
			r.Failed++
		}
	}
}

func (r *Report) text() string {
	if r.Failed == 0 {
		return fmt.Sprintf("completed on %d", r.Completed)
	}
	return fmt.Sprintf("completed on %d, not on %d; see `roundsman show %s`", r.Completed, r.Failed, r.Run)
}

func resultOf(ctx context.Context, client *starter.Client, item starter.Item) (Result, error) {
	result := Result{Worker: workerOf(item.ID), State: item.State, Error: item.Error}
	if result.Error == "" && !result.done() {
		result.Error = "it did not start"
	}
	if !item.StartedAt.IsZero() && item.EndedAt.After(item.StartedAt) {
		result.DurationMS = item.EndedAt.Sub(item.StartedAt).Round(time.Millisecond).Milliseconds()
	}
	if item.Attempt == 0 {
		return result, nil
	}
	part, err := joblogs.Read(ctx, client, item.Ref(), 0, 0)
	if err != nil {
		return result, err
	}
	result.Output = part.Text
	return result, nil
}
