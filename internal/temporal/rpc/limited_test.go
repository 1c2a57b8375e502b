package rpc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	updating = "/temporal.api.workflowservice.v1.WorkflowService/UpdateWorkflowExecution"
	starting = "/temporal.api.workflowservice.v1.WorkflowService/ExecuteMultiOperation"
	querying = "/temporal.api.workflowservice.v1.WorkflowService/QueryWorkflow"
)

// refusal is what the server sends, as it comes off the wire.
func refusal(cause enumspb.ResourceExhaustedCause) error {
	return serviceerror.ToStatus(&serviceerror.ResourceExhausted{Cause: cause, Message: "no"}).Err()
}

// inFlight is the refusal of an update next to ten others, alone and with a start.
func inFlight(method string) error {
	if method != starting {
		return refusal(enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT)
	}
	exhausted := &serviceerror.ResourceExhausted{Cause: enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT, Message: "no"}
	several := serviceerror.NewMultiOperationExecution("Update failed", []error{serviceerror.NewMultiOperationAborted("aborted"), exhausted})
	return serviceerror.ToStatus(several).Err()
}

// calls invokes the method of a server that gives these answers, the last one for ever.
func calls(ctx context.Context, method string, answers ...error) (n int, err error) {
	err = rpc.RepeatLimited(ctx, method, nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
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

// TestTheCallerEndsRepeats: the refusal is returned, not the end of the context.
func TestTheCallerEndsRepeats(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	refused := inFlight(updating)
	_, err := calls(ctx, updating, refused)
	require.ErrorIs(t, err, refused)
}
