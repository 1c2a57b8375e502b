package starter

import (
	"context"
	"encoding/json"
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

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/override"
)

// recordingClient is a server with open runs. It records messages and answers no query.
type recordingClient struct {
	client.Client
	sent []any
}

func (*recordingClient) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	kind := contract.JobGroupWorkflow
	if (RunRef{WorkflowID: id}).Kind() == KindDAG {
		kind = contract.DAGWorkflow
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id}, Type: &commonpb.WorkflowType{Name: kind}, Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}}, nil
}

func (*recordingClient) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	return nil, serviceerror.NewQueryFailed("it has no handler")
}

func (r *recordingClient) SignalWorkflow(_ context.Context, _, _, _ string, argument any) error {
	r.sent = append(r.sent, argument)
	return nil
}

func (r *recordingClient) UpdateWorkflow(_ context.Context, options client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	r.sent = append(r.sent, options.Args...)
	return takenUpdate{}, nil
}

// A history shows who sent each request, also on a connection shared by many people.
func TestEveryRequestNamesItsOperator(t *testing.T) {
	t.Parallel()
	group, run := RunRef{WorkflowID: "group/scrub-x"}, RunRef{WorkflowID: "dag/nightly/x"}
	job, task := ItemRef{Run: group, ID: "job-00001"}, ItemRef{Run: run, ID: "load"}
	change, err := override.Parse([]string{"retry_limit=2"})
	require.NoError(t, err)
	for name, request := range map[string]func(ctx context.Context, c *Client) error{
		"cancel a group": func(ctx context.Context, c *Client) error { return c.Runs().Cancel(ctx, group, "enough") },
		"cancel a DAG":   func(ctx context.Context, c *Client) error { return c.Runs().Cancel(ctx, run, "") },
		"pause":          func(ctx context.Context, c *Client) error { return c.Runs().Pause(ctx, group, "wait") },
		"resume":         func(ctx context.Context, c *Client) error { return c.Runs().Resume(ctx, run) },
		"cancel a job":   func(ctx context.Context, c *Client) error { return c.Runs().CancelItem(ctx, job, "") },
		"cancel a task":  func(ctx context.Context, c *Client) error { return c.Runs().CancelItem(ctx, task, "") },
		"expire a job":   func(ctx context.Context, c *Client) error { return c.Runs().ExpireItem(ctx, job, "") },
		"set a policy":   func(ctx context.Context, c *Client) error { _, err := c.Runs().Set(ctx, group, change); return err },
		"set the concurrency": func(ctx context.Context, c *Client) error {
			_, err := c.DAGs().SetConcurrency(ctx, run, 2, "ann")
			return err
		},
		"release": func(ctx context.Context, c *Client) error { _, err := c.DAGs().Release(ctx, run, "ann"); return err },
		"retry": func(ctx context.Context, c *Client) error {
			_, err := c.DAGs().RetryTasks(ctx, run, nil, "ann")
			return err
		},
		"approve": func(ctx context.Context, c *Client) error {
			_, err := c.DAGs().ApproveTask(ctx, run, "load", "ann", "")
			return err
		},
		"add tasks": func(ctx context.Context, c *Client) error {
			_, err := c.DAGs().AddTasks(ctx, run, "f", nil, "ann")
			return err
		},
		"drain a worker": func(ctx context.Context, c *Client) error {
			_, err := c.Workers().Operate(ctx, "n1", ActionDrain, "ann", "")
			return err
		},
		"clean up": func(ctx context.Context, c *Client) error {
			_, err := c.Workers().Cleanup(ctx, true, "ann")
			return err
		},
		"resize a pool": func(ctx context.Context, c *Client) error {
			_, err := c.Admission().ResizePool(ctx, "db", 2, "ann")
			return err
		},
		"re-enable a job type": func(ctx context.Context, c *Client) error {
			_, err := c.Admission().ReEnable(ctx, "scrub", "")
			return err
		},
		"forgive a key": func(ctx context.Context, c *Client) error {
			_, err := c.Admission().Forgive(ctx, "scrub", "k")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &recordingClient{}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := request(ctx, New(server, "", nil).As("ann", nil)); !Unanswered(err) { // For a job that could not be looked up.
				require.NoError(t, err)
			}
			require.Len(t, server.sent, 1)
			encoded, err := json.Marshal(server.sent[0])
			require.NoError(t, err)
			var sent struct{ By string }
			require.NoError(t, json.Unmarshal(encoded, &sent))
			assert.Equal(t, "ann", sent.By, "%T", server.sent[0])
		})
	}
}
