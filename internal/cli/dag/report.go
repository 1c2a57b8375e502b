package dag

import (
	"context"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// Report is a run of a DAG as JSON. It is for programs, so each key is always there.
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
	// FromRun is the earlier run that produced the state, "" for this run.
	FromRun string `json:"from_run"`
	// FromTask is the task with the same key whose result this task took over.
	FromTask string `json:"from_task,omitempty"`
}

type itemLister interface {
	Items(ctx context.Context, ref starter.RunRef, filter starter.ItemFilter) ([]starter.Item, int, error)
}

// Tasks of a closed run need no control plane. A run without a result counts as failed.
func reportOfDAG(ctx context.Context, client itemLister, snapshot starter.Snapshot, now time.Time) (Report, error) {
	report := Report{
		DAG: snapshot.DAG, WorkflowID: snapshot.WorkflowID, RunID: snapshot.RunID, Outcome: dagOutcome(snapshot),
		Counts: map[string]int{}, DurationMS: snapshot.DurationMS, Tasks: map[string]TaskReport{},
	}
	if snapshot.Open() {
		report.DurationMS = now.Sub(snapshot.Started).Milliseconds()
	}
	if snapshot.Progress == nil {
		return report, nil // The reason is unknown.
	}
	report.Counts = snapshot.Counts
	if result := snapshot.DAGResult; result != nil && result.Tasks != nil {
		for id, task := range result.Tasks {
			report.Tasks[id] = TaskReport(task)
		}
		return report, nil
	}
	items, _, err := client.Items(ctx, snapshot.RunRef, starter.ItemFilter{Limit: starter.All})
	for _, item := range items {
		report.Tasks[item.ID] = TaskReport(item.DAGTask())
	}
	return report, err
}

func dagOutcome(snapshot starter.Snapshot) string {
	switch {
	case snapshot.Open():
		return "running"
	case snapshot.Outcome != "":
		return string(snapshot.Outcome)
	}
	return string(contract.OutcomeFailed)
}
