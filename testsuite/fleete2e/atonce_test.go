package fleete2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestRegistrationsAtOnceAreNotRefused: 200 workers of one process register at once, and again as new
// processes. The server refuses none of them and drops no workflow task of the registry, and no workflow task
// fails.
func TestRegistrationsAtOnceAreNotRefused(t *testing.T) {
	t.Parallel()
	s := &site{t: t, server: testsuite.StartServer(t), thresholds: "default"}
	s.client = s.server.Client(t)
	s.startControl()
	var refused atomic.Int64
	count := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, options...)
		if status.Code(err) == codes.ResourceExhausted {
			refused.Add(1)
		}
		return err
	}
	workers, err := client.DialContext(t.Context(), starter.Options{Address: s.server.Address(), Intercept: count}.WithDefaults().ClientOptions())
	require.NoError(t, err)
	defer workers.Close()
	for process := range 2 {
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				r := registration(testsuite.CrowdID(i), fmt.Sprint(process))
				r.TakeOver = true
				verdict, err := register(t.Context(), workers, r)
				assert.NoError(t, err)
				assert.True(t, verdict.Accepted)
			})
		}
		all.Wait()
	}
	assert.Zero(t, refused.Load())
	history := s.client.GetWorkflowHistory(t.Context(), contract.FleetWorkflowID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(t, err)
		assert.NotEqual(t, enums.EVENT_TYPE_WORKFLOW_TASK_FAILED, event.GetEventType(), "%v", event)
	}
}
