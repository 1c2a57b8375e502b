package starter

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

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/lib/override"
)

// starting is a server that starts each workflow id once, and has an audit log while audited is true.
type starting struct {
	client.Client

	memos    map[string]map[string]any
	audited  bool
	recorded []contract.AuditEntry
}

type begun struct {
	client.WorkflowRun

	id string
}

func (b begun) GetID() string { return b.id }

func (b begun) GetRunID() string { return "first of " + b.id }

func (s *starting) ExecuteWorkflow(_ context.Context, options client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	if _, exists := s.memos[options.ID]; exists {
		return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("it exists", "", "")
	}
	s.memos[options.ID] = options.Memo
	return begun{id: options.ID}, nil
}

func (s *starting) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	memo, exists := s.memos[id]
	if !exists {
		return nil, serviceerror.NewNotFound("it does not exist")
	}
	fields := map[string]*commonpb.Payload{}
	for name, value := range memo {
		payload, err := DataConverter().ToPayload(value)
		if err != nil {
			return nil, err
		}
		fields[name] = payload
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: begun{id: id}.GetRunID()}, Memo: &commonpb.Memo{Fields: fields},
	}}, nil
}

func (s *starting) SignalWithStartWorkflow(_ context.Context, _, _ string, record any, _ client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	if !s.audited {
		return nil, serviceerror.NewUnavailable("away")
	}
	s.recorded = append(s.recorded, record.(contract.AuditRecord).Entries...) //nolint:errcheck,forcetypeassert // as the recorder sends it
	return begun{}, nil
}

// TestAStartIsAuditedByItsRepetition, if the first attempt was killed between the start and its audit entry.
func TestAStartIsAuditedByItsRepetition(t *testing.T) {
	t.Parallel()
	server := &starting{memos: map[string]map[string]any{}}
	dags := New(server, "", nil).DAGs()
	compiled, err := spec.CompileText("nightly.yaml", "version: 1\nname: nightly\ntasks:\n  - {id: a, command: [echo]}\n", nil, nil)
	require.NoError(t, err)
	one := WithRequest(t.Context(), Request{ID: "one"})
	killed, err := dags.Run(one, compiled, DAGOptions{Run: "december"})
	require.NoError(t, err)
	require.Empty(t, server.recorded)

	server.audited = true
	for range 2 {
		repeated, err := dags.Run(one, compiled, DAGOptions{Run: "december"})
		require.NoError(t, err)
		assert.Equal(t, killed, repeated)
	}
	require.Len(t, server.recorded, 2)
	assert.Equal(t, []string{"dag.run", "dag/nightly/december"}, []string{server.recorded[0].Action, server.recorded[0].Object})
	assert.Equal(t, server.recorded[0].ID, server.recorded[1].ID, "the audit log keeps one of them")

	for name, other := range map[string]context.Context{"another request": WithRequest(t.Context(), Request{ID: "another"}), "no request": t.Context()} {
		_, err = dags.Run(other, compiled, DAGOptions{Run: "december"})
		require.ErrorAs(t, err, new(*DAGExistsError), name)
	}
	assert.Len(t, server.recorded, 2, "they started nothing")
}

// TestTheEntriesOfARequestAreKept, also if its first attempt made only some of the changes: the audit log keeps one entry
// of each ID.
func TestTheEntriesOfARequestAreKept(t *testing.T) {
	t.Parallel()
	server := &starting{audited: true}
	audit := New(server, "", nil).Audit()
	applied := func(ctx context.Context, names ...string) {
		var entries []contract.AuditEntry
		for _, name := range names {
			entries = append(entries, contract.AuditEntry{Action: "apply.update", Object: contract.ScheduleID(name)})
		}
		audit.Record(ctx, entries...)
	}
	one := WithRequest(t.Context(), Request{ID: "one"})
	applied(one, "scrub", "vacuum")
	applied(one, "tidy")
	applied(one, "tidy", "scrub")
	applied(WithRequest(t.Context(), Request{ID: "another"}), "scrub")
	applied(t.Context(), "scrub")
	applied(t.Context(), "scrub")
	ids := map[string]string{}
	for _, entry := range server.recorded {
		if object, known := ids[entry.ID]; known {
			assert.Equal(t, object, entry.Object, "the entry would be dropped")
		}
		ids[entry.ID] = entry.Object
	}
	assert.Len(t, ids, 6, "three of the first request, and one of each other")
}

// lastLook is a server whose runs end between a look at them and an update.
type lastLook struct {
	recordingClient

	ended bool
}

func (l *lastLook) DescribeWorkflowExecution(ctx context.Context, id, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	described, err := l.recordingClient.DescribeWorkflowExecution(ctx, id, run)
	if l.ended {
		described.WorkflowExecutionInfo.Status = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	}
	return described, err
}

func (l *lastLook) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	l.ended = true
	return nil, serviceerror.NewNotFound("workflow execution already completed")
}

// TestAnUpdateOfARunThatHasJustEnded does not report that the run does not exist.
func TestAnUpdateOfARunThatHasJustEnded(t *testing.T) {
	t.Parallel()
	group, run := RunRef{WorkflowID: "group/scrub-x"}, RunRef{WorkflowID: "dag/nightly/x"}
	retries, err := override.Parse([]string{"retry_limit=2"})
	require.NoError(t, err)
	concurrency, err := override.Parse([]string{"global_execution_concurrency=2"})
	require.NoError(t, err)
	for name, request := range map[string]func(context.Context, *Client) error{
		"cancel a job": func(ctx context.Context, c *Client) error {
			return c.Runs().CancelItem(ctx, ItemRef{Run: group, ID: "job-00001"}, "")
		},
		"set a group": func(ctx context.Context, c *Client) error { _, err := c.Runs().Set(ctx, group, retries); return err },
		"set a DAG":   func(ctx context.Context, c *Client) error { _, err := c.Runs().Set(ctx, run, concurrency); return err },
		"approve a task": func(ctx context.Context, c *Client) error {
			_, err := c.DAGs().ApproveTask(ctx, run, "a", "", "")
			return err
		},
		"release": func(ctx context.Context, c *Client) error { _, err := c.DAGs().Release(ctx, run, ""); return err },
		"and of a sub-DAG of it": func(ctx context.Context, c *Client) error {
			_, err := c.DAGs().SkipTask(ctx, RunRef{WorkflowID: "dag/nightly/x/sub"}, "a", "", "")
			return err
		},
	} {
		err := request(t.Context(), New(&lastLook{}, "", nil))
		require.ErrorIs(t, err, ErrAlreadyEnded, name)
		assert.NotErrorIs(t, err, ErrNotFound, name)
	}
}
