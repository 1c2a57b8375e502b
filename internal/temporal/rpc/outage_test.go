package rpc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// TestOutagesAreThoseOfTheServer: a refusal is an answer, and the end of a long poll is none.
func TestOutagesAreThoseOfTheServer(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-time.Hour)
	after := func(method string, answer error) bool {
		outages := rpc.NewOutages(began)
		_ = outages.Observe(t.Context(), "/temporal.api.workflowservice.v1.WorkflowService/"+method, nil, nil, nil,
			func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return answer })
		return outages.Last().After(began)
	}
	assert.True(t, after("PollActivityTaskQueue", serviceerror.NewUnavailable("the connection broke")))
	assert.True(t, after("RecordActivityTaskHeartbeat", serviceerror.NewDeadlineExceeded("too slow")))
	assert.True(t, after("RecordActivityTaskHeartbeat", serviceerror.NewResourceExhausted(enums.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT, "too many")))
	assert.False(t, after("PollActivityTaskQueue", serviceerror.NewDeadlineExceeded("no task")))
	assert.False(t, after("RecordActivityTaskHeartbeat", serviceerror.NewNotFound("it has ended")))
	assert.False(t, after("RespondWorkflowTaskCompleted", nil))
}
