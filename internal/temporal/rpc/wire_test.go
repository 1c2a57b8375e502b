package rpc_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// frontend answers each call with the next answer; nil is a success, and the last one repeats.
type frontend struct {
	workflowservice.UnimplementedWorkflowServiceServer

	answers []error
	calls   atomic.Int32
}

func (f *frontend) next() error {
	n := int(f.calls.Add(1))
	return f.answers[min(n, len(f.answers))-1]
}

func (f *frontend) UpdateWorkflowExecution(context.Context, *workflowservice.UpdateWorkflowExecutionRequest) (*workflowservice.UpdateWorkflowExecutionResponse, error) {
	return &workflowservice.UpdateWorkflowExecutionResponse{}, f.next()
}

func (f *frontend) ExecuteMultiOperation(context.Context, *workflowservice.ExecuteMultiOperationRequest) (*workflowservice.ExecuteMultiOperationResponse, error) {
	return &workflowservice.ExecuteMultiOperationResponse{}, f.next()
}

func (f *frontend) RespondActivityTaskCompleted(context.Context, *workflowservice.RespondActivityTaskCompletedRequest) (*workflowservice.RespondActivityTaskCompletedResponse, error) {
	return &workflowservice.RespondActivityTaskCompletedResponse{}, f.next()
}

// dialed is a connection to f with the interceptors of a client.
func dialed(t *testing.T, f *frontend, outages *rpc.Outages) workflowservice.WorkflowServiceClient {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, f)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(new(rpc.Updates).Send, outages.Observe, rpc.PollWhenReady))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return workflowservice.NewWorkflowServiceClient(conn)
}

// The cause of a refusal is in its details, which must survive the wire.
func TestRefusedUpdatesAreRecognizedOnTheWire(t *testing.T) {
	t.Parallel()
	send := map[string]func(workflowservice.WorkflowServiceClient) error{
		updating: func(c workflowservice.WorkflowServiceClient) error {
			_, err := c.UpdateWorkflowExecution(t.Context(), updateOf("fleet"))
			return err
		},
		starting: func(c workflowservice.WorkflowServiceClient) error {
			_, err := c.ExecuteMultiOperation(t.Context(), &workflowservice.ExecuteMultiOperationRequest{})
			return err
		},
	}
	for method, send := range send {
		f := &frontend{answers: []error{inFlight(method), nil}}
		outages := rpc.NewOutages(time.Unix(1, 0))
		require.NoError(t, send(dialed(t, f, outages)), method)
		assert.EqualValues(t, 2, f.calls.Load(), method)
		assert.True(t, outages.Last().After(time.Unix(1, 0)), "a refused attempt shows a busy server")

		for _, final := range []error{
			refusal(enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW), refusal(enumspb.ResourceExhaustedCause(99)),
			serviceerror.ToStatus(serviceerror.NewMultiOperationExecution("Update failed", []error{serviceerror.NewMultiOperationAborted("aborted"), serviceerror.NewNotFound("gone")})).Err(),
		} {
			f := &frontend{answers: []error{final, nil}}
			require.Error(t, send(dialed(t, f, outages)), method)
			assert.EqualValues(t, 1, f.calls.Load(), "%s: %v", method, final)
		}
	}
}

// Of the answers of a server, only these show that it is away.
func TestOutagesByTheCodesOfAnswers(t *testing.T) {
	t.Parallel()
	f := &frontend{}
	outages := rpc.NewOutages(time.Unix(1, 0))
	c := dialed(t, f, outages)
	away := map[codes.Code]bool{codes.Unavailable: true, codes.ResourceExhausted: true, codes.DeadlineExceeded: true}
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		f.answers = []error{nil}
		if code != codes.OK {
			f.answers = []error{serviceerror.ToStatus(answerOf(code)).Err()}
		}
		before := outages.Last()
		_, err := c.RespondActivityTaskCompleted(t.Context(), &workflowservice.RespondActivityTaskCompletedRequest{})
		require.Equal(t, code, rpc.Code(err))
		assert.Equal(t, away[code], outages.Last().After(before), code)
	}
}

// Only long polls wait for the connection, and they keep the caller's options.
func TestCallsThatWaitForTheConnection(t *testing.T) {
	t.Parallel()
	for method, waits := range map[string]bool{
		"PollActivityTaskQueue": true, "PollWorkflowTaskQueue": true, "PollNexusTaskQueue": true,
		"PollWorkflowExecutionUpdate": false, "RespondActivityTaskCompleted": false, "QueryWorkflow": false, "RecordWorkerHeartbeat": false,
	} {
		var given []grpc.CallOption
		own := grpc.MaxCallRecvMsgSize(7)
		err := rpc.PollWhenReady(t.Context(), "/temporal.api.workflowservice.v1.WorkflowService/"+method, nil, nil, nil,
			func(_ context.Context, _ string, _, _ any, _ *grpc.ClientConn, options ...grpc.CallOption) error {
				given = options
				return answerOf(codes.NotFound)
			}, own)
		assert.Equal(t, codes.NotFound, rpc.Code(err))
		want := []grpc.CallOption{own}
		if waits {
			want = append(want, grpc.WaitForReady(true))
		}
		assert.Equal(t, want, given, method)
	}
}
