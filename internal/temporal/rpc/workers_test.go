package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

func TestWorkerEntriesOfEitherKindOfServer(t *testing.T) {
	t.Parallel()
	assert.Empty(t, rpc.WorkerEntries(&workflowservice.ListWorkersResponse{}))
	now := &workerpb.WorkerListInfo{WorkerInstanceKey: "k"}
	both := &workflowservice.ListWorkersResponse{
		Workers:     []*workerpb.WorkerListInfo{now},
		WorkersInfo: []*workerpb.WorkerInfo{{WorkerHeartbeat: &workerpb.WorkerHeartbeat{WorkerInstanceKey: "k"}}}, //nolint:staticcheck // as old servers do
	}
	assert.Equal(t, []*workerpb.WorkerListInfo{now}, rpc.WorkerEntries(both), "nothing is listed twice")

	beat := &workerpb.WorkerHeartbeat{
		WorkerInstanceKey: "k", WorkerIdentity: "i", TaskQueue: "q", Status: enums.WORKER_STATUS_SHUTTING_DOWN,
		HostInfo: &workerpb.WorkerHostInfo{HostName: "h", ProcessId: "7"},
	}
	entries := rpc.WorkerEntries(&workflowservice.ListWorkersResponse{
		WorkersInfo: []*workerpb.WorkerInfo{{WorkerHeartbeat: beat}}, //nolint:staticcheck // as old servers do
	})
	require.Len(t, entries, 1)
	one := entries[0]
	assert.Equal(t, []string{"k", "i", "q", "h", "7"}, []string{one.GetWorkerInstanceKey(), one.GetWorkerIdentity(), one.GetTaskQueue(), one.GetHostName(), one.GetProcessId()})
	assert.Equal(t, enums.WORKER_STATUS_SHUTTING_DOWN, one.GetStatus())
}
