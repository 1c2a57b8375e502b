package starter_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// lagging is a server whose Schedule of the job type scrub runs a group that visibility lacks.
type lagging struct {
	client.Client

	since time.Time
}

const laggingRun = "group/scrub-2026-11-20T09:00:00Z"

func (*lagging) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{}, nil
}

func (l *lagging) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: laggingRun, RunId: "r"}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, StartTime: timestamppb.New(l.since),
	}}, nil
}

func (l *lagging) WorkflowService() workflowservice.WorkflowServiceClient { return laggingCalls{} }

type laggingCalls struct {
	workflowservice.WorkflowServiceClient
}

func (laggingCalls) DescribeSchedule(context.Context, *workflowservice.DescribeScheduleRequest, ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	return &workflowservice.DescribeScheduleResponse{Info: &schedulepb.ScheduleInfo{
		RunningWorkflows: []*commonpb.WorkflowExecution{{WorkflowId: laggingRun, RunId: "r"}},
	}}, nil
}

// TestARunThatVisibilityLacksIsFiltered like all others.
func TestARunThatVisibilityLacksIsFiltered(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	runs := starter.New(&lagging{since: began}, "", nil).Runs()
	for name, c := range map[string]struct {
		filter starter.RunFilter
		kept   bool
	}{
		"none":                    {starter.RunFilter{}, true},
		"open":                    {starter.RunFilter{Running: true}, true},
		"groups":                  {starter.RunFilter{Kind: starter.KindGroup}, true},
		"its start":               {starter.RunFilter{Since: began}, true},
		"later":                   {starter.RunFilter{Since: began.Add(time.Second)}, false},
		"until then":              {starter.RunFilter{Until: began}, false},
		"ended since":             {starter.RunFilter{EndedSince: began}, false},
		"ended until":             {starter.RunFilter{EndedUntil: began.AddDate(1, 0, 0)}, false},
		"DAGs of its jobs":        {starter.RunFilter{Kind: starter.KindDAG, SubDAGs: true}, false},
		"and its jobs":            {starter.RunFilter{SubDAGs: true}, true},
		"with an outcome":         {starter.RunFilter{Outcomes: []contract.Outcome{contract.OutcomeFailed}}, false},
		"open, and began earlier": {starter.RunFilter{Running: true, Since: began.Add(time.Hour)}, false},
	} {
		c.filter.JobType = "scrub"
		found, err := runs.List(t.Context(), c.filter)
		require.NoError(t, err, name)
		assert.Equal(t, c.kept, len(found) == 1, name)
	}
}

// TestAFilterThatNoRunMatchesIsRefused: it must not list runs of the other kind.
func TestAFilterThatNoRunMatchesIsRefused(t *testing.T) {
	t.Parallel()
	runs := starter.New(&lagging{}, "", nil).Runs()
	for _, filter := range []starter.RunFilter{
		{Kind: starter.KindDAG, JobType: "scrub"},
		{Kind: starter.KindDAG, JobTypes: []string{"scrub"}},
		{Kind: starter.KindDAG, JobTypes: []string{"scrub"}, SubDAGs: true},
		{Kind: starter.KindGroup, DAG: "nightly"},
		{JobType: "scrub", DAG: "nightly"},
		{JobTypes: []string{"scrub"}, DAG: "nightly"},
	} {
		_, err := runs.List(t.Context(), filter)
		var invalid *starter.InvalidError
		require.ErrorAs(t, err, &invalid, filter)
	}
}
