package holds

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/starter"
)

// server lists DAG runs as open. A run without a status does not exist any more; one with an error does not answer.
type server struct {
	client.Client

	listed   []string
	statuses map[string]any
}

func (s server) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	answer := &workflowservice.ListWorkflowExecutionsResponse{}
	for i, id := range s.listed {
		answer.Executions = append(answer.Executions, open(id, -i))
	}
	return answer, nil
}

func open(id string, started int) *workflowpb.WorkflowExecutionInfo {
	return &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: id}, Type: &commonpb.WorkflowType{Name: contract.DAGWorkflow},
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, StartTime: timestamppb.New(time.Unix(int64(started), 0)),
	}
}

func (s server) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if s.statuses[id] == nil {
		return nil, serviceerror.NewNotFound("deleted")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: open(id, 0)}, nil
}

func (s server) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	if fault, is := s.statuses[in.WorkflowID].(error); is {
		return nil, fault
	}
	payloads, err := starter.DataConverter().ToPayloads(s.statuses[in.WorkflowID])
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

func (server) DescribeTaskQueue(context.Context, string, enumspb.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{}, nil
}

// TestARunThatDoesNotAnswerMayBeHeld: the list has the holds of the others, and the error that it lacks some.
func TestARunThatDoesNotAnswerMayBeHeld(t *testing.T) {
	t.Parallel()
	paused := contract.DAGStatus{Phase: "running", Paused: true, PausedBy: "ann", PauseNote: "wait"}
	for name, c := range map[string]struct {
		status any
		fault  string
	}{
		"it runs":              {contract.DAGStatus{Phase: "running"}, ""},
		"it was deleted":       {nil, ""},
		"no control plane":     {serviceerror.NewDeadlineExceeded("nobody polls"), "1 of 2 open runs did not answer: CONTROL_PLANE_DOWN"},
		"its query is refused": {serviceerror.NewInternal("broken"), "1 of 2 open runs did not answer: "},
	} {
		found, err := runs(t.Context(), starter.New(server{
			listed: []string{"dag/d/other", "dag/d/paused"}, statuses: map[string]any{"dag/d/other": c.status, "dag/d/paused": paused},
		}, "", nil), "")
		if c.fault == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.fault, name)
		}
		require.Len(t, found, 1, name)
		assert.Equal(t, Hold{Kind: Pause, Ref: "d@paused", By: "ann", Why: "wait", Resume: action.New(action.ResumeRun, action.Args{"run": "dag/d/paused"})}, found[0], name)
	}
}

// TestAPausedSubDAGIsListed: it runs while its parent is paused, and has a pause of its own. So has the DAG of a job.
func TestAPausedSubDAGIsListed(t *testing.T) {
	t.Parallel()
	const job = "group/scrub-2026-11-20T09:00:00Z/job-00001"
	paused := contract.DAGStatus{Phase: "running", Paused: true, PausedBy: "ann", PauseNote: "wait"}
	found, err := runs(t.Context(), starter.New(server{
		listed:   []string{"dag/d/1", "dag/d/1/sub", "dag/d/1/other", job},
		statuses: map[string]any{"dag/d/1": contract.DAGStatus{Phase: "running"}, "dag/d/1/sub": paused, "dag/d/1/other": contract.DAGStatus{Phase: "running"}, job: paused},
	}, "", nil), "")
	require.NoError(t, err)
	resume := func(run string) action.Action { return action.New(action.ResumeRun, action.Args{"run": run}) }
	assert.Equal(t, []Hold{
		{Kind: Pause, Ref: "dag/d/1/sub", By: "ann", Why: "wait", Resume: resume("dag/d/1/sub")},
		{Kind: Pause, Ref: job, JobType: "scrub", By: "ann", Why: "wait", Resume: resume(job)},
	}, found)
}

