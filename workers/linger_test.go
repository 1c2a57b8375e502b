package workers_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/workers"
)

// A task for a worker that is being stopped is refused at once.
func TestNodeAnswersWhileItLeaves(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	work := &handler{execute: done}
	node := h.started(t, work, func(o *workers.NodeOptions) { o.Linger = time.Hour })
	queue := contract.WorkerQueue("node-a", node.Instance())
	assert.Len(t, ends(t, h.run(t, groupInput{Queue: queue, Jobs: someJobs(1)})), 1)
	ctx, leave := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- node.Stop(ctx) }()
	testsuite.WaitFor(t, 20*time.Second, "it has said goodbye", func() bool { return len(h.registered(t)) == 0 })
	for id, end := range ends(t, h.run(t, groupInput{Queue: queue, Jobs: someJobs(5)})) {
		assert.Equal(t, contract.FailureDraining, end.Failure, id)
		assert.Equal(t, "worker node-a is being stopped", end.State.Message)
	}
	leave()
	require.NoError(t, <-stopped)
	_, _, total := work.now()
	assert.Equal(t, 1, total)
}

// No task is in transit to a worker without recent work.
func TestIdleNodeLeavesAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	node := h.started(t, &handler{execute: done}, func(o *workers.NodeOptions) { o.Linger, o.Shared = time.Hour, []string{"fake"} })
	assert.Len(t, ends(t, h.run(t, groupInput{Queue: contract.SharedQueue("fake"), Jobs: someJobs(3)})), 3)
	require.NoError(t, node.Stop(t.Context()))
}
