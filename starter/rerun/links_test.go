package rerun

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// TestRetriesOfRetriesAreFound in any order: visibility sorts by the end of runs.
func TestRetriesOfRetriesAreFound(t *testing.T) {
	t.Parallel()
	links := []*link{{run: "third", resumes: "second"}, {run: "other", resumes: "elsewhere"}, {run: "second", resumes: "first"}, {run: "first", resumes: "run"}, {run: "twin", resumes: "run"}}
	assert.Equal(t, []string{"first", "twin", "second", "third"}, from("run", links))
	assert.Equal(t, []string{"third"}, from("second", links))
	assert.Empty(t, from("twin", links))
}

// retries is a server that lists the retries of a run, one on each page: open ones by start, then the others by end.
type retries struct {
	client.Client

	listed []*workflowpb.WorkflowExecutionInfo
}

func (r retries) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	at := len(in.GetNextPageToken())
	answer := &workflowservice.ListWorkflowExecutionsResponse{Executions: r.listed[at : at+1]}
	if at+1 < len(r.listed) {
		answer.NextPageToken = make([]byte, at+1)
	}
	return answer, nil
}

// TestLaterRunsAreInTheOrderOfTheirStarts, not of their ends. Each is listed once.
func TestLaterRunsAreInTheOrderOfTheirStarts(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	retry := func(id, of string, minutes int) *workflowpb.WorkflowExecutionInfo {
		resumes, err := starter.DataConverter().ToPayload(of)
		require.NoError(t, err)
		return &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{WorkflowId: id}, StartTime: timestamppb.New(began.Add(time.Duration(minutes) * time.Minute)),
			Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{contract.MemoResumes: resumes}},
		}
	}
	const run = "group/scrub-2026-11-20T09:00:00Z"
	other := &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: "no retry"}}
	server := retries{listed: []*workflowpb.WorkflowExecutionInfo{
		retry("open", run, 5), retry("long", run, 1), retry("reset", run, 4), retry("of-long", "long", 3), other, retry("short", run, 2), retry("reset", run, 4),
	}}
	c := Of(starter.New(server, "", nil))
	of := starter.Run{RunRef: starter.RunRef{WorkflowID: run}, Kind: starter.KindGroup, JobType: "scrub", Status: "Completed", Ended: began}
	later, err := c.Later(t.Context(), of)
	require.NoError(t, err)
	assert.Equal(t, []string{"long", "short", "reset", "open"}, later)
	of.Status = starter.StatusRunning
	later, err = c.Later(t.Context(), of)
	require.NoError(t, err)
	assert.Empty(t, later, "no run resumes an open one")
}
