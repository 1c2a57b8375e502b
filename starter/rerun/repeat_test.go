package rerun

import (
	"context"
	"testing"

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
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// retried is a server with the open run of a retry, and an audit log.
type retried struct {
	client.Client

	run      *workflowpb.WorkflowExecutionInfo
	recorded []contract.AuditEntry
}

func (s *retried) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if s.run.GetExecution().GetWorkflowId() != id {
		return nil, serviceerror.NewNotFound("it does not exist")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: s.run}, nil
}

func (s *retried) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	payloads, err := starter.DataConverter().ToPayloads(contract.GroupStatus{Phase: "dispatching", Counts: contract.GroupCounts{Accepted: 3}})
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

func (s *retried) SignalWithStartWorkflow(_ context.Context, _, _ string, record any, _ client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	s.recorded = append(s.recorded, record.(contract.AuditRecord).Entries...) //nolint:errcheck,forcetypeassert // as the recorder sends it
	return nil, nil                                                           //nolint:nilnil // The recorder does not use it.
}

// TestARetryIsAuditedByItsRepetition, with one id for all attempts.
func TestARetryIsAuditedByItsRepetition(t *testing.T) {
	t.Parallel()
	const of = "group/scrub-2026-11-20T09:00:00Z"
	resumes, err := starter.DataConverter().ToPayload(of)
	require.NoError(t, err)
	id := contract.AdHocWorkflowID("scrub", contract.RetryPrefix+"one")
	server := &retried{run: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: "first"}, FirstRunId: "first", Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, StartTime: timestamppb.Now(),
		Memo:             &commonpb.Memo{Fields: map[string]*commonpb.Payload{contract.MemoResumes: resumes}},
		SearchAttributes: rpc.KeywordAttribute(contract.SearchAttributeJobType, "scrub"),
	}}
	c := Of(starter.New(server, "", nil))
	ctx := starter.WithRequest(t.Context(), starter.Request{ID: "one"})
	for range 2 {
		repeated, err := c.Start(ctx, starter.RunRef{WorkflowID: of}, Choice{}, "ann")
		require.NoError(t, err)
		assert.True(t, repeated.Already)
	}
	require.Len(t, server.recorded, 2)
	entry := server.recorded[0]
	assert.Equal(t, []string{"jobs.retry", "scrub", id, of}, []string{entry.Action, entry.JobType, entry.Object, entry.Before})
	assert.Equal(t, 3, entry.Count)
	assert.Equal(t, "jobs.retry/"+id+"/first", entry.ID)
	assert.Equal(t, entry.ID, server.recorded[1].ID)

	server.run.Execution.RunId = "second" // It has continued as new.
	_, err = c.Start(ctx, starter.RunRef{WorkflowID: of}, Choice{}, "ann")
	require.NoError(t, err)
	assert.Len(t, server.recorded, 2)
}
