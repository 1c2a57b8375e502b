package doctor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/starter"
)

// hung is a server that answers nothing, or only requests about its namespace.
type hung struct {
	client.Client

	described bool
}

type hungService struct {
	workflowservice.WorkflowServiceClient

	of hung
}

type hungOperator struct {
	operatorservice.OperatorServiceClient

	of hung
}

func (h hung) WorkflowService() workflowservice.WorkflowServiceClient { return hungService{of: h} }
func (h hung) OperatorService() operatorservice.OperatorServiceClient { return hungOperator{of: h} }

// silence is the SDK's error at the end of a request. Without a deadline the request lasts forever.
func (hung) silence(ctx context.Context) error {
	<-ctx.Done()
	return serviceerror.NewDeadlineExceeded(ctx.Err().Error())
}

func (h hungService) DescribeNamespace(ctx context.Context, _ *workflowservice.DescribeNamespaceRequest, _ ...grpc.CallOption) (*workflowservice.DescribeNamespaceResponse, error) {
	if h.of.described {
		return &workflowservice.DescribeNamespaceResponse{}, nil
	}
	return nil, h.of.silence(ctx)
}

func (h hungService) GetClusterInfo(ctx context.Context, _ *workflowservice.GetClusterInfoRequest, _ ...grpc.CallOption) (*workflowservice.GetClusterInfoResponse, error) {
	return nil, h.of.silence(ctx)
}

func (h hungService) GetSystemInfo(ctx context.Context, _ *workflowservice.GetSystemInfoRequest, _ ...grpc.CallOption) (*workflowservice.GetSystemInfoResponse, error) {
	return nil, h.of.silence(ctx)
}

func (h hungService) SignalWorkflowExecution(ctx context.Context, _ *workflowservice.SignalWorkflowExecutionRequest, _ ...grpc.CallOption) (*workflowservice.SignalWorkflowExecutionResponse, error) {
	return nil, h.of.silence(ctx)
}

func (h hungOperator) ListSearchAttributes(ctx context.Context, _ *operatorservice.ListSearchAttributesRequest, _ ...grpc.CallOption) (*operatorservice.ListSearchAttributesResponse, error) {
	return nil, h.of.silence(ctx)
}

func (h hung) CountWorkflow(ctx context.Context, _ *workflowservice.CountWorkflowExecutionsRequest) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	return nil, h.silence(ctx)
}

// The SDK bounds this request.
func (h hung) ListWorkflow(ctx context.Context, _ *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return nil, h.silence(ctx)
}

func (h hung) QueryWorkflowWithOptions(ctx context.Context, _ *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	return nil, h.silence(ctx)
}

func (h hung) DescribeTaskQueue(ctx context.Context, _ string, _ enumspb.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return nil, h.silence(ctx)
}

func (h hung) DescribeWorkflowExecution(ctx context.Context, _, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, h.silence(ctx)
}

// TestAServerThatDoesNotAnswer is reported in words for operators, within the time of its requests. They have no text of
// Go, and the next step.
func TestAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, described := range map[string]bool{"at all": false, "but for its namespace": true} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			c := starter.New(hung{described: described}, "", nil)
			checks := append(Examine(t.Context(), c), CheckRetention(t.Context(), c, time.Hour, began))
			if !described {
				require.Len(t, checks, 2, "one finding is enough")
			}
			for _, check := range checks {
				assert.NotContains(t, check.Found, "deadline", "%s: %s", name, check.Name)
				assert.Equal(t, check.Verdict != VerdictOK, check.Fix != "", "%s: %s", name, check.Name)
			}
			assert.True(t, Failed(checks))
			assert.LessOrEqual(t, time.Since(began), 3*time.Minute, name)
		})
	}
}

// An answer of the server is its own text; one of gRPC is translated.
func TestTheCauseOfAFailedRequest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"database or disk is full (13)": "database or disk is full (13)",
		`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`: "dial tcp 127.0.0.1:1: connect: connection refused",
	} {
		assert.Equal(t, want, why(serviceerror.NewUnavailable(text)))
	}
	assert.Equal(t, "no", why(serviceerror.NewInternal("no")))
}
