package workerview_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
)

// stalled is a server that answers nothing but the registry. It records the latest deadline of
// a request.
type stalled struct {
	client.Client

	latest *latest
}

// latest is the latest time of several goroutines.
type latest struct {
	mu sync.Mutex
	at time.Time
}

func (l *latest) record(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.After(l.at) {
		l.at = at
	}
}

// stalledService is the service of a stalled server.
type stalledService struct {
	workflowservice.WorkflowServiceClient

	of stalled
}

func (s stalled) WorkflowService() workflowservice.WorkflowServiceClient {
	return stalledService{of: s}
}

func (s stalled) wait(ctx context.Context) error {
	<-ctx.Done()
	s.latest.record(time.Now())
	return context.Cause(ctx)
}

func (s stalled) ListWorkflow(ctx context.Context, _ *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return nil, s.wait(ctx)
}

func (s stalled) QueryWorkflowWithOptions(ctx context.Context, _ *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	return nil, s.wait(ctx)
}

func (s stalled) DescribeTaskQueue(ctx context.Context, _ string, _ enumspb.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return nil, s.wait(ctx)
}

func (s stalled) DescribeWorkflowExecution(ctx context.Context, _, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, s.wait(ctx)
}

func (s stalledService) ListSchedules(ctx context.Context, _ *workflowservice.ListSchedulesRequest, _ ...grpc.CallOption) (*workflowservice.ListSchedulesResponse, error) {
	return nil, s.of.wait(ctx)
}

// The verdict makes many requests; all together are given up after 10 s.
func TestAStalledServerIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var given latest
		shown := workerview.ShownWorker{WorkerDetail: contract.WorkerDetail{Registration: contract.WorkerRegistration{ID: "node-a"}}}
		_, err := workerview.MayReboot(t.Context(), starter.New(stalled{latest: &given}, "", nil), shown)
		require.Error(t, err)
		assert.Equal(t, began.Add(10*time.Second), given.at)
	})
}
