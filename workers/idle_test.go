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

// A worker that ends when idle counts from the end of its last job.
func TestExitWhenIdle(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	release := make(chan struct{})
	work := &handler{execute: until(release)}
	const limit = 10 * time.Second // The job arrives sooner on a busy machine, too.
	node := h.started(t, work, func(o *workers.NodeOptions) { o.ExitWhenIdle = limit })
	ended := make(chan error, 1)
	go func() { ended <- node.Wait(t.Context()) }()
	run := h.run(t, groupInput{Queue: contract.WorkerQueue("node-a", node.Instance()), Jobs: someJobs(1)})
	testsuite.WaitFor(t, 30*time.Second, "the job runs", func() bool { n, _, _ := work.now(); return n == 1 })
	select {
	case err := <-ended:
		require.NoError(t, err, "it works")
	case <-time.After(limit + time.Second):
	}
	done := time.Now()
	close(release)
	assert.Len(t, ends(t, run), 1)
	require.ErrorIs(t, <-ended, workers.ErrIdle)
	assert.GreaterOrEqual(t, time.Since(done), limit)
}
