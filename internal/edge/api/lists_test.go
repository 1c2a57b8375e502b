package api

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// backfilled is a server with one job type. Its runs have the same workflow id; the last one is the newest.
type backfilled struct {
	client.Client

	runs []*workflowpb.WorkflowExecutionInfo
}

func (b *backfilled) run(id string, status enumspb.WorkflowExecutionStatus) {
	at := timestamppb.New(time.Unix(int64(1000*(len(b.runs)+1)), 0))
	info := &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: "group/scrub-2026-11-20T09:00:00Z", RunId: id}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		Status: status, StartTime: at,
	}
	if status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		info.CloseTime = at
	}
	b.runs = append(b.runs, info)
}

func (b *backfilled) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: b.runs[len(b.runs)-1]}, nil
}

func (b *backfilled) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	return nil, serviceerror.NewNotFound("no such workflow")
}

func (b *backfilled) WorkflowService() workflowservice.WorkflowServiceClient {
	return backfilledCalls{of: b}
}

type backfilledCalls struct {
	workflowservice.WorkflowServiceClient

	of *backfilled
}

func managed() (*commonpb.Memo, error) {
	owner, err := starter.DataConverter().ToPayload("roundsman")
	return &commonpb.Memo{Fields: map[string]*commonpb.Payload{"managed_by": owner}}, err
}

func (backfilledCalls) ListSchedules(context.Context, *workflowservice.ListSchedulesRequest, ...grpc.CallOption) (*workflowservice.ListSchedulesResponse, error) {
	memo, err := managed()
	return &workflowservice.ListSchedulesResponse{Schedules: []*schedulepb.ScheduleListEntry{{
		ScheduleId: contract.ScheduleID("scrub"), Memo: memo, Info: &schedulepb.ScheduleListInfo{WorkflowType: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow}},
	}}}, err
}

func (c backfilledCalls) DescribeSchedule(context.Context, *workflowservice.DescribeScheduleRequest, ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	memo, err := managed()
	if err != nil {
		return nil, err
	}
	info := &schedulepb.ScheduleInfo{}
	for _, run := range c.of.runs {
		info.RecentActions = append(info.RecentActions, &schedulepb.ScheduleActionResult{ActualTime: run.GetStartTime(), StartWorkflowResult: run.GetExecution()})
		if run.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			info.RunningWorkflows = append(info.RunningWorkflows, run.GetExecution())
		}
	}
	input, err := starter.DataConverter().ToPayloads(contract.JobGroupInput{Spec: contract.JobTypeSpec{Name: "scrub"}})
	return &workflowservice.DescribeScheduleResponse{Memo: memo, Info: info, Schedule: &schedulepb.Schedule{Action: &schedulepb.ScheduleAction{
		Action: &schedulepb.ScheduleAction_StartWorkflow{StartWorkflow: &workflowpb.NewWorkflowExecutionInfo{Input: input}},
	}}}, err
}

// TestAListShowsARunThatIsStartedAgain: a backfill gives it the id of a run whose end is remembered.
func TestAListShowsARunThatIsStartedAgain(t *testing.T) {
	t.Parallel()
	server := &backfilled{}
	lists := newLists(starter.New(server, "", nil), slog.New(slog.DiscardHandler))
	server.run("first", enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED)
	for range 2 {
		types, err := lists.fetchJobTypes(t.Context())
		require.NoError(t, err)
		require.Len(t, types, 1)
		assert.Equal(t, starter.RunStatus("Terminated"), types[0].Recent[0].Status)
		assert.Empty(t, types[0].Running)
	}
	server.run("again", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)
	types, err := lists.fetchJobTypes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, starter.StatusRunning, types[0].Recent[0].Status)
	assert.Equal(t, []starter.RunRef{{WorkflowID: "group/scrub-2026-11-20T09:00:00Z", RunID: "again"}}, types[0].Running)
}
