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

// A worker that was drained or cordoned sends back what still reaches its own queue,
// from whoever has not heard of it; and takes the first that comes when that is over,
// although nobody has told its process yet.
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