// TestManySubDAGsHideNoRun: they have their own limit.
func TestManySubDAGsHideNoRun(t *testing.T) {
	t.Parallel()
	some := server{statuses: map[string]any{}}
	for i := range 3 * mostRuns {
		some.listed = append(some.listed, fmt.Sprintf("dag/d/1/sub-%d", i))
		some.statuses[some.listed[i]] = contract.DAGStatus{Phase: "running", Paused: true}
	}
	some.listed = append(some.listed, "dag/d/1")
	some.statuses["dag/d/1"] = contract.DAGStatus{Phase: "running", Paused: true}
	found, err := runs(t.Context(), starter.New(some, "", nil), "")
	require.ErrorContains(t, err, "only the newest 200 open sub-DAGs were queried")
	require.Len(t, found, mostRuns+1)
	assert.Equal(t, "d@1", found[0].Ref)
}

// TestAllOpenRunsAreSearched, or the error names the limit. Holds are in the order of the list.
func TestAllOpenRunsAreSearched(t *testing.T) {
	t.Parallel()
	some := server{statuses: map[string]any{}}
	for i := range mostRuns {
		some.listed = append(some.listed, fmt.Sprintf("dag/d/r%d", i))
		some.statuses[some.listed[i]] = contract.DAGStatus{Phase: contract.PhaseHeld}
	}
	found, err := runs(t.Context(), starter.New(some, "", nil), "")
	require.NoError(t, err)
	require.Len(t, found, mostRuns)
	for i, hold := range found {
		require.Equal(t, fmt.Sprintf("d@r%d", i), hold.Ref)
	}
	some.listed = append(some.listed, "dag/d/oldest")
	found, err = runs(t.Context(), starter.New(some, "", nil), "")
	require.ErrorContains(t, err, "only the newest 200 open runs were queried")
	assert.Len(t, found, mostRuns)
}

// A run that is kept open after a failure ends by itself, so its hold has an end.
func TestAHoldAfterAFailureHasItsTimes(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	status := contract.DAGStatus{Phase: contract.PhaseHeld, ModifiedAt: since, HeldUntil: since.Add(time.Hour)}
	found := ofRun(starter.Snapshot{
		Run: starter.Run{RunRef: starter.RunRef{WorkflowID: "dag/nightly/x"}}, Phase: status.Phase, ModifiedAt: status.ModifiedAt, DAGStatus: &status,
	})
	require.Len(t, found, 1)
	assert.Equal(t, []time.Time{since, since.Add(time.Hour)}, []time.Time{found[0].Since, found[0].Until})
}

// TestARunHasAHoldForEachCause, which lifts that cause only.
func TestARunHasAHoldForEachCause(t *testing.T) {
	t.Parallel()
	run := starter.Run{RunRef: starter.RunRef{WorkflowID: "group/scrub-2026-11-20T09:00:00Z"}, JobType: "scrub"}
	for name, c := range map[string]struct {
		snapshot starter.Snapshot
		wanted   map[Kind]action.Operation
	}{
		"none":   {starter.Snapshot{Phase: "executing"}, map[Kind]action.Operation{}},
		"paused": {starter.Snapshot{Phase: "executing", Paused: true}, map[Kind]action.Operation{Pause: action.ResumeRun}},
		"held":   {starter.Snapshot{Phase: contract.PhaseHeld}, map[Kind]action.Operation{Failure: action.ReleaseRun}},
		"both":   {starter.Snapshot{Phase: contract.PhaseHeld, Paused: true}, map[Kind]action.Operation{Pause: action.ResumeRun, Failure: action.ReleaseRun}},
	} {
		c.snapshot.Run = run
		kinds := map[Kind]action.Operation{}
		for _, hold := range ofRun(c.snapshot) {
			kinds[hold.Kind] = hold.Resume.Operation
			assert.Equal(t, []string{"scrub", "scrub@1120T0900Z"}, []string{hold.JobType, hold.Ref}, name)
		}
		assert.Equal(t, c.wanted, kinds, name)
	}
}
