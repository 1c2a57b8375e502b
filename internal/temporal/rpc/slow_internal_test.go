package rpc

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// TestSlowCallsThatAreBriefByNature show an absent server; a long poll does not.
func TestSlowCallsThatAreBriefByNature(t *testing.T) {
	t.Parallel()
	assert.True(t, isAway("/service/RecordActivityTaskHeartbeat", codes.OK, slowCall+1))
	assert.False(t, isAway("/service/RecordActivityTaskHeartbeat", codes.OK, slowCall))
	assert.False(t, isAway("/service/PollActivityTaskQueue", codes.OK, time.Minute))
}

// A process meets many workflows, so nothing is kept of one without a waiting update, however the last one ended.
func TestNothingIsKeptOfUpdatesThatEnded(t *testing.T) {
	t.Parallel()
	updates := &Updates{}
	send := func(ctx context.Context, id string, answer error) error {
		return updates.Send(ctx, "/service/UpdateWorkflowExecution",
			&workflowservice.UpdateWorkflowExecutionRequest{WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id}}, nil, nil,
			func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
				assert.Contains(t, updates.queues, id)
				return answer
			})
	}
	require.NoError(t, send(t.Context(), "a", nil))
	require.Error(t, send(t.Context(), "b", errors.New("broken")))
	// A caller that leaves the queue of a workflow leaves the others in it.
	var leaves []func()
	for range updatesAtOnce {
		leave, err := updates.acquire(t.Context(), "c")
		require.NoError(t, err)
		leaves = append(leaves, leave)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, send(ended, "c", nil))
	assert.Len(t, updates.queues, 1)
	for _, leave := range leaves {
		leave()
	}
	assert.Empty(t, updates.queues)
}
