package nodee2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestAKilledWorkerIsNotAwaited: a run waits for the process that lost its job only if the server was
// away, as the control plane saw it. The job runs elsewhere in both cases.
func TestAKilledWorkerIsNotAwaited(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hold("work")
	s.apply(group{"work", "steps", "heartbeat_timeout: 5s", 1, 2, 50})
	node := s.worker("node-a")
	s.AwaitFresh("node-a")
	began := time.Now()
	ref := s.Begin("work")
	s.awaitBook("the job runs", func(b book) bool { return len(b.of("step")) >= 1 })
	s.worker("node-b")
	s.AwaitFresh("node-b")
	testsuite.WaitFor(t, time.Minute, "the control plane knows the server for long enough", func() bool { return time.Since(began) > 20*time.Second })
	testsuite.WaitFor(t, time.Minute, "the job has a later heartbeat than its worker", func() bool { return s.jobBeat(ref).After(s.workerBeat("node-a")) })
	node.Kill()
	s.letGo()
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, map[string]int{"node-b": 1}, result.ByWorker)
	assert.Equal(t, []time.Duration{250 * time.Millisecond}, s.adoptionWaits(ref))
}

// jobBeat is the last heartbeat of the only job that runs. It is sent every 4 s.
func (s *site) jobBeat(run starter.RunRef) time.Time {
	s.T.Helper()
	described, err := s.Client.Temporal().DescribeWorkflowExecution(s.T.Context(), run.WorkflowID, "")
	require.NoError(s.T, err)
	for _, activity := range described.GetPendingActivities() {
		return activity.GetLastHeartbeatTime().AsTime()
	}
	return time.Time{}
}

// workerBeat is the last heartbeat of a worker. It is sent every second. A process that is gone for less than the
// heartbeat timeout of a job looks like one that still runs.
func (s *site) workerBeat(id string) (last time.Time) {
	s.T.Helper()
	service := s.Client.Temporal().WorkflowService()
	listed, err := service.ListWorkers(s.T.Context(), &workflowservice.ListWorkersRequest{Namespace: s.Client.Namespace(), PageSize: 100})
	require.NoError(s.T, err)
	for _, entry := range rpc.WorkerEntries(listed) {
		if !strings.HasPrefix(entry.GetTaskQueue(), contract.WorkerQueue(id, "")) {
			continue
		}
		described, err := service.DescribeWorker(s.T.Context(), &workflowservice.DescribeWorkerRequest{Namespace: s.Client.Namespace(), WorkerInstanceKey: entry.GetWorkerInstanceKey()})
		require.NoError(s.T, err)
		if at := described.GetWorkerInfo().GetWorkerHeartbeat().GetHeartbeatTime().AsTime(); at.After(last) {
			last = at
		}
	}
	return last
}

// adoptionWaits are the times for which a run waited for processes to adopt attempts.
func (s *site) adoptionWaits(run starter.RunRef) (waits []time.Duration) {
	s.T.Helper()
	events := s.Client.Temporal().GetWorkflowHistory(s.T.Context(), run.WorkflowID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(s.T, err)
		if call := event.GetActivityTaskScheduledEventAttributes(); isAdoption(call.GetActivityId()) {
			waits = append(waits, call.GetScheduleToStartTimeout().AsDuration())
		}
	}
	return waits
}
