package workers

import (
	"context"
	"sync/atomic"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
)

// heartbeatTimeout bounds one heartbeat; it is well below what makes a worker stale.
const heartbeatTimeout = 2 * time.Second

// heartbeatService is the part of the server that takes heartbeats.
type heartbeatService interface {
	RecordWorkerHeartbeat(ctx context.Context, in *workflowservice.RecordWorkerHeartbeatRequest, opts ...grpc.CallOption) (*workflowservice.RecordWorkerHeartbeatResponse, error)
}

// heartbeat beats as often as the registry expects. The SDK beats at an interval
// that is fixed when its client is dialed, before the worker knows the registry's,
// which may change besides. Where the SDK's is as short, the node leaves it to the
// SDK.
type heartbeat struct {
	service   heartbeatService
	namespace string
	identity  string
	worker    contract.WorkerRegistration
	started   time.Time
	// sdk is the interval of the SDK's heartbeats; 0: unknown.
	sdk time.Duration
	// interval is the registry's; 0: unknown.
	interval atomic.Int64
	changed  chan struct{}
	stopping func() bool
	debug    func(message string, args ...any)
}

// follow takes over the registry's interval.
func (h *heartbeat) follow(config *contract.FleetConfig) {
	if config == nil || h.interval.Swap(int64(config.HeartbeatInterval)) == int64(config.HeartbeatInterval) {
		return
	}
	select {
	case h.changed <- struct{}{}:
	default: // The loop has not taken the last change yet.
	}
}

// pause is the time between two beats; 0: the SDK's are enough.
func (h *heartbeat) pause() time.Duration {
	interval := time.Duration(h.interval.Load())
	if h.sdk > 0 && h.sdk <= interval {
		return 0
	}
	return interval
}

// run beats until ctx ends.
func (h *heartbeat) run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := h.pause()
		if pause > 0 {
			h.beat(ctx)
		}
		h.wait(ctx, pause)
	}
}

// wait lasts for the pause, if there is one, or until the interval changes.
func (h *heartbeat) wait(ctx context.Context, pause time.Duration) {
	var due <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-h.changed:
	case <-ctx.Done():
	}
}

// beat sends one heartbeat. One that fails is not repeated: the next one comes.
func (h *heartbeat) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, heartbeatTimeout)
	defer cancel()
	status := enumspb.WORKER_STATUS_RUNNING
	if h.stopping() {
		status = enumspb.WORKER_STATUS_SHUTTING_DOWN
	}
	_, err := h.service.RecordWorkerHeartbeat(ctx, &workflowservice.RecordWorkerHeartbeatRequest{
		Namespace: h.namespace, Identity: h.identity, ResourceId: "worker:" + h.worker.Instance,
		WorkerHeartbeat: []*workerpb.WorkerHeartbeat{{
			// The name of a queue of this incarnation tells the observer who beats. The
			// detect queue's slots are not counted for anything but display.
			TaskQueue:         contract.WorkerDetectQueue(h.worker.ID, h.worker.Instance),
			WorkerInstanceKey: "roundsman/" + h.worker.Instance, WorkerIdentity: h.identity,
			HostInfo: &workerpb.WorkerHostInfo{HostName: h.worker.Host},
			SdkName:  "roundsman", SdkVersion: h.worker.Version,
			Status: status, StartTime: timestamppb.New(h.started), HeartbeatTime: timestamppb.Now(),
		}},
	})
	if err != nil && ctx.Err() == nil {
		h.debug("a heartbeat was not taken", "worker", h.worker.ID, "error", err)
	}
}
