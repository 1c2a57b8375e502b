package rpc

import (
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// WorkerEntries returns the workers of one page. Server 1.29 lists whole heartbeats in another field.
func WorkerEntries(page *workflowservice.ListWorkersResponse) []*workerpb.WorkerListInfo {
	if len(page.GetWorkers()) > 0 {
		return page.GetWorkers()
	}
	old := page.GetWorkersInfo() //nolint:staticcheck // the only one that they fill in
	entries := make([]*workerpb.WorkerListInfo, 0, len(old))
	for _, info := range old {
		beat := info.GetWorkerHeartbeat()
		entries = append(entries, &workerpb.WorkerListInfo{
			WorkerInstanceKey: beat.GetWorkerInstanceKey(), WorkerIdentity: beat.GetWorkerIdentity(), TaskQueue: beat.GetTaskQueue(),
			SdkName: beat.GetSdkName(), SdkVersion: beat.GetSdkVersion(), Status: beat.GetStatus(), StartTime: beat.GetStartTime(),
			HostName: beat.GetHostInfo().GetHostName(), ProcessId: beat.GetHostInfo().GetProcessId(),
		})
	}
	return entries
}
