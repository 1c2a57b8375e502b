package jobtypes

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// youngRun is a server with a run that begins while it is read: each answer is for one query.
type youngRun struct {
	client.Client

	answers  []any
	released []string
}

func (y *youngRun) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: "group/nightly-1", RunId: "1"}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}}, nil
}

func (y *youngRun) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	answer := y.answers[0]
	y.answers = y.answers[1:]
	if err, is := answer.(error); is {
		return nil, err
	}
	payloads, err := starter.DataConverter().ToPayloads(answer)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

func (y *youngRun) SignalWorkflow(_ context.Context, id, _, name string, in any) error {
	if set, is := in.(contract.SetCalendarInput); is && name == contract.SignalSetCalendar && set.IgnoreWindow {
		y.released = append(y.released, id)
	}
	return nil
}

func (y *youngRun) SignalWithStartWorkflow(context.Context, string, string, any, client.StartWorkflowOptions, any, ...any) (client.WorkflowRun, error) {
	return nil, nil //nolint:nilnil // The audit log does not use it.
}

// TestARunThatHasJustBegunIsReleased: the release waits until the run has looked at its window. Otherwise overlap: skip
// would refuse the start.
func TestARunThatHasJustBegunIsReleased(t *testing.T) {
	t.Parallel()
	waits := func(code contract.Code) contract.GroupStatus {
		return contract.GroupStatus{Phase: "waiting", Wait: &contract.WaitReason{Code: string(code)}}
	}
	early := serviceerror.NewWorkflowNotReady("no workflow task has completed")
	info := &schedulepb.ScheduleInfo{RunningWorkflows: []*commonpb.WorkflowExecution{{WorkflowId: "group/nightly-1", RunId: "1"}}}
	for name, c := range map[string]struct {
		answers  []any
		released bool
	}{
		"it has no workflow task yet":     {[]any{early, early, waits(contract.CodeWindowClosed)}, true},
		"it looks up its window":          {[]any{waits(contract.CodeStarting), waits(contract.CodeWindowClosed)}, true},
		"it waits for another job type":   {[]any{early, waits(contract.CodeStarting), waits(contract.CodeAfter)}, true},
		"its window is open":              {[]any{early, contract.GroupStatus{Phase: "preparing"}}, false},
		"its first jobs are being placed": {[]any{contract.GroupStatus{Phase: "dispatching", Wait: waits(contract.CodeStarting).Wait}}, false},
	} {
		server := &youngRun{answers: c.answers}
		triggered, err := Of(starter.New(server, "", nil)).release(t.Context(), "nightly", info)
		require.NoError(t, err, name)
		assert.Equal(t, c.released, triggered != nil && triggered.Released, name)
		assert.Equal(t, c.released, len(server.released) == 1, name)
		assert.Empty(t, server.answers, name)
	}
}

// TestAStartInALaneWaitsForTheLookups: a run whose window is closed may be skipped after them, without its turn in the lane.
func TestAStartInALaneWaitsForTheLookups(t *testing.T) {
	t.Parallel()
	waits := func(code contract.Code) contract.GroupStatus {
		return contract.GroupStatus{Phase: "waiting", Wait: &contract.WaitReason{Code: string(code)}}
	}
	for name, c := range map[string]struct {
		status contract.GroupStatus
		known  bool
	}{
		"it looks up its window":  {waits(contract.CodeStarting), false},
		"its first step":          {contract.GroupStatus{Phase: "waiting"}, false},
		"it looks up workers":     {contract.GroupStatus{Phase: "preparing"}, false},
		"it waits for its window": {waits(contract.CodeWindowClosed), true},
		"it waits for a worker":   {waits(contract.CodeNoWorker), true},
		"it waits for a job type": {waits(contract.CodeAfter), true},
	} {
		server := &youngRun{answers: []any{c.status, contract.AdmissionView{}}}
		begun, known := Of(starter.New(server, "", nil)).begun(t.Context(), contract.JobTypeSpec{Lane: "night"}, starter.RunRef{WorkflowID: "group/nightly-1"})
		assert.Equal(t, c.known, known, name)
		assert.Equal(t, Begun{}, begun, name)
	}
}
