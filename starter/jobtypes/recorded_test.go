package jobtypes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// auditing is a server with one run, that of the first start. It has an audit log while audited is true.
type auditing struct {
	client.Client

	run      *workflowpb.WorkflowExecutionInfo
	audited  bool
	recorded []contract.AuditEntry
}

type begunRun struct {
	client.WorkflowRun

	id string
}

func (b begunRun) GetRunID() string { return b.id }

func (s *auditing) ExecuteWorkflow(_ context.Context, options client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	if s.run != nil {
		return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("it exists", "", "")
	}
	digest, err := starter.DataConverter().ToPayload(options.Memo[submissionKey])
	if err != nil {
		return nil, err
	}
	s.run = &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: options.ID, RunId: "first"}, FirstRunId: "first", StartTime: timestamppb.Now(),
		Type:             &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		Memo:             &commonpb.Memo{Fields: map[string]*commonpb.Payload{submissionKey: digest}},
		SearchAttributes: rpc.KeywordAttribute(contract.SearchAttributeJobType, "scrub"),
	}
	return begunRun{id: "first"}, nil
}

func (s *auditing) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if s.run == nil || s.run.GetExecution().GetWorkflowId() != id {
		return nil, serviceerror.NewNotFound("it does not exist")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: s.run}, nil
}

func (s *auditing) SignalWithStartWorkflow(_ context.Context, _, _ string, record any, _ client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	if !s.audited {
		return nil, serviceerror.NewUnavailable("away")
	}
	s.recorded = append(s.recorded, record.(contract.AuditRecord).Entries...) //nolint:errcheck,forcetypeassert // as the recorder sends it
	return nil, nil                                                           //nolint:nilnil // The recorder does not use it.
}

// TestASubmissionIsAuditedByItsRepetition, if the first attempt was killed between the start and its audit entry. All
// attempts have one id, which the log keeps once, until the log may have dropped it.
func TestASubmissionIsAuditedByItsRepetition(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]func(ctx context.Context) context.Context{
		"by id":         func(ctx context.Context) context.Context { return ctx },
		"by a same key": func(ctx context.Context) context.Context { return starter.WithRequest(ctx, starter.Request{ID: "one"}) },
	} {
		synctest.Test(t, func(t *testing.T) {
			server, ctx := &auditing{}, by(t.Context())
			types, known := Of(starter.New(server, "", nil)), JobType{Name: "scrub", Spec: contract.JobTypeSpec{Name: "scrub", Policy: jobtype.DefaultPolicy()}}
			submit := func(summary string) (Submitted, error) {
				return types.Submit(ctx, known, contract.Submission{ID: "ticket-1", IgnoreWindow: true, Proposals: []jobtype.Proposal{{Summary: summary}, {Summary: "two"}}})
			}
			killed, err := submit("one")
			require.NoError(t, err, name)
			require.Empty(t, server.recorded, name)

			server.audited = true
			for range 2 {
				repeated, err := submit("one")
				require.NoError(t, err, name)
				assert.True(t, repeated.Already, name)
			}
			require.Len(t, server.recorded, 2, name)
			entry := server.recorded[0]
			assert.Equal(t, []string{"jobs.submit", "scrub", killed.WorkflowID, ignoredWindow}, []string{entry.Action, entry.JobType, entry.Object, entry.Detail}, name)
			assert.Equal(t, 2, entry.Count, name)
			assert.Equal(t, entry.ID, server.recorded[1].ID, name)

			_, err = submit("another")
			require.ErrorAs(t, err, new(*SubmissionError), name)
			time.Sleep(recordedAgain)
			_, err = submit("one")
			require.NoError(t, err, name)
			assert.Len(t, server.recorded, 2, "%s: it submitted nothing, or the log may keep a second entry", name)

			// The id of a run that the server has dropped may be used again.
			server.run = nil
			_, err = submit("one")
			require.NoError(t, err, name)
			server.run.Execution.RunId, server.run.FirstRunId = "second", "second"
			_, err = submit("one")
			require.NoError(t, err, name)
			require.Len(t, server.recorded, 4, name)
			assert.NotEqual(t, entry.ID, server.recorded[3].ID, name)
		})
	}
}

