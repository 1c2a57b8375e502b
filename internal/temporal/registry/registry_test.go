package registry_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/registry"
)

// frontend is a server that keeps the last request, and answers with fault or the prepared answer.
type frontend struct {
	workflowservice.UnimplementedWorkflowServiceServer

	fault   error
	outcome *updatepb.Outcome
	// later answers all registrations after the first one, if set.
	later *updatepb.Outcome
	query *workflowservice.QueryWorkflowResponse
	// silent is the fault of queries.
	silent error

	mu    sync.Mutex
	last  any
	calls []any
	// until is the deadline of the last call, by which its client gives up.
	until time.Time
}

func (f *frontend) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

func (f *frontend) got(ctx context.Context, in any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last, f.calls = in, append(f.calls, in)
	f.until, _ = ctx.Deadline()
	return serviceerror.ToStatus(f.fault).Err()
}

func (f *frontend) ExecuteMultiOperation(ctx context.Context, in *workflowservice.ExecuteMultiOperationRequest) (*workflowservice.ExecuteMultiOperationResponse, error) {
	outcome := f.outcome
	if f.later != nil && len(f.calls) > 0 {
		outcome = f.later
	}
	update := &workflowservice.UpdateWorkflowExecutionResponse{
		UpdateRef: &updatepb.UpdateRef{WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: contract.FleetWorkflowID, RunId: "r"}, UpdateId: "u"},
		Stage:     enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED, Outcome: outcome,
	}
	return &workflowservice.ExecuteMultiOperationResponse{Responses: []*workflowservice.ExecuteMultiOperationResponse_Response{
		{Response: &workflowservice.ExecuteMultiOperationResponse_Response_StartWorkflow{StartWorkflow: &workflowservice.StartWorkflowExecutionResponse{RunId: "r"}}},
		{Response: &workflowservice.ExecuteMultiOperationResponse_Response_UpdateWorkflow{UpdateWorkflow: update}},
	}}, f.got(ctx, in)
}

func (f *frontend) QueryWorkflow(ctx context.Context, in *workflowservice.QueryWorkflowRequest) (*workflowservice.QueryWorkflowResponse, error) {
	if err := f.got(ctx, in); err != nil {
		return nil, err
	}
	return f.query, serviceerror.ToStatus(f.silent).Err()
}

func (f *frontend) SignalWorkflowExecution(ctx context.Context, in *workflowservice.SignalWorkflowExecutionRequest) (*workflowservice.SignalWorkflowExecutionResponse, error) {
	return &workflowservice.SignalWorkflowExecutionResponse{}, f.got(ctx, in)
}

func (f *frontend) RecordWorkerHeartbeat(ctx context.Context, in *workflowservice.RecordWorkerHeartbeatRequest) (*workflowservice.RecordWorkerHeartbeatResponse, error) {
	return &workflowservice.RecordWorkerHeartbeatResponse{}, f.got(ctx, in)
}

func dialed(t *testing.T, f *frontend) client.Client {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, f)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	c, err := client.DialContext(t.Context(), client.Options{HostPort: listener.Addr().String(), Namespace: "press", WorkerHeartbeatInterval: -1})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func payloads(t *testing.T, v any) *commonpb.Payloads {
	t.Helper()
	encoded, err := converter.GetDefaultDataConverter().ToPayloads(v)
	require.NoError(t, err)
	return encoded
}

func decoded[T any](t *testing.T, from *commonpb.Payloads) T {
	t.Helper()
	var v T
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(from, &v))
	return v
}

var (
	process = contract.Incarnation{ID: "press-7", Instance: "i1"}
	worker  = contract.WorkerRegistration{ID: "press-7", Instance: "i1", Host: "vm", PID: 7, Version: "v1", MaxExecute: 2}
)

