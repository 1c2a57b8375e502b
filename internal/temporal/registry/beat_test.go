package registry_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/registry"
)

// beaten returns the heartbeat that arrives at the server.
func beaten(t *testing.T, beat registry.Beat) *workflowservice.RecordWorkerHeartbeatRequest {
	t.Helper()
	f := &frontend{}
	service := dialed(t, f).WorkflowService()
	begun := time.Now()
	require.NoError(t, beat.Send(t.Context(), service))
	assert.WithinRange(t, f.until, begun, time.Now().Add(2*time.Second), "a beat must not outlast its interval")
	sent, _ := f.last.(*workflowservice.RecordWorkerHeartbeatRequest)
	for _, entry := range sent.GetWorkerHeartbeat() {
		assert.WithinRange(t, entry.GetHeartbeatTime().AsTime(), begun, time.Now())
	}
	return sent
}

// The observer recognizes the process by its queues, and the server keeps one entry for each key.
func TestBeatsOfARemoteWorker(t *testing.T) {
	t.Parallel()
	started := time.Unix(1_800_000_000, 0).UTC()
	beat := registry.Beat{Namespace: "press", Worker: worker, Started: started, CPU: 0.5, Memory: 0.25, Slots: &registry.Slots{Executing: 1, MaxExecute: 3, Detecting: 2, MaxDetect: 2}}
	sent := beaten(t, beat)
	assert.Equal(t, []string{"press", "press-7@vm:7", "worker:i1"}, []string{sent.GetNamespace(), sent.GetIdentity(), sent.GetResourceId()})
	require.Len(t, sent.GetWorkerHeartbeat(), 2)
	detect, execute := sent.GetWorkerHeartbeat()[0], sent.GetWorkerHeartbeat()[1]
	assert.Equal(t, contract.WorkerDetectQueue("press-7", "i1"), detect.GetTaskQueue())
	assert.Equal(t, contract.WorkerQueue("press-7", "i1"), execute.GetTaskQueue())
	assert.NotEqual(t, detect.GetWorkerInstanceKey(), execute.GetWorkerInstanceKey())
	for _, entry := range sent.GetWorkerHeartbeat() {
		assert.Equal(t, []string{"press-7@vm:7", "vm", "v1"}, []string{entry.GetWorkerIdentity(), entry.GetHostInfo().GetHostName(), entry.GetSdkVersion()})
		assert.Equal(t, []float32{0.5, 0.25}, []float32{entry.GetHostInfo().GetCurrentHostCpuUsage(), entry.GetHostInfo().GetCurrentHostMemUsage()})
		assert.Equal(t, enumspb.WORKER_STATUS_RUNNING, entry.GetStatus())
		assert.Equal(t, started, entry.GetStartTime().AsTime())
	}
	assert.Equal(t, []int32{1, 2}, []int32{execute.GetActivityTaskSlotsInfo().GetCurrentUsedSlots(), execute.GetActivityTaskSlotsInfo().GetCurrentAvailableSlots()})
	assert.Equal(t, []int32{2, 0}, []int32{detect.GetActivityTaskSlotsInfo().GetCurrentUsedSlots(), detect.GetActivityTaskSlotsInfo().GetCurrentAvailableSlots()})
	assert.True(t, registry.Remote(execute))
	assert.False(t, registry.Remote(detect), "the detect queue has the beats of node workers too")
}

// A node worker's SDK sends the beat of its execute queue.
func TestTheBeatOfANodeWorker(t *testing.T) {
	t.Parallel()
	sent := beaten(t, registry.Beat{Namespace: "press", Worker: worker, Stopping: true})
	require.Len(t, sent.GetWorkerHeartbeat(), 1)
	only := sent.GetWorkerHeartbeat()[0]
	assert.Equal(t, contract.WorkerDetectQueue("press-7", "i1"), only.GetTaskQueue())
	assert.Nil(t, only.GetActivityTaskSlotsInfo(), "without slots it claims none")
	assert.Equal(t, enumspb.WORKER_STATUS_SHUTTING_DOWN, only.GetStatus())
}

// A remote worker may send any number.
func TestSlotsOutOfRange(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ used, most, wantUsed, wantFree int }{
		{-3, 2, 0, 5},
		{5, 2, 5, 0},
		{0, -1, 0, 0},
		{math.MaxInt, 1, contract.MaxWorkerCap, 0},
		{0, math.MaxInt, 0, contract.MaxWorkerCap},
	} {
		sent := beaten(t, registry.Beat{Worker: worker, Slots: &registry.Slots{Executing: row.used, MaxExecute: row.most}})
		info := sent.GetWorkerHeartbeat()[1].GetActivityTaskSlotsInfo()
		assert.EqualValues(t, row.wantUsed, info.GetCurrentUsedSlots(), "%+v", row)
		assert.EqualValues(t, row.wantFree, info.GetCurrentAvailableSlots(), "%+v", row)
	}
}

func TestABeatThatTheServerRefuses(t *testing.T) {
	t.Parallel()
	f := &frontend{fault: serviceerror.NewPermissionDenied("no", "")}
	var denied *serviceerror.PermissionDenied
	require.ErrorAs(t, registry.Beat{Worker: worker}.Send(t.Context(), dialed(t, f).WorkflowService()), &denied)
}

// Only beats of a gateway make a worker a remote one, and foreign queues none.
func TestRemoteBeats(t *testing.T) {
	t.Parallel()
	queue := contract.WorkerQueue("press-7", "i1")
	for _, row := range []struct {
		queue, sdk string
		remote     bool
	}{
		{queue, "roundsman", true},
		{queue, "temporal-go", false},
		{queue, "", false},
		{contract.WorkerDetectQueue("press-7", "i1"), "roundsman", false},
		{contract.SharedQueue("nightly"), "roundsman", false},
		{contract.ControlQueue, "roundsman", false},
		{"", "roundsman", false},
	} {
		assert.Equal(t, row.remote, registry.Remote(&workerpb.WorkerHeartbeat{TaskQueue: row.queue, SdkName: row.sdk}), "%+v", row)
	}
	assert.False(t, registry.Remote(nil))
}
