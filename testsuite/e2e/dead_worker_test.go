package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
	"github.com/roundsman/roundsman/testsuite"
)

// TestJobsOfADeadWorker: the runs list the jobs of a killed worker, also after the server has timed out the
// attempts.
func TestJobsOfADeadWorker(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	c.apply(script("stuck", "global_execution_concurrency: 2, per_worker_execution_concurrency: 1, heartbeat_timeout: 20s, liveness: process, on_worker_loss: hold",
		`seq 1 2`, `echo $1 >> begun.log; sleep 600`))
	victim := c.worker("node-b")
	c.awaitFresh("node-a", "node-b")
	ref := c.run("stuck")
	testsuite.WaitFor(t, time.Minute, "both jobs run", func() bool { return len(c.lines("begun.log")) == 2 })
	jobs, _, err := c.client.Runs().Items(t.Context(), ref, starter.ItemFilter{})
	require.NoError(t, err)
	var mine []string
	for _, job := range jobs {
		if job.Worker == "node-b" {
			mine = append(mine, job.ID)
		}
	}
	require.Len(t, mine, 1, "one on each")
	victim.Kill()
	for _, state := range []string{"running", "held"} {
		testsuite.WaitFor(t, time.Minute, "the run says that the job is "+state, func() bool {
			shown, err := workerview.Shown(t.Context(), c.client, "node-b")
			return err == nil && shown.Report == nil && len(shown.Items) == 1 && shown.Items[0].State == state
		})
	}
	shown, err := workerview.Shown(t.Context(), c.client, "node-b")
	require.NoError(t, err)
	assert.NotEmpty(t, shown.Silent)
	assert.Equal(t, mine[0], shown.Items[0].ID)
	require.NoError(t, c.client.Runs().Cancel(t.Context(), ref, "seen enough"))
	assert.Equal(t, contract.OutcomeCanceled, c.result(ref, time.Minute).Outcome)
}