// One request creates a missing registry and registers, and a registry that runs stays.
func TestARegistrationCreatesAMissingRegistry(t *testing.T) {
	t.Parallel()
	f := &frontend{}
	r := registry.New(dialed(t, f))
	for _, verdict := range []contract.RegisterWorkerResult{
		{Accepted: true, Settings: &contract.WorkerSettings{Known: true, Held: true}},
		{Refused: &contract.RegisteredOther{Host: "other", PID: 8, Instance: "i0"}},
	} {
		f.outcome = &updatepb.Outcome{Value: &updatepb.Outcome_Success{Success: payloads(t, verdict)}}
		begun := time.Now()
		got, err := r.Register(t.Context(), worker)
		require.NoError(t, err)
		assert.Equal(t, verdict, got)
		assert.WithinRange(t, f.until, begun, time.Now().Add(10*time.Second))
	}
	sent, _ := f.last.(*workflowservice.ExecuteMultiOperationRequest)
	require.Len(t, sent.GetOperations(), 2)
	start, update := sent.GetOperations()[0].GetStartWorkflow(), sent.GetOperations()[1].GetUpdateWorkflow()
	assert.Equal(t, []string{"press", "fleet", contract.FleetWorkflow, contract.ControlQueue},
		[]string{start.GetNamespace(), start.GetWorkflowId(), start.GetWorkflowType().GetName(), start.GetTaskQueue().GetName()})
	assert.Equal(t, enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, start.GetWorkflowIdConflictPolicy())
	assert.Equal(t, enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED, update.GetWaitPolicy().GetLifecycleStage())
	assert.Equal(t, contract.UpdateRegisterWorker, update.GetRequest().GetInput().GetName())
	assert.Equal(t, worker, decoded[contract.WorkerRegistration](t, update.GetRequest().GetInput().GetArgs()))
	assert.Equal(t, contract.FleetSummary, decoded[string](t, &commonpb.Payloads{Payloads: []*commonpb.Payload{start.GetUserMetadata().GetSummary()}}))
}

// severalOf is the refusal of a start with an update, where the update or the start caused it.
func severalOf(start, update error) error {
	return serviceerror.NewMultiOperationExecution("no", []error{start, update})
}

// A worker gives up on a final error, and otherwise tries again until the registry answers.
func TestFinalErrorsOfARegistration(t *testing.T) {
	t.Parallel()
	aborted := serviceerror.NewMultiOperationAborted("aborted")
	for name, row := range map[string]struct {
		fault error
		final bool
	}{
		"an invalid argument":        {serviceerror.NewInvalidArgument("no"), true},
		"no right":                   {serviceerror.NewPermissionDenied("no", ""), true},
		"no namespace":               {serviceerror.NewNamespaceNotFound("press"), true},
		"an invalid start":           {severalOf(serviceerror.NewInvalidArgument("no"), aborted), true},
		"an invalid update":          {severalOf(aborted, serviceerror.NewInvalidArgument("no")), true},
		"the registry ended just so": {severalOf(aborted, serviceerror.NewNotFound("workflow execution already completed")), false},
		"a failed precondition":      {serviceerror.NewFailedPrecondition("no"), false},
		"a namespace that is new":    {serviceerror.NewNotFound("no"), false},
		"a code of a later server":   {serviceerror.FromStatus(status.New(codes.Code(42), "no")), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict, err := registry.New(dialed(t, &frontend{fault: row.fault})).Register(t.Context(), worker)
			require.Error(t, err)
			assert.Equal(t, row.final, registry.Final(err), "%v", err)
			assert.Zero(t, verdict)
		})
	}
	assert.False(t, registry.Final(nil))
	assert.False(t, registry.Final(context.DeadlineExceeded))
}

func TestARegistrationThatTheRegistryRefuses(t *testing.T) {
	t.Parallel()
	refused := &failurepb.Failure{Message: "label x: too long", FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: "INVALID"}}}
	f := &frontend{outcome: &updatepb.Outcome{Value: &updatepb.Outcome_Failure{Failure: refused}}}
	_, err := registry.New(dialed(t, f)).Register(t.Context(), worker)
	require.ErrorContains(t, err, "label x: too long")
	assert.True(t, registry.Final(err))
	assert.True(t, registry.Final(fmt.Errorf("register: %w", err)))
}

