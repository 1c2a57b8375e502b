package rpc_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	updating = "/temporal.api.workflowservice.v1.WorkflowService/UpdateWorkflowExecution"
	starting = "/temporal.api.workflowservice.v1.WorkflowService/ExecuteMultiOperation"
	querying = "/temporal.api.workflowservice.v1.WorkflowService/QueryWorkflow"
)

func refusal(cause enumspb.ResourceExhaustedCause) error {
	return serviceerror.ToStatus(&serviceerror.ResourceExhausted{Cause: cause, Message: "no"}).Err()
}

// inFlight is the refusal of an update next to ten others, with or without a start.
func inFlight(method string) error {
	if method != starting {
		return refusal(enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT)
	}
	exhausted := &serviceerror.ResourceExhausted{Cause: enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT, Message: "no"}
	several := serviceerror.NewMultiOperationExecution("Update failed", []error{serviceerror.NewMultiOperationAborted("aborted"), exhausted})
	return serviceerror.ToStatus(several).Err()
}

// calls invokes the method on a server with these answers; the last one repeats.
func calls(ctx context.Context, method string, answers ...error) (n int, err error) {
	err = new(rpc.Updates).Send(ctx, method, nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		n++
		return answers[min(n, len(answers))-1]
	})
	return n, err
}

func TestUpdatesBesideTenOthersAreRepeated(t *testing.T) {
	t.Parallel()
	for _, method := range []string{updating, starting} {
		n, err := calls(t.Context(), method, inFlight(method), inFlight(method), nil)
		require.NoError(t, err, method)
		assert.Equal(t, 3, n, method)
	}
}

func TestOtherRefusalsAreNotRepeated(t *testing.T) {
	t.Parallel()
	for _, refused := range []struct {
		method string
		err    error
	}{
		{querying, inFlight(querying)},
		{updating, refusal(enumspb.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT)},
		{updating, serviceerror.ToStatus(serviceerror.NewNotFound("no workflow")).Err()},
		{updating, errors.New("broken")},
	} {
		n, err := calls(t.Context(), refused.method, refused.err)
		require.ErrorIs(t, err, refused.err)
		assert.Equal(t, 1, n, refused.method)
	}
}

// The result is the refusal, not the end of the context.
func TestTheCallerEndsRepeats(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	refused := inFlight(updating)
	err := new(rpc.Updates).Send(ctx, updating, nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		cancel()
		return refused
	})
	require.ErrorIs(t, err, refused)
}

func updateOf(id string) *workflowservice.UpdateWorkflowExecutionRequest {
	return &workflowservice.UpdateWorkflowExecutionRequest{WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id}}
}

// A fifth update waits for the end of another one, with or without a start. Updates of other workflows and
// other calls do not wait.
func TestFourUpdatesOfAWorkflowAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		updates, inFlight, most := &rpc.Updates{}, atomic.Int32{}, atomic.Int32{}
		gate := make(chan struct{})
		send := func(ctx context.Context, method string, req any) error {
			return updates.Send(ctx, method, req, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
				most.Store(max(most.Load(), inFlight.Add(1)))
				<-gate
				inFlight.Add(-1)
				return nil
			})
		}
		withStart := &workflowservice.ExecuteMultiOperationRequest{Operations: []*workflowservice.ExecuteMultiOperationRequest_Operation{
			{}, {Operation: &workflowservice.ExecuteMultiOperationRequest_Operation_UpdateWorkflow{UpdateWorkflow: updateOf("fleet")}},
		}}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { assert.NoError(t, send(t.Context(), updating, updateOf("fleet"))) })
			all.Go(func() { assert.NoError(t, send(t.Context(), starting, withStart)) })
		}
		synctest.Wait()
		assert.EqualValues(t, 4, inFlight.Load())

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.Error(t, send(ended, updating, updateOf("fleet")), "who waits may leave")
		all.Go(func() { assert.NoError(t, send(t.Context(), updating, updateOf("other"))) })
		all.Go(func() { assert.NoError(t, send(t.Context(), querying, &workflowservice.QueryWorkflowRequest{})) })
		synctest.Wait()
		assert.EqualValues(t, 6, inFlight.Load())
		close(gate)
		all.Wait()
		assert.EqualValues(t, 6, most.Load())
	})
}
