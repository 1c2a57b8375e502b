package registry

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
)

const beatTimeout = 2 * time.Second

// Beats is the part of the server that accepts heartbeats.
type Beats interface {
	RecordWorkerHeartbeat(ctx context.Context, in *workflowservice.RecordWorkerHeartbeatRequest, opts ...grpc.CallOption) (*workflowservice.RecordWorkerHeartbeatResponse, error)
}

// Beat is one heartbeat of a worker process.
type Beat struct {
	Namespace string
	Worker    contract.WorkerRegistration
	Started   time.Time
	Stopping  bool
	// CPU and Memory are the host's load from 0 to 1; 0 means unknown.
	CPU, Memory float32
	// Slots of the worker's queues; nil sends the detect queue only, without slots.
	Slots *Slots
}

// Slots are the running jobs and detections, and their caps.
type Slots struct{ Executing, MaxExecute, Detecting, MaxDetect int }

// Identity returns the worker's name in Temporal: <id>@<host>:<pid>.
func Identity(r contract.WorkerRegistration) string {
	return fmt.Sprintf("%s@%s:%d", r.ID, r.Host, r.PID)
}

// Send sends the heartbeat with the current time.
func (b Beat) Send(ctx context.Context, service Beats) error {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	detect := b.entry(contract.WorkerDetectQueue(b.Worker.ID, b.Worker.Instance), "roundsman/"+b.Worker.Instance)
	entries := []*workerpb.WorkerHeartbeat{detect}
	if b.Slots != nil {
		execute := b.entry(contract.WorkerQueue(b.Worker.ID, b.Worker.Instance), "roundsman/"+b.Worker.Instance+"/execute")
		detect.ActivityTaskSlotsInfo = slots(b.Slots.Detecting, b.Slots.MaxDetect)
		execute.ActivityTaskSlotsInfo = slots(b.Slots.Executing, b.Slots.MaxExecute)
		entries = append(entries, execute)
	}
	_, err := service.RecordWorkerHeartbeat(ctx, &workflowservice.RecordWorkerHeartbeatRequest{
		Namespace: b.Namespace, Identity: Identity(b.Worker), ResourceId: "worker:" + b.Worker.Instance, WorkerHeartbeat: entries,
	})
	return err
}

// sdkName marks the heartbeats that are not from the SDK.
const sdkName = "roundsman"

// Remote reports whether a gateway sent that heartbeat for a remote worker.
func Remote(beat *workerpb.WorkerHeartbeat) bool {
	_, _, detect, ok := contract.WorkerOfQueue(beat.GetTaskQueue())
	return ok && !detect && beat.GetSdkName() == sdkName
}

// The observer recognizes the worker by a queue name of its incarnation.
func (b Beat) entry(queue, key string) *workerpb.WorkerHeartbeat {
	status := enumspb.WORKER_STATUS_RUNNING
	if b.Stopping {
		status = enumspb.WORKER_STATUS_SHUTTING_DOWN
	}
	return &workerpb.WorkerHeartbeat{
		TaskQueue: queue, WorkerInstanceKey: key, WorkerIdentity: Identity(b.Worker),
		HostInfo: &workerpb.WorkerHostInfo{HostName: b.Worker.Host, CurrentHostCpuUsage: b.CPU, CurrentHostMemUsage: b.Memory},
		SdkName:  sdkName, SdkVersion: b.Worker.Version,
		Status: status, StartTime: timestamppb.New(b.Started), HeartbeatTime: timestamppb.Now(),
	}
}

func slots(used, limit int) *workerpb.WorkerSlotsInfo {
	return &workerpb.WorkerSlotsInfo{
		CurrentUsedSlots: int32(min(max(used, 0), contract.MaxWorkerCap)), CurrentAvailableSlots: int32(min(max(limit-used, 0), contract.MaxWorkerCap)), //nolint:gosec // bounded
	}
}