// Heartbeats may be late on a busy machine. So a stale holder loses its id only if its process does not answer.
func TestAStaleHolderThatAnswersKeepsItsID(t *testing.T) {
	t.Parallel()
	holder := &contract.RegisteredOther{Host: "other", PID: 8, Instance: "i0"}
	stale, accepted := contract.RegisterWorkerResult{Refused: holder, Stale: true}, contract.RegisterWorkerResult{Accepted: true}
	takeOver, unanswered, hasAnswered := worker, worker, worker
	takeOver.TakeOver, unanswered.Unanswered, hasAnswered.Answered = true, "i0", "i0"
	for name, row := range map[string]struct {
		first  contract.RegisterWorkerResult
		dead   string
		answer string
		silent error
		// again is the second registration.
		again   *contract.WorkerRegistration
		queries int
	}{
		"it answers":                   {stale, "", "i0", nil, &hasAnswered, 1},
		"another process answers":      {stale, "", "i-1", nil, &unanswered, 1},
		"it is silent":                 {stale, "", "", serviceerror.NewNotFound("no poller"), &unanswered, 1},
		"it is known to have ended":    {stale, "i0", "", nil, &takeOver, 0},
		"a fresh one that has ended":   {contract.RegisterWorkerResult{Refused: holder}, "i0", "", nil, &takeOver, 0},
		"it is fresh, and no one asks": {contract.RegisterWorkerResult{Refused: holder}, "i-1", "", nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			success := func(v any) *updatepb.Outcome {
				return &updatepb.Outcome{Value: &updatepb.Outcome_Success{Success: payloads(t, v)}}
			}
			want := accepted
			if row.again == nil || row.again.Answered != "" { // The holder keeps the id.
				want = row.first
			}
			f := &frontend{outcome: success(row.first), later: success(want), silent: row.silent, query: answered(t, contract.WorkerReport{ID: "press-7", Instance: row.answer})}
			verdict, err := registry.New(dialed(t, f)).Register(t.Context(), worker, row.dead)
			require.NoError(t, err)
			var sent []contract.WorkerRegistration
			queries := 0
			for _, call := range f.calls {
				switch in := call.(type) {
				case *workflowservice.ExecuteMultiOperationRequest:
					sent = append(sent, decoded[contract.WorkerRegistration](t, in.GetOperations()[1].GetUpdateWorkflow().GetRequest().GetInput().GetArgs()))
				case *workflowservice.QueryWorkflowRequest:
					queries++
					assert.Equal(t, contract.WorkerWorkflowID("press-7"), in.GetExecution().GetWorkflowId())
				}
			}
			assert.Equal(t, row.queries, queries)
			assert.Equal(t, want, verdict)
			wanted := []contract.WorkerRegistration{worker}
			if row.again != nil {
				wanted = append(wanted, *row.again)
			}
			assert.Equal(t, wanted, sent)
		})
	}
}

// Requests to an unavailable server are repeated until the caller ends. The error is not final.
func TestTheCallerEndsARegistration(t *testing.T) {
	t.Parallel()
	f := &frontend{fault: serviceerror.NewUnavailable("no")}
	r := registry.New(dialed(t, f))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Register(ctx, worker)
	require.Error(t, err)
	assert.False(t, registry.Final(err))
	_, err = r.Workers(ctx, contract.WorkersQueryInput{})
	require.Error(t, err, "a caller that left does not hear that there are no workers")
}

func answered(t *testing.T, v any) *workflowservice.QueryWorkflowResponse {
	t.Helper()
	return &workflowservice.QueryWorkflowResponse{QueryResult: payloads(t, v)}
}

func TestAnswersOfTheRegistry(t *testing.T) {
	t.Parallel()
	f := &frontend{}
	r := registry.New(dialed(t, f))
	last := func() *workflowservice.QueryWorkflowRequest {
		sent, _ := f.last.(*workflowservice.QueryWorkflowRequest)
		assert.Equal(t, []string{"press", "fleet", ""}, []string{sent.GetNamespace(), sent.GetExecution().GetWorkflowId(), sent.GetExecution().GetRunId()})
		assert.Equal(t, enumspb.QUERY_REJECT_CONDITION_NOT_OPEN, sent.GetQueryRejectCondition())
		assert.WithinRange(t, f.until, time.Now(), time.Now().Add(10*time.Second))
		return sent
	}
	known := contract.WorkerSettings{Known: true, Held: true, Resized: &contract.WorkerCaps{MaxExecute: 9}}
	f.query = answered(t, known)
	settings, err := r.Settings(t.Context(), process)
	require.NoError(t, err)
	assert.Equal(t, known, settings)
	assert.Equal(t, contract.QuerySettings, last().GetQuery().GetQueryType())
	assert.Equal(t, process, decoded[contract.Incarnation](t, last().GetQuery().GetQueryArgs()))

	other := contract.Incarnation{ID: "mill", Instance: "i9"}
	f.query = answered(t, contract.StandingResult{Settings: []contract.WorkerSettings{{}, known}})
	standing, err := r.Standing(t.Context(), []contract.Incarnation{other, process})
	require.NoError(t, err)
	assert.Equal(t, []contract.WorkerSettings{{}, known}, standing, "in the order of the question")
	assert.Equal(t, contract.QueryStanding, last().GetQuery().GetQueryType())
	assert.Equal(t, []contract.Incarnation{other, process}, decoded[contract.StandingInput](t, last().GetQuery().GetQueryArgs()).Of)

	f.query = answered(t, contract.WorkersQueryResult{Workers: []contract.WorkerDetail{{Registration: worker}}, Observer: "no right"})
	list, err := r.Workers(t.Context(), contract.WorkersQueryInput{Online: true})
	require.NoError(t, err)
	require.Len(t, list.Workers, 1)
	assert.Equal(t, worker, list.Workers[0].Registration)
	assert.Equal(t, "no right", list.Observer)
	assert.Equal(t, contract.QueryWorkers, last().GetQuery().GetQueryType())
	assert.True(t, decoded[contract.WorkersQueryInput](t, last().GetQuery().GetQueryArgs()).Online)
}

