package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// Service is the used part of the SDK's WorkflowServiceClient.
type Service interface {
	Lists
	Queries
}

// Lists are the server's lists of workers.
type Lists interface {
	ListWorkers(ctx context.Context, in *workflowservice.ListWorkersRequest, opts ...grpc.CallOption) (*workflowservice.ListWorkersResponse, error)
	DescribeWorker(ctx context.Context, in *workflowservice.DescribeWorkerRequest, opts ...grpc.CallOption) (*workflowservice.DescribeWorkerResponse, error)
	DescribeNamespace(ctx context.Context, in *workflowservice.DescribeNamespaceRequest, opts ...grpc.CallOption) (*workflowservice.DescribeNamespaceResponse, error)
}

// Queries sends queries to processes.
type Queries interface {
	QueryWorkflow(ctx context.Context, in *workflowservice.QueryWorkflowRequest, opts ...grpc.CallOption) (*workflowservice.QueryWorkflowResponse, error)
}

// A hanging server must not stop the observer's own heartbeat.
const requestTimeout = 5 * time.Second

// Observer watches the heartbeats of all workers of a namespace.
type Observer struct {
	service    Service
	namespace  string
	thresholds Thresholds
	reads      singleflight.Group
}

// NewObserver returns an observer that reports thresholds to a registry that has none.
func NewObserver(service Service, namespace string, thresholds Thresholds) *Observer {
	return &Observer{service: service, namespace: namespace, thresholds: thresholds}
}

// Thresholds has the registry's settings of the control plane; zero fields mean the default.
type Thresholds interface {
	// Missing returns the thresholds for a registry that has none.
	Missing(ctx context.Context) contract.FleetConfig
	Applied(ctx context.Context) contract.FleetConfig
}

// Fixed are thresholds that do not change.
type Fixed contract.FleetConfig

// Missing implements [Thresholds].
func (f Fixed) Missing(context.Context) contract.FleetConfig { return contract.FleetConfig(f) }

// Applied implements [Thresholds].
func (f Fixed) Applied(context.Context) contract.FleetConfig { return contract.FleetConfig(f) }

// ObserveWorkers is [contract.ObserveWorkersActivity]; see the package comment. A repeat continues from the heartbeat
// of the previous attempt. A stop of the control plane returns an error that is retried. A server without heartbeats
// is a permanent error of type [contract.HeartbeatsUnsupportedError].
func (o *Observer) ObserveWorkers(ctx context.Context, in contract.ObserveWorkersInput) (contract.ObserveWorkersResult, error) {
	if in.Config == nil {
		return contract.ObserveWorkersResult{Config: new(o.thresholds.Missing(ctx).WithDefaults())}, nil
	}
	if err := o.check(ctx); err != nil {
		return contract.ObserveWorkersResult{}, err
	}
	started := time.Now()
	origin := activity.GetInfo(ctx).StartedTime
	now := func() time.Time { return origin.Add(time.Since(started)).UTC() }
	track := newTracker(in, left(ctx))

	recalling, stop := context.WithCancel(ctx)
	var recalled sync.WaitGroup
	recalled.Go(func() { o.recall(recalling, in.Strangers) })
	defer recalled.Wait()
	defer stop()

	ticker := time.NewTicker(track.poll())
	defer ticker.Stop()
	for {
		if err := o.poll(ctx, track, now); err != nil {
			return contract.ObserveWorkersResult{}, err
		}
		activity.RecordHeartbeat(ctx, track.memory())
		if result, due := track.report(); due {
			return result, nil
		}
		if err := rpc.NextEvent(ctx, ticker.C); err != nil {
			return contract.ObserveWorkersResult{}, err
		}
	}
}

// left returns the memory of the previous attempt. Without it only precision is lost.
func left(ctx context.Context) *memory {
	if !activity.HasHeartbeatDetails(ctx) {
		return nil
	}
	var m memory
	if err := activity.GetHeartbeatDetails(ctx, &m); err != nil {
		activity.GetLogger(ctx).Warn("The last attempt's memory cannot be read; observing from the beginning.", "error", err)
		return nil
	}
	return &m
}

// A server that does not respond is no news; the tracker sees the gap.
func (o *Observer) poll(ctx context.Context, track *tracker, now func() time.Time) error {
	at := now()
	found, err := o.list(ctx, track, at)
	switch {
	case err == nil:
		track.look(at, found)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case isUnsupported(err):
		return unsupported(err)
	default:
		activity.GetLogger(ctx).Warn("The server's list of workers cannot be read; workers are not judged meanwhile.", "error", err)
		return nil
	}
}

// check fails if the server keeps no heartbeats: without them every worker would look dead.
func (o *Observer) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := o.service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: o.namespace})
	if err != nil {
		return fmt.Errorf("check whether the server keeps worker heartbeats: %w", err)
	}
	if !answer.GetNamespaceInfo().GetCapabilities().GetWorkerHeartbeats() {
		return unsupported(nil)
	}
	return nil
}

func isUnsupported(err error) bool {
	_, unimplemented := errors.AsType[*serviceerror.Unimplemented](err)
	return unimplemented
}

func unsupported(cause error) error {
	return temporal.NewNonRetryableApplicationError(
		"the Temporal server keeps no worker heartbeats: set frontend.WorkerHeartbeatsEnabled to true in its dynamic configuration, or use server 1.29 or later",
		contract.HeartbeatsUnsupportedError, cause)
}
