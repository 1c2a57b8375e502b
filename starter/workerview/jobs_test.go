package workerview

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/starter"
)

// paged lists three pages of open runs, two on each.
type paged struct{ client.Client }

func (paged) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	at := len(in.GetNextPageToken())
	page := &workflowservice.ListWorkflowExecutionsResponse{NextPageToken: make([]byte, (at+1)%3)}
	for i := range 2 {
		page.Executions = append(page.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: fmt.Sprint(2*at + i)}})
	}
	return page, nil
}

func TestAllOpenRunsAreSearchedForJobsOfARemoteWorker(t *testing.T) {
	t.Parallel()
	open, err := openRuns(t.Context(), starter.New(paged{}, "", nil))
	require.NoError(t, err)
	assert.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, open)
}
