package starter_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// silent is a connection on which no workflow answers. It records the timeout of each request
// and then answers like the server.
type silent struct {
	mu    sync.Mutex
	given []time.Duration
	// called holds the other calls.
	called []string
}

func (s *silent) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if !strings.HasSuffix(method, "/QueryWorkflow") && !strings.HasSuffix(method, "/UpdateWorkflowExecution") {
		s.mu.Lock()
		s.called = append(s.called, method[strings.LastIndex(method, "/")+1:])
		s.mu.Unlock()
		return invoke(ctx, method, req, reply, cc, options...)
	}
	deadline, _ := ctx.Deadline()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = append(s.given, time.Until(deadline))
	return status.Error(codes.DeadlineExceeded, "nobody polls")
}

// A command waits once for an absent control plane, however many requests it has, and no longer
// than AskWithin.
func TestACommandAsksAnAbsentControlPlaneOnce(t *testing.T) {
	t.Parallel()
	server, err := launched()
	require.NoError(t, err)
	connection := &silent{}
	client, err := starter.Dial(t.Context(), starter.Options{Address: server.Address(), HeartbeatInterval: -1, AskWithin: 3 * time.Second, Intercept: connection.intercept})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	ctx := t.Context()
	for _, ask := range []func() error{
		func() error { _, err := client.Workers().List(ctx, contract.WorkersQueryInput{}); return err },
		func() error { _, err := client.Admission().Usage(ctx); return err },
		func() error { _, err := client.Admission().Usage(ctx); return err },
		func() error {
			_, err := client.Workers().Operate(ctx, "node-a", starter.ActionDrain, "ada", "")
			return err
		},
	} {
		var down *starter.ControlPlaneDownError
		require.ErrorAs(t, ask(), &down)
	}
	require.Len(t, connection.given, 1, "one question for all")
	assert.LessOrEqual(t, connection.given[0], 3*time.Second)
}

// A cancellation of a job is an update, which a control plane must answer.
func TestACancellationOfAJobNeedsTheControlPlane(t *testing.T) {
	t.Parallel()
	server, err := launched()
	require.NoError(t, err)
	connection := &silent{}
	client, err := starter.Dial(t.Context(), starter.Options{Address: server.Address(), HeartbeatInterval: -1, AskWithin: 3 * time.Second, Intercept: connection.intercept})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	ref := start(t, client, "unwatched")
	err = client.Runs().CancelItem(t.Context(), starter.ItemRef{Run: ref, ID: "job-00001"}, "")
	var down *starter.ControlPlaneDownError
	require.ErrorAs(t, err, &down)
	require.ErrorContains(t, err, "it may still take effect once one runs")
}

// The cancellation of a run is sent without a query, so the watch of its reaction finds the
// control plane absent.
func TestTheWatchOfARunEndsWithoutAControlPlane(t *testing.T) {
	t.Parallel()
	server, err := launched()
	require.NoError(t, err)
	connection := &silent{}
	client, err := starter.Dial(t.Context(), starter.Options{Address: server.Address(), HeartbeatInterval: -1, AskWithin: 30 * time.Millisecond, Intercept: connection.intercept})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	ref := start(t, client, "unserved")
	require.NoError(t, client.Runs().Cancel(t.Context(), ref, ""))
	looks := 0
	for _, call := range connection.called {
		if call == "DescribeWorkflowExecution" {
			looks++
		}
	}
	assert.NotEmpty(t, connection.given, "a control plane was looked for")
	assert.Less(t, looks, 40, "the whole watch has 80 looks")
}
