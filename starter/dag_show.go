package starter

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// DAGRun is one run of a DAG, as a list shows it.
type DAGRun struct {
	RunRef
	DAG     string    `json:"dag"`
	Status  RunStatus `json:"status"`
	Started time.Time `json:"started_at,omitzero"`
	Ended   time.Time `json:"ended_at,omitzero"`
	// Outcome is empty while the run is open, and for one that was terminated.
	Outcome contract.Outcome `json:"outcome,omitempty"`
}

// Open reports whether the run is still going on.
func (r DAGRun) Open() bool { return r.Status.open() }

// DAGSnapshot is a run at one moment.
type DAGSnapshot struct {
	DAGRun
	HistoryLength int64 `json:"history_length"`
	// State is what an open run says about itself; nil for a closed one, and when
	// nobody answered, which Unanswered then explains.
	State      *contract.DAGStatus `json:"state,omitempty"`
	Unanswered string              `json:"unanswered,omitempty"`
	// Active are the tasks on workers right now, with their progress; JobID is the
	// task's id.
	Active []ActiveJob `json:"active,omitempty"`
	// Result is what a closed run left, with all its tasks; nil for one that was
	// terminated, which Failure then explains.
	Result  *contract.DAGResult `json:"result,omitempty"`
	Failure string              `json:"failure,omitempty"`
}

func (s DAGSnapshot) unanswered(why error) DAGSnapshot {
	s.Unanswered = why.Error()
	return s
}

// DAGFilter narrows [DAGs.List].
type DAGFilter struct {
	// Name keeps the runs of one DAG.
	Name string
	// Running keeps open runs only.
	Running bool
	// SubDAGs adds the runs of sub-DAGs and of jobs, which are left out otherwise.
	SubDAGs bool
	// Limit is the most runs returned, newest first. Default 20.
	Limit int
}

// List lists runs of DAGs, newest first, from visibility, which may lag by a
// second and must not be polled.
func (d DAGs) List(ctx context.Context, filter DAGFilter) ([]DAGRun, error) {
	runs, err := d.client.Runs().List(ctx, RunFilter{
		Kind: KindDAG, DAG: filter.Name, Running: filter.Running, SubDAGs: filter.SubDAGs, Limit: filter.Limit,
	})
	var found []DAGRun
	for _, run := range runs {
		found = append(found, dagRun(run))
	}
	return found, err
}

func dagRun(run Run) DAGRun {
	return DAGRun{RunRef: run.RunRef, DAG: run.DAG, Status: run.Status, Started: run.Started, Ended: run.Ended, Outcome: run.Outcome}
}

// Resolve finds the run that text means: its workflow id, with or without
// dag/, or the name of a DAG, which means its newest run.
func (d DAGs) Resolve(ctx context.Context, text string) (RunRef, error) {
	if jobtype.ValidateName(text) == nil {
		runs, err := d.List(ctx, DAGFilter{Name: text, Limit: 1})
		if err != nil {
			return RunRef{}, err
		}
		if len(runs) == 0 {
			return RunRef{}, &NotFoundError{What: "run of DAG", Name: text, Hint: "see `roundsman runs list`; a run that was just started takes a second to be listed"}
		}
		return RunRef{WorkflowID: runs[0].WorkflowID}, nil
	}
	candidates := []string{text}
	if _, _, ok := contract.DAGOfWorkflow(text); !ok {
		candidates = []string{"dag/" + text, text}
	}
	var err error
	for _, id := range candidates {
		if _, err = d.describe(ctx, RunRef{WorkflowID: id}); err == nil {
			return RunRef{WorkflowID: id}, nil
		}
	}
	return RunRef{}, err
}

func (d DAGs) describe(ctx context.Context, ref RunRef) (DAGSnapshot, error) {
	response, err := d.client.temporal.DescribeWorkflowExecution(ctx, ref.WorkflowID, ref.RunID)
	if err != nil {
		err = runError(ref, err)
		if missing, ok := errors.AsType[*NotFoundError](err); ok {
			missing.What, missing.Hint = "DAG run", "see `roundsman runs list`; runs older than the namespace's retention are gone"
		}
		return DAGSnapshot{}, err
	}
	info := response.GetWorkflowExecutionInfo()
	if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW && ref.RunID != "" {
		// The run goes on in a later workflow run under the same id.
		return d.describe(ctx, RunRef{WorkflowID: ref.WorkflowID})
	}
	if name := info.GetType().GetName(); name != contract.DAGWorkflow {
		return DAGSnapshot{}, fmt.Errorf("workflow %s is a %s, not a run of a DAG", ref.WorkflowID, name)
	}
	return DAGSnapshot{
		DAGRun: dagRun(d.client.Runs().runOf(info)), HistoryLength: info.GetHistoryLength(), Active: d.client.activeJobs(response.GetPendingActivities()),
	}, nil
}

// Show takes a snapshot of a run. A control plane that is down is not an
// error: the snapshot then holds what the server itself knows, and of a closed
// run that is everything.
func (d DAGs) Show(ctx context.Context, ref RunRef) (DAGSnapshot, error) {
	snapshot, err := d.describe(ctx, ref)
	if err != nil {
		return DAGSnapshot{}, err
	}
	if !snapshot.Open() {
		return d.withResult(ctx, snapshot)
	}
	var status contract.DAGStatus
	err = d.client.query(ctx, RunRef{WorkflowID: ref.WorkflowID, RunID: snapshot.RunID}, contract.QueryStatus, &status)
	switch {
	case err == nil:
		snapshot.State, snapshot.DAG = &status, status.DAG
	case isNotReady(err):
		snapshot.Unanswered = "the run has just been started"
	case Unanswered(err):
		snapshot.Unanswered = err.Error()
	default:
		return DAGSnapshot{}, err
	}
	return snapshot, nil
}

// Tasks returns one page of the tasks of a run, open or closed.
func (d DAGs) Tasks(ctx context.Context, ref RunRef, filter contract.TasksQueryInput) (contract.TasksQueryResult, error) {
	var answer contract.TasksQueryResult
	return answer, d.client.query(ctx, RunRef{WorkflowID: ref.WorkflowID}, contract.QueryTasks, &answer, filter)
}

// Watch yields a snapshot of the run at once, then one per interval, and a
// last one, with the result, as soon as it has ended. It behaves as Watch does.
func (d DAGs) Watch(ctx context.Context, ref RunRef, interval time.Duration) iter.Seq2[DAGSnapshot, error] {
	return watch(ctx, d.client, ref, interval, DAGSnapshot{DAGRun: DAGRun{RunRef: ref, Status: StatusRunning}}, d.Show)
}
