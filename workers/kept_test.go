package workers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/workers"
)

// A drained or cordoned worker refuses tasks of its own queue from senders with an old view. It
// accepts the first task after the end of the drain, even before its process has read the
// registry.
func TestNodeThatIsKeptFromWorkTakesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	work := &handler{execute: done}
	node := h.started(t, work, func(o *workers.NodeOptions) { o.CheckInterval = time.Hour })
	queue := contract.WorkerQueue("node-a", node.Instance())
	say := func(held bool) {
		require.NoError(t, h.client.SignalWorkflow(t.Context(), contract.FleetWorkflowID, "", "settings", contract.WorkerSettings{Held: held}))
	}
	say(true)
	node.Refresh()
	testsuite.WaitFor(t, 20*time.Second, "the worker knows", func() bool { return node.Report().Held })
	for id, end := range ends(t, h.run(t, groupInput{Queue: queue, Jobs: someJobs(3)})) {
		assert.Equal(t, contract.FailureDraining, end.Failure, id)
		assert.Contains(t, end.State.Message, "worker node-a is drained or cordoned")
	}
	_, _, total := work.now()
	assert.Zero(t, total)

	say(false)
	for id, end := range ends(t, h.run(t, groupInput{Queue: queue, Jobs: someJobs(3)})) {
		assert.Empty(t, end.Failure, id)
	}
	testsuite.WaitFor(t, 20*time.Second, "the worker has heard", func() bool { return !node.Report().Held })
}