// running is a server with a job type and the run of a tick.
type running struct {
	auditing

	types *oneSchedule
}

func (r *running) WorkflowService() workflowservice.WorkflowServiceClient {
	return r.types.WorkflowService()
}

// TestATriggerIsAuditedByItsRepetition: its group exists.
func TestATriggerIsAuditedByItsRepetition(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	ctx := starter.WithRequest(t.Context(), starter.Request{ID: "one", At: at})
	for name, trigger := range map[string]func(Client) (Triggered, error){
		"":            func(c Client) (Triggered, error) { return c.Trigger(ctx, "scrub") },
		ignoredWindow: func(c Client) (Triggered, error) { return c.TriggerIgnoringWindow(ctx, "scrub") },
	} {
		types, _ := scheduled(t, scrub("/a"))
		server := &running{types: types, auditing: auditing{audited: true, run: &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{WorkflowId: groupAt("scrub", at), RunId: "first"}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		}}}
		for range 2 {
			repeated, err := trigger(Of(starter.New(server, "", nil)))
			require.NoError(t, err, name)
			assert.Equal(t, groupAt("scrub", at), repeated.WorkflowID, name)
		}
		require.Len(t, server.recorded, 2, name)
		assert.Equal(t, []string{"one/jobtype.run/" + groupAt("scrub", at), name}, []string{server.recorded[0].ID, server.recorded[0].Detail})
		assert.Equal(t, server.recorded[0].ID, server.recorded[1].ID, "the audit log keeps one of them")
	}
}

// halfway is a server that creates one job type, and hangs at the others.
type halfway struct {
	*busyServer

	recorded chan contract.AuditEntry
	hangs    chan struct{}
}

type halfwayCalls struct {
	workflowservice.WorkflowServiceClient

	hangs chan struct{}
}

func (h *halfway) WorkflowService() workflowservice.WorkflowServiceClient {
	return halfwayCalls{h.busyServer.WorkflowService(), h.hangs}
}

func (h halfwayCalls) CreateSchedule(ctx context.Context, in *workflowservice.CreateScheduleRequest, options ...grpc.CallOption) (*workflowservice.CreateScheduleResponse, error) {
	if in.GetScheduleId() != contract.ScheduleID("b") {
		<-h.hangs
	}
	return h.WorkflowServiceClient.CreateSchedule(ctx, in, options...)
}

func (h *halfway) SignalWithStartWorkflow(_ context.Context, _, _ string, record any, _ client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	for _, entry := range record.(contract.AuditRecord).Entries { //nolint:errcheck,forcetypeassert // as the recorder sends it
		h.recorded <- entry
	}
	return nil, nil //nolint:nilnil // The recorder does not use it.
}

// TestAChangeIsRecordedBeforeTheApplyEnds: the process may be killed until then.
func TestAChangeIsRecordedBeforeTheApplyEnds(t *testing.T) {
	t.Parallel()
	inner, _ := newBusyServer()
	server := &halfway{busyServer: inner, recorded: make(chan contract.AuditEntry, 3), hangs: make(chan struct{})}
	types := Of(starter.New(server, "", nil))
	plan, err := types.Plan(t.Context(), []contract.JobTypeSpec{named("a"), named("b"), named("c")}, nil)
	require.NoError(t, err)
	applied := make(chan error)
	go func() {
		_, err := types.Apply(t.Context(), plan)
		applied <- err
	}()
	select {
	case entry := <-server.recorded:
		assert.Equal(t, []string{"apply.create", "b"}, []string{entry.Action, entry.JobType})
	case <-time.After(10 * time.Second):
		assert.Fail(t, "the change has no entry")
	}
	close(server.hangs)
	require.NoError(t, <-applied)
	assert.Len(t, server.recorded, 2, "all are recorded when it returns")
}
