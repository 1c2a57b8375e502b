package dag

import (
	"context"
	"math"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// Report is a run of a DAG as JSON. Programs read it: no key is ever left out.
type Report struct {
	DAG        string `json:"dag"`
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// Outcome is completed, failed or canceled, and running while the run is open.
	Outcome    string                `json:"outcome"`
	Counts     map[string]int        `json:"counts"`
	DurationMS int64                 `json:"duration_ms"`
	Tasks      map[string]TaskReport `json:"tasks"`
}

// TaskReport is one task in a Report.
type TaskReport struct {
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
	Worker   string `json:"worker"`
	Error    string `json:"error"`
	// FromRun is the earlier run that produced the state; empty: this one.
	FromRun string `json:"from_run"`
}

func taskReportOf(task contract.DAGTask) TaskReport { return TaskReport(task) }

// reportOfDAG makes the report of a run, open or closed. The tasks of a closed run
// come with its result and need no control plane. A run that left no result counts
// as failed.
func reportOfDAG(ctx context.Context, client taskLister, snapshot starter.DAGSnapshot, now time.Time) (Report, error) {
	report := Report{
		DAG: snapshot.DAG, WorkflowID: snapshot.WorkflowID, RunID: snapshot.RunID, Outcome: dagOutcome(snapshot),
		Counts: map[string]int{}, Tasks: map[string]TaskReport{},
	}
	switch {
	case snapshot.Result != nil:
		report.Counts, report.DurationMS = snapshot.Result.Counts, snapshot.Result.DurationMS
		for id, task := range snapshot.Result.Tasks {
			report.Tasks[id] = taskReportOf(task)
		}
		if len(report.Tasks) > 0 || sum(report.Counts) == 0 {
			return report, nil
		}
	case !snapshot.Open():
		report.DurationMS = snapshot.Ended.Sub(snapshot.Started).Milliseconds()
		return report, nil
	default:
		report.DurationMS = now.Sub(snapshot.Started).Milliseconds()
		if snapshot.State == nil {
			return report, nil
		}
		report.Counts = snapshot.State.Counts
	}
	views, _, err := allTasks(ctx, client, snapshot.RunRef, contract.TasksQueryInput{}, math.MaxInt)
	for _, view := range views {
		report.Tasks[view.ID] = taskReportOf(view.DAGTask)
	}
	return report, err
}

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// dagOutcome is how a run ended, in the words of the report.
func dagOutcome(snapshot starter.DAGSnapshot) string {
	switch {
	case snapshot.Open():
		return "running"
	case snapshot.Outcome != "":
		return string(snapshot.Outcome)
	}
	return string(contract.OutcomeFailed)
}

// taskPaint colors a task's state by whether somebody must look.
func taskPaint(state string) ui.Paint {
	switch state {
	case dag.Succeeded.String():
		return ui.Good
	case dag.Failed.String(), dag.UpstreamFailed.String():
		return ui.Bad
	case dag.Skipped.String(), dag.Canceled.String():
		return ui.Odd
	case dag.Running.String():
		return ui.Bold
	}
	return ui.Plain
}
