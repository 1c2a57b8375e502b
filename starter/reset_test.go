package starter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
)

// resetRun is a server with a run that was reset: visibility has its former workflow run, too.
type resetRun struct{ client.Client }

func (resetRun) info(run string, status enumspb.WorkflowExecutionStatus, second int64) *workflowpb.WorkflowExecutionInfo {
	return &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: "group/scrub-2026-11-20T09:00:00Z", RunId: run}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		Status: status, StartTime: timestamppb.New(time.Unix(second, 0)), CloseTime: timestamppb.New(time.Unix(second+5, 0)),
	}
}

func (r resetRun) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{
		r.info("new", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, 20), r.info("old", enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, 10),
	}}, nil
}

func (r resetRun) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: r.info("new", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, 20)}, nil
}

func (resetRun) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	payloads, err := DataConverter().ToPayloads(contract.JobsQueryResult{Jobs: []contract.JobView{{JobID: "job-00001", State: contract.JobPending, DedupeKey: "sda"}}, Total: 1})
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

// TestAnItemOfARunThatWasResetIsFoundOnce.
func TestAnItemOfARunThatWasResetIsFoundOnce(t *testing.T) {
	t.Parallel()
	runs := New(resetRun{}, "", nil).Runs()
	found, err := runs.Search(t.Context(), ItemSearch{States: []string{contract.JobPending}})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, "job-00001", found[0].ID)
}
