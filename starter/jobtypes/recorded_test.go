package jobtypes

import (
	"context"
	"errors"
	"slices"
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
	"github.com/roundsman/roundsman/internal/lib/pack"
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

// interrupting is a server whose caller leaves as soon as a trigger is accepted.
type interrupting struct {
	*oneSchedule

	leave  func()
	answer error
}

type interruptingCalls struct {
	oneScheduleCalls

	server interrupting
}

func (s interrupting) WorkflowService() workflowservice.WorkflowServiceClient {
	return interruptingCalls{oneScheduleCalls{server: s.oneSchedule}, s}
}

func (s interruptingCalls) PatchSchedule(context.Context, *workflowservice.PatchScheduleRequest, ...grpc.CallOption) (*workflowservice.PatchScheduleResponse, error) {
	s.server.leave()
	return &workflowservice.PatchScheduleResponse{}, s.server.answer
}

// TestAnInterruptedStartIsAudited: Ctrl-C takes no request back.
func TestAnInterruptedStartIsAudited(t *testing.T) {
	t.Parallel()
	for _, answer := range []error{nil, context.Canceled} {
		ctx, leave := context.WithCancel(t.Context())
		types, _ := scheduled(t, scrub("/a"))
		triggered, err := Of(starter.New(interrupting{types, leave, answer}, "", nil)).Trigger(ctx, "scrub")
		givenUp, is := errors.AsType[*starter.GivenUpError](err)
		require.True(t, is, "%v", err)
		require.ErrorIs(t, givenUp, context.Canceled)
		require.Len(t, types.recorded, 1)
		assert.Equal(t, "jobtype.run", types.recorded[0].Action)
		assert.Equal(t, triggered.WorkflowID, types.recorded[0].Object)
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

// settled is a server with one job type. It has an audit log, which keeps each id once, while audited is true.
type settled struct {
	*oneSchedule

	audited bool
	log     []contract.AuditEntry
}

func (s *settled) SignalWithStartWorkflow(_ context.Context, _, _ string, record any, _ client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	if !s.audited {
		return nil, serviceerror.NewUnavailable("away")
	}
	for _, entry := range record.(contract.AuditRecord).Entries { //nolint:errcheck,forcetypeassert // as the recorder sends it
		if !slices.ContainsFunc(s.log, func(known contract.AuditEntry) bool { return known.ID == entry.ID }) {
			entry.Seq = int64(len(s.log)) + 1
			s.log = append(s.log, entry)
		}
	}
	return nil, nil //nolint:nilnil // The recorder does not use it.
}

func (s *settled) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	payloads, err := starter.DataConverter().ToPayloads(contract.AuditPage{Entries: s.log})
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

// TestChangesOfSettingsAreAuditedByTheirRepetition, if the first attempt was killed between the write and its entry. A
// repeated request that never wrote anything has no entry.
func TestChangesOfSettingsAreAuditedByTheirRepetition(t *testing.T) {
	t.Parallel()
	plain := func(path string) contract.JobTypeSpec {
		spec := scrub(path)
		spec.Execute = nil
		return completed(spec)
	}
	for action, change := range map[string]func(ctx context.Context, c Client) error{
		"jobtype.set": func(ctx context.Context, c Client) error {
			_, err := c.Edit(ctx, "scrub", func(Settings) (contract.JobTypeSpec, error) { return plain("/former"), nil })
			return err
		},
		contract.AuditRestore: func(ctx context.Context, c Client) error {
			_, err := c.Restore(ctx, "scrub", 0)
			return err
		},
	} {
		server, _ := scheduled(t, plain("/now"))
		packed, err := pack.JSON(former{Spec: plain("/former")})
		require.NoError(t, err)
		both := &settled{oneSchedule: server, log: []contract.AuditEntry{{Seq: 1, ID: "apply", JobType: "scrub", Action: "apply.update", Former: packed}}}
		c := Of(starter.New(both, "", nil))
		begun := func(id string) context.Context {
			version, err := c.SettingsVersion(t.Context(), "scrub")
			require.NoError(t, err)
			return starter.WithRequest(t.Context(), starter.Request{ID: id, Version: version})
		}
		killed := begun("killed")
		require.NoError(t, change(killed, c), action)
		require.Len(t, both.log, 1, action)
		both.audited = true
		restored, err := c.IsRestored(t.Context(), "scrub", 0)
		require.NoError(t, err)
		assert.True(t, restored, "%s: the repetition is let through", action)
		for range 2 {
			require.NoError(t, change(killed, c), action)
		}
		require.Len(t, both.log, 2, action)
		assert.Equal(t, []string{action, "scrub", contract.ScheduleID("scrub"), writtenBefore}, []string{both.log[1].Action, both.log[1].JobType, both.log[1].Object, both.log[1].Detail})

		idle := begun("idle")
		for range 2 {
			require.NoError(t, change(idle, c), action)
		}
		require.NoError(t, change(t.Context(), c), action)
		assert.Len(t, both.log, 2, "%s: nothing was written", action)

		server.put(t, c, plain("/now"))
		whole := begun("whole")
		for range 2 {
			require.NoError(t, change(whole, c), action)
			if action == contract.AuditRestore {
				break // The next restore without an entry undoes this one: the API refuses it.
			}
		}
		require.Len(t, both.log, 3, action)
		assert.NotEmpty(t, both.log[2].Former, "the first entry stays")
		restored, err = c.IsRestored(t.Context(), "scrub", 0)
		require.NoError(t, err)
		assert.False(t, restored, "%s: its own entry is the last one", action)
	}
}
