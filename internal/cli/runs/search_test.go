package runs

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// fiveJobs is a server with one open group of five jobs.
type fiveJobs struct{ client.Client }

func (fiveJobs) run() *workflowpb.WorkflowExecutionInfo {
	return &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: contract.GroupWorkflowID("scrub-1"), RunId: "1"}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		StartTime: timestamppb.New(time.Unix(1, 0)), Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}
}

func (s fiveJobs) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{s.run()}}, nil
}

func (s fiveJobs) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: s.run()}, nil
}

func (fiveJobs) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	asked, is := in.Args[0].(contract.JobsQueryInput)
	if !is {
		return nil, fmt.Errorf("%T is no query of jobs", in.Args[0])
	}
	result := contract.JobsQueryResult{Total: 5}
	for i := asked.After + 1; i <= 5 && len(result.Jobs) < asked.Limit; i++ {
		result.Jobs = append(result.Jobs, contract.JobView{JobID: contract.JobID(i), State: contract.JobPending})
	}
	payloads, err := starter.DataConverter().ToPayloads(result)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

// TestASearchTellsThatThereAreMore: the number of all matches is unknown.
func TestASearchTellsThatThereAreMore(t *testing.T) {
	t.Parallel()
	search := func(args ...string) (stdout, stderr string) {
		var out, faults bytes.Buffer
		c := &commands{&ui.Program{Env: ui.Env{Stdout: &out, Stderr: &faults, Now: time.Now}}}
		list := c.jobs()
		list.Action = func(ctx *cli.Context) error {
			return c.searchJobs(ctx, starter.New(fiveJobs{}, "", nil), func(*starter.ItemSearch) {})
		}
		app := &cli.App{Commands: []*cli.Command{list}, Writer: &out, ErrWriter: &faults}
		require.NoError(t, app.RunContext(t.Context(), append([]string{"roundsman", "jobs", "--state", "pending"}, args...)))
		return out.String(), faults.String()
	}
	stdout, stderr := search("--limit", "4")
	assert.Contains(t, stdout+stderr, "only the first 4; see more with --limit")
	stdout, _ = search("--limit", "4", "--output", "json")
	assert.Contains(t, stdout, `"more": true`)
	for _, format := range []string{"text", "json"} {
		stdout, stderr = search("--limit", "5", "--output", format)
		assert.Contains(t, stdout, contract.JobID(5))
		assert.NotContains(t, stdout+stderr, "more")
	}
}
