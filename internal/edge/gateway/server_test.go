package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/roundsman/roundsman/contract"
)

// far is a Temporal server with a registry, one run and the tasks of workers.
type far struct {
	client.Client

	service farService
	// register answers registrations, in order; the last one repeats.
	register []contract.RegisterWorkerResult

	mu            sync.Mutex
	registrations []contract.WorkerRegistration
	known         map[contract.Incarnation]contract.WorkerSettings
	// questions are the queries of the registry. wait delays the answer to a query after it was made, by its number.
	questions [][]contract.Incarnation
	wait      map[int]time.Duration
	faults    faults
	beats     []contract.Heartbeat
	ends      []end
	signals   []any
	pages     []contract.DetectPageInput
	updates   []string
	full      bool
	commons   int
}

// faults are the errors of the server's calls.
type faults struct{ registry, beat, end, signal, page, common error }

// end is the completion of an activity.
type end struct {
	token   string
	result  any
	failure error
}

// state is the outcome in a completion, also in its failure.
func (e end) state(t *testing.T) contract.ExecuteState {
	t.Helper()
	if e.failure == nil {
		state, ok := e.result.(contract.ExecuteState)
		require.True(t, ok)
		return state
	}
	failed, ok := errors.AsType[*temporal.ApplicationError](e.failure)
	require.True(t, ok)
	var state contract.ExecuteState
	require.NoError(t, failed.Details(&state))
	return state
}

func value(v any) converter.EncodedValue { return client.NewValue(payloads(v)) }

func payloads(v any) *commonpb.Payloads {
	encoded, err := converter.GetDefaultDataConverter().ToPayloads(v)
	if err != nil {
		panic(err)
	}
	return encoded
}

func (f *far) WorkflowService() workflowservice.WorkflowServiceClient { return &f.service }

func (f *far) NewWithStartWorkflowOperation(client.StartWorkflowOptions, any, ...any) client.WithStartWorkflowOperation {
	return nil
}

type handle struct {
	client.WorkflowUpdateHandle
	answer any
}

func (h handle) Get(_ context.Context, into any) error { return value(h.answer).Get(into) }

func (f *far) UpdateWithStartWorkflow(_ context.Context, in client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	if f.faults.registry != nil {
		return nil, f.faults.registry
	}
	registration, _ := in.UpdateOptions.Args[0].(contract.WorkerRegistration)
	f.registrations = append(f.registrations, registration)
	return handle{answer: f.register[min(len(f.registrations), len(f.register))-1]}, nil
}

func (f *far) QueryWorkflowWithOptions(ctx context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	f.mu.Lock()
	question, _ := in.Args[0].(contract.StandingInput)
	f.questions = append(f.questions, question.Of)
	var answer contract.StandingResult
	for _, who := range question.Of {
		answer.Settings = append(answer.Settings, f.known[who])
	}
	err, wait := f.faults.registry, f.wait[len(f.questions)]
	f.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: value(answer)}, err
}

func (f *far) QueryWorkflow(_ context.Context, _, _, _ string, args ...any) (converter.EncodedValue, error) {
	f.commons++
	return value(contract.RunCommon{Params: []byte(`{"of":"` + fmt.Sprint(args[0]) + `"}`)}), f.faults.common
}

func (f *far) SignalWorkflow(_ context.Context, _, _, _ string, in any) error {
	f.signals = append(f.signals, in)
	return f.faults.signal
}

func (f *far) RecordActivityHeartbeat(_ context.Context, _ []byte, details ...any) error {
	beat, _ := details[0].(contract.Heartbeat)
	f.beats = append(f.beats, beat)
	return f.faults.beat
}

func (f *far) CompleteActivity(_ context.Context, token []byte, result any, failure error) error {
	f.ends = append(f.ends, end{string(token), result, failure})
	return f.faults.end
}

// UpdateWorkflow takes each page once, as the server does.
func (f *far) UpdateWorkflow(_ context.Context, in client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	page, _ := in.Args[0].(contract.DetectPageInput)
	f.pages, f.updates = append(f.pages, page), append(f.updates, in.UpdateID)
	return handle{answer: contract.DetectPageResult{Accepted: len(page.Proposals), Full: f.full}}, f.faults.page
}

// farService has tasks. Without one a poll waits for the end of its time.
type farService struct {
	workflowservice.WorkflowServiceClient

	tasks  []*workflowservice.PollActivityTaskQueueResponse
	polls  []*workflowservice.PollActivityTaskQueueRequest
	limits []time.Duration
	// polled is called after each poll that has a task.
	polled func()
	fault  error
	beats  []*workflowservice.RecordWorkerHeartbeatRequest
}

func (s *farService) PollActivityTaskQueue(ctx context.Context, in *workflowservice.PollActivityTaskQueueRequest, _ ...grpc.CallOption) (*workflowservice.PollActivityTaskQueueResponse, error) {
	until, _ := ctx.Deadline()
	s.polls, s.limits = append(s.polls, in), append(s.limits, time.Until(until))
	if s.fault != nil {
		return nil, s.fault
	}
	if len(s.tasks) == 0 {
		<-ctx.Done()
		return nil, serviceerror.NewDeadlineExceeded("no task")
	}
	task := s.tasks[0]
	s.tasks = s.tasks[1:]
	if s.polled != nil {
		s.polled()
	}
	return task, nil
}

func (s *farService) RecordWorkerHeartbeat(_ context.Context, in *workflowservice.RecordWorkerHeartbeatRequest, _ ...grpc.CallOption) (*workflowservice.RecordWorkerHeartbeatResponse, error) {
	s.beats = append(s.beats, in)
	return &workflowservice.RecordWorkerHeartbeatResponse{}, s.fault
}

// GetWorkflowExecutionHistory finds no page of proposals.
func (s *farService) GetWorkflowExecutionHistory(context.Context, *workflowservice.GetWorkflowExecutionHistoryRequest, ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	return nil, serviceerror.NewNotFound("no such workflow")
}

func task(token string, input any, limit time.Duration) *workflowservice.PollActivityTaskQueueResponse {
	task := &workflowservice.PollActivityTaskQueueResponse{
		TaskToken: []byte(token), Input: payloads(input), HeartbeatTimeout: durationpb.New(6 * time.Second),
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "group/outer"},
	}
	if limit > 0 {
		task.StartToCloseTimeout = durationpb.New(limit)
	}
	return task
}

var secret = bytes.Repeat([]byte{7}, MinSecret)

// near is a gateway of f.
func near(t *testing.T, f *far) *Gateway {
	t.Helper()
	g, err := New(Options{Client: f, Namespace: "press", Converter: converter.GetDefaultDataConverter(), Secret: secret})
	require.NoError(t, err)
	return g
}

var press = identity{ID: "press", Instance: "i1", Host: "vm", PID: 7, Version: "v1", Started: 1_800_000_000, MaxExecute: 2, MaxDetect: 1, Interval: 3, Key: "k1"}

// requireCode is about errors for clients.
func requireCode(t *testing.T, want Code, err error, about ...any) *Error {
	t.Helper()
	if want == "" {
		require.True(t, err == nil || reflect.ValueOf(err).IsNil(), append(about, err)...)
		return nil
	}
	var refused *Error
	require.ErrorAs(t, err, &refused, about...)
	require.Equal(t, want, refused.Code, about...)
	return refused
}