// A registry that is missing or has ended has no workers, and the callers get one answer for each question.
func TestAMissingRegistryKnowsNobody(t *testing.T) {
	t.Parallel()
	of := []contract.Incarnation{process, {ID: "mill", Instance: "i9"}}
	for name, f := range map[string]*frontend{
		"missing": {fault: serviceerror.NewNotFound("no such workflow")},
		// The server must not answer from the history of a registry that was terminated.
		"terminated": {query: &workflowservice.QueryWorkflowResponse{QueryRejected: &querypb.QueryRejected{Status: enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED}}},
		// A registry of another version returns fewer answers than questions.
		"short": {query: answered(t, contract.StandingResult{Settings: []contract.WorkerSettings{{Known: true}}})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := registry.New(dialed(t, f))
			standing, err := r.Standing(t.Context(), of)
			require.NoError(t, err)
			assert.Equal(t, make([]contract.WorkerSettings, len(of)), standing)
			settings, err := r.Settings(t.Context(), process)
			require.NoError(t, err)
			assert.Zero(t, settings)
			list, err := r.Workers(t.Context(), contract.WorkersQueryInput{})
			require.NoError(t, err)
			assert.Zero(t, list)
		})
	}
}

// A missing namespace and a broken answer must not look like a registry without workers.
func TestOtherFaultsAreNoEmptyRegistry(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*frontend{
		"no namespace":  {fault: serviceerror.NewNamespaceNotFound("press")},
		"no right":      {fault: serviceerror.NewPermissionDenied("no", "")},
		"query failed":  {fault: serviceerror.NewQueryFailed("unknown queryType")},
		"not an answer": {query: answered(t, "text")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := registry.New(dialed(t, f))
			_, err := r.Standing(t.Context(), []contract.Incarnation{process})
			require.Error(t, err)
			_, err = r.Settings(t.Context(), process)
			require.Error(t, err)
			_, err = r.Workers(t.Context(), contract.WorkersQueryInput{})
			require.Error(t, err)
		})
	}
}

// A stopping worker waits for its last message for two seconds at most.
func TestMessagesToTheRegistry(t *testing.T) {
	t.Parallel()
	f := &frontend{}
	r := registry.New(dialed(t, f))
	last := func() *workflowservice.SignalWorkflowExecutionRequest {
		sent, _ := f.last.(*workflowservice.SignalWorkflowExecutionRequest)
		assert.Equal(t, []string{"fleet", ""}, []string{sent.GetWorkflowExecution().GetWorkflowId(), sent.GetWorkflowExecution().GetRunId()})
		return sent
	}
	require.NoError(t, r.Unregister(t.Context(), process))
	assert.Equal(t, contract.SignalUnregisterWorker, last().GetSignalName())
	assert.Equal(t, process, decoded[contract.Incarnation](t, last().GetInput()))
	assert.WithinRange(t, f.until, time.Now(), time.Now().Add(2*time.Second))

	trouble := contract.WorkerTroubleInput{Incarnation: process, Code: contract.CodeCannotStart, Detail: "no python3", Run: "nightly"}
	require.NoError(t, r.Trouble(t.Context(), trouble))
	assert.Equal(t, contract.SignalWorkerTrouble, last().GetSignalName())
	assert.Equal(t, trouble, decoded[contract.WorkerTroubleInput](t, last().GetInput()))

	f.fault = serviceerror.NewNotFound("no such workflow")
	var gone *serviceerror.NotFound
	require.ErrorAs(t, r.Unregister(t.Context(), process), &gone)
	require.ErrorAs(t, r.Trouble(t.Context(), trouble), &gone)
}
