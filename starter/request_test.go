package starter_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/starter"
)

// TestARepeatedRequestSendsOneSignal: its attempts have one id, and the run gets one signal. Other requests have other ids.
func TestARepeatedRequestSendsOneSignal(t *testing.T) {
	t.Parallel()
	server, err := launched()
	require.NoError(t, err)
	var mu sync.Mutex
	var ids []string
	c, err := starter.Dial(t.Context(), starter.Options{
		Address: server.Address(), HeartbeatInterval: -1,
		Intercept: func(ctx context.Context, method string, in, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			if signal, is := in.(*workflowservice.SignalWorkflowExecutionRequest); is {
				mu.Lock()
				ids = append(ids, signal.GetRequestId())
				mu.Unlock()
			}
			return invoke(ctx, method, in, reply, cc, options...)
		},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	serve(t, c)
	ref := start(t, c, "repeated")
	one, another := starter.WithRequest(t.Context(), starter.Request{ID: "one"}), starter.WithRequest(t.Context(), starter.Request{ID: "another"})
	for _, ctx := range []context.Context{one, one, another, t.Context(), t.Context()} {
		require.NoError(t, c.Runs().Pause(ctx, ref, "wait"))
	}
	require.NoError(t, c.Runs().Resume(one, ref))
	assert.Equal(t, []string{"one/pause", "one/pause", "another/pause"}, ids[:3])
	assert.Equal(t, "one/resume", ids[5])
	slices.Sort(ids)
	assert.Len(t, slices.Compact(ids), 5, "%v", ids)

	described, err := c.Temporal().DescribeWorkflowExecution(t.Context(), ref.WorkflowID, "")
	require.NoError(t, err)
	signals := 0
	history := c.Temporal().GetWorkflowHistory(t.Context(), ref.WorkflowID, described.GetWorkflowExecutionInfo().GetExecution().GetRunId(), false, 0)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(t, err)
		if event.GetWorkflowExecutionSignaledEventAttributes() != nil {
			signals++
		}
	}
	assert.Equal(t, 5, signals)
}
