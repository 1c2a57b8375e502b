// Package silent is a Temporal server that takes requests and answers none, or few. Its requests last until their deadline,
// so tests run it in a bubble of synctest.
package silent

import (
	"context"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Server answers nothing but the requests for which it has an answer.
type Server struct {
	client.Client

	// Described answers requests about the namespace.
	Described bool
	// Polled answers with the last poll of a control plane, Beat with its last heartbeat.
	Polled, Beat time.Time

	latest latest
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

// Latest returns the latest deadline of a request.
func (s *Server) Latest() time.Time {
	s.latest.mu.Lock()
	defer s.latest.mu.Unlock()
	return s.latest.at
}

// wait returns the SDK's error at the end of a request. A request without a deadline lasts forever.
func (s *Server) wait(ctx context.Context) error {
	<-ctx.Done()
	s.latest.record(time.Now())
	return serviceerror.NewDeadlineExceeded(ctx.Err().Error())
}

// sdkTimeout bounds lists of workflows in the SDK.
const sdkTimeout = 10 * time.Second

// WorkflowService implements [client.Client].
func (s *Server) WorkflowService() workflowservice.WorkflowServiceClient { return service{of: s} }

// OperatorService implements [client.Client].
func (s *Server) OperatorService() operatorservice.OperatorServiceClient { return operator{of: s} }

// CountWorkflow implements [client.Client].
func (s *Server) CountWorkflow(ctx context.Context, _ *workflowservice.CountWorkflowExecutionsRequest) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	return nil, s.wait(ctx)
}

// ListWorkflow implements [client.Client].
func (s *Server) ListWorkflow(ctx context.Context, _ *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, sdkTimeout)
	defer cancel()
	return nil, s.wait(ctx)
}

// QueryWorkflowWithOptions implements [client.Client].
func (s *Server) QueryWorkflowWithOptions(ctx context.Context, _ *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	return nil, s.wait(ctx)
}

// DescribeTaskQueue implements [client.Client].
func (s *Server) DescribeTaskQueue(ctx context.Context, _ string, _ enumspb.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	if s.Polled.IsZero() {
		return nil, s.wait(ctx)
	}
	return &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueuepb.PollerInfo{{Identity: "plane", LastAccessTime: timestamppb.New(s.Polled)}}}, nil
}

// DescribeWorkflowExecution implements [client.Client].
func (s *Server) DescribeWorkflowExecution(ctx context.Context, _, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, s.wait(ctx)
}

type service struct {
	workflowservice.WorkflowServiceClient

	of *Server
}

// DescribeNamespace answers if Described.
func (s service) DescribeNamespace(ctx context.Context, _ *workflowservice.DescribeNamespaceRequest, _ ...grpc.CallOption) (*workflowservice.DescribeNamespaceResponse, error) {
	if s.of.Described {
		return &workflowservice.DescribeNamespaceResponse{}, nil
	}
	return nil, s.of.wait(ctx)
}

// GetClusterInfo has no answer.
func (s service) GetClusterInfo(ctx context.Context, _ *workflowservice.GetClusterInfoRequest, _ ...grpc.CallOption) (*workflowservice.GetClusterInfoResponse, error) {
	return nil, s.of.wait(ctx)
}

// GetSystemInfo has no answer.
func (s service) GetSystemInfo(ctx context.Context, _ *workflowservice.GetSystemInfoRequest, _ ...grpc.CallOption) (*workflowservice.GetSystemInfoResponse, error) {
	return nil, s.of.wait(ctx)
}

// SignalWorkflowExecution has no answer.
func (s service) SignalWorkflowExecution(ctx context.Context, _ *workflowservice.SignalWorkflowExecutionRequest, _ ...grpc.CallOption) (*workflowservice.SignalWorkflowExecutionResponse, error) {
	return nil, s.of.wait(ctx)
}

// ListSchedules has no answer.
func (s service) ListSchedules(ctx context.Context, _ *workflowservice.ListSchedulesRequest, _ ...grpc.CallOption) (*workflowservice.ListSchedulesResponse, error) {
	return nil, s.of.wait(ctx)
}

// ListWorkers lists an ended process and a control plane, if Beat is set.
func (s service) ListWorkers(ctx context.Context, _ *workflowservice.ListWorkersRequest, _ ...grpc.CallOption) (*workflowservice.ListWorkersResponse, error) {
	if s.of.Beat.IsZero() {
		return nil, s.of.wait(ctx)
	}
	return &workflowservice.ListWorkersResponse{Workers: []*workerpb.WorkerListInfo{{WorkerInstanceKey: "ended"}, {WorkerInstanceKey: "plane"}}}, nil
}

// DescribeWorker answers with Beat.
func (s service) DescribeWorker(_ context.Context, in *workflowservice.DescribeWorkerRequest, _ ...grpc.CallOption) (*workflowservice.DescribeWorkerResponse, error) {
	if in.GetWorkerInstanceKey() == "ended" {
		return nil, serviceerror.NewNotFound("no such worker")
	}
	return &workflowservice.DescribeWorkerResponse{WorkerInfo: &workerpb.WorkerInfo{WorkerHeartbeat: &workerpb.WorkerHeartbeat{HeartbeatTime: timestamppb.New(s.of.Beat)}}}, nil
}

type operator struct {
	operatorservice.OperatorServiceClient

	of *Server
}

// ListSearchAttributes has no answer.
func (o operator) ListSearchAttributes(ctx context.Context, _ *operatorservice.ListSearchAttributesRequest, _ ...grpc.CallOption) (*operatorservice.ListSearchAttributesResponse, error) {
	return nil, o.of.wait(ctx)
}
