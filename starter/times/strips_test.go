package times

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// busy is a server with runs of the job type often, the newest first.
type busy struct {
	client.Client

	sizes []int32
}

func (b *busy) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	b.sizes = append(b.sizes, in.GetPageSize())
	page := &workflowservice.ListWorkflowExecutionsResponse{NextPageToken: []byte("more")}
	for i := range in.GetPageSize() {
		at := timestamppb.New(time.Unix(int64(1_800_000_000-60*i), 0))
		page.Executions = append(page.Executions, &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{WorkflowId: fmt.Sprint(contract.GroupWorkflowID("often"), "-", at.AsTime().Format(time.RFC3339)), RunId: "r"},
			Type:      &commonpb.WorkflowType{Name: contract.JobGroupWorkflow}, StartTime: at, CloseTime: at, Status: enums.WORKFLOW_EXECUTION_STATUS_COMPLETED,
		})
	}
	return page, nil
}

// A history of 30 runs does not read a thousand.
func TestAStripListsAboutWhatItShows(t *testing.T) {
	t.Parallel()
	server := &busy{}
	strips, err := Strips(t.Context(), starter.New(server, "", nil).Runs(), []string{"often"}, 30)
	require.NoError(t, err)
	require.Len(t, strips[0].Runs, 30)
	assert.True(t, strips[0].Runs[0].StartedAt.Before(strips[0].Runs[29].StartedAt), "oldest first")
	require.Len(t, server.sizes, 1)
	assert.Less(t, server.sizes[0], int32(100))

	server = &busy{}
	_, err = Strips(t.Context(), starter.New(server, "", nil).Runs(), []string{"often", "seldom"}, 30)
	require.NoError(t, err)
	assert.Greater(t, len(server.sizes), 1, "the first list is full of another job type")
	assert.Equal(t, int32(1000), server.sizes[1])
	assert.LessOrEqual(t, len(server.sizes), stripRounds)
}

// A backfill starts a run again under its id: what is kept of the first one is not shown for the second.
func TestARunThatIsStartedAgainIsReadAgain(t *testing.T) {
	t.Parallel()
	first, second := time.Unix(1000, 0).UTC(), time.Unix(2000, 0).UTC()
	kept := &PastJobs{Total: 7}
	m := Memory{jobs: map[endedRun]*PastJobs{{"group/often-1", first}: kept}}
	runs := starter.New(gone{}, "", nil).Runs()
	assert.Same(t, kept, m.jobsOf(t.Context(), runs, PastRun{WorkflowID: "group/often-1", EndedAt: first}))
	assert.Nil(t, m.jobsOf(t.Context(), runs, PastRun{WorkflowID: "group/often-1", EndedAt: second}))
	assert.Nil(t, m.jobsOf(t.Context(), runs, PastRun{WorkflowID: "group/often-1"}), "it is open")
}

// gone is a server without runs.
type gone struct{ client.Client }

func (gone) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, serviceerror.NewNotFound("no such workflow")
}

// dags is a server with runs of a DAG, the newest first, and a run of one of its sub-DAGs.
type dags struct {
	client.Client

	query string
	// crowded: there are endless runs of sub-DAGs.
	crowded bool
	lists   int
}

func (d *dags) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	d.query = in.GetQuery()
	page := new(workflowservice.ListWorkflowExecutionsResponse)
	runs := []string{"third", "second/sub", "second", "first"}
	if d.crowded {
		if d.lists++; d.lists > stripRounds {
			return nil, errors.New("too many lists")
		}
		runs, page.NextPageToken = nil, []byte("more")
		for i := range in.GetPageSize() {
			runs = append(runs, fmt.Sprintf("run/sub-%d", int32(d.lists)*1000+i))
		}
	}
	for i, run := range runs {
		at := timestamppb.New(time.Unix(int64(1_800_000_000-60*i), 0))
		page.Executions = append(page.Executions, &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{WorkflowId: contract.DAGWorkflowID("steps", run), RunId: "r"},
			Type:      &commonpb.WorkflowType{Name: contract.DAGWorkflow}, StartTime: at, CloseTime: at, Status: enums.WORKFLOW_EXECUTION_STATUS_FAILED,
		})
	}
	return page, nil
}

func TestAStripOfADAGHasItsRunsWithoutThoseOfSubDAGs(t *testing.T) {
	t.Parallel()
	server := &dags{}
	strips, err := DAGStrips(t.Context(), starter.New(server, "", nil).Runs(), []string{"steps"}, 2)
	require.NoError(t, err)
	require.Len(t, strips, 1)
	ids := []string{}
	for _, run := range strips[0].Runs {
		ids = append(ids, run.WorkflowID)
		assert.NotEmpty(t, run.Role)
	}
	assert.Equal(t, []string{"dag/steps/second", "dag/steps/third"}, ids, "the newest two, oldest first")
	assert.Contains(t, server.query, "WorkflowId STARTS_WITH 'dag/steps/'")

	server.crowded = true
	strips, err = DAGStrips(t.Context(), starter.New(server, "", nil).Runs(), []string{"steps"}, 2)
	require.NoError(t, err)
	assert.Empty(t, strips[0].Runs, "what is read is bounded")

	_, err = DAGStrips(t.Context(), starter.New(server, "", nil).Runs(), []string{"no'name"}, 2)
	require.Error(t, err)
}
