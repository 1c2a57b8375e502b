package nodee2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestAKilledWorkerIsNotAwaited: a run waits for the process that lost its job only if the server was
// away, as the control plane saw it. The job runs elsewhere in both cases.
func TestAKilledWorkerIsNotAwaited(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hold("work")
	s.apply(group{"work", "steps", "heartbeat_timeout: 2s", 1, 2, 50})
	node := s.worker("node-a")
	s.AwaitFresh("node-a")
	began := time.Now()
	ref := s.Begin("work")
	s.awaitBook("the job runs", func(b book) bool { return len(b.of("step")) >= 1 })
	s.worker("node-b")
	s.AwaitFresh("node-b")
	testsuite.WaitFor(t, time.Minute, "the control plane knows the server for long enough", func() bool { return time.Since(began) > 20*time.Second })
	node.Kill()
	s.letGo()
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, map[string]int{"node-b": 1}, result.ByWorker)
	assert.Equal(t, []time.Duration{250 * time.Millisecond}, s.adoptionWaits(ref))
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
