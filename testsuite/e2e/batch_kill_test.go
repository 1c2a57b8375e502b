package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestBatchesAndSubmissionsSurviveEverythingKilled: server, control plane and workers are killed while batches
// run, a submission waits for the lane and another for its time. No file is lost and the sums are exact.
func TestBatchesAndSubmissionsSurviveEverythingKilled(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a", "node-b")
	const items = 60
	c.apply(`  bulk:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    policy: {global_execution_concurrency: 3, per_worker_execution_concurrency: 2, heartbeat_timeout: 4s}
    batch: {by: "{{slice .Params.item 0 1}}", max_size: 4}
    detect: {command: [seq, "1", "60"]}
    execute: {command: [sh, -c, 'for i; do echo "$i" >> bulk.log; done; while [ -e hold ]; do sleep 0.1; done', sh, "{{each}}{{.Item.Params.item}}"]}
`)
	hold := filepath.Join(c.dir, "hold")
	require.NoError(t, os.WriteFile(hold, nil, 0o600))
	run := c.run("bulk")
	testsuite.WaitFor(t, time.Minute, "the group works", func() bool { return len(c.lines("bulk.log")) > 8 })
	submit := func(id string, args ...string) starter.RunRef {
		p := c.start(append([]string{"submit", "--as", id}, args...)...)
		require.Equal(t, 0, p.Code(t, 2*time.Minute), p.Stderr.Last())
		return starter.RunRef{WorkflowID: contract.AdHocWorkflowID("bulk", id)}
	}
	proposal := filepath.Join(c.dir, "later.json")
	require.NoError(t, os.WriteFile(proposal, fmt.Appendf(nil, `{"dedupe_key": "later", "params": {"item": "later"}, "not_before": %q}`,
		time.Now().Add(20*time.Second).Format(time.RFC3339)), 0o600))
	inLane, later := submit("hand", "bulk:hand", "-p", "item=hand"), submit("later", "bulk", "-f", proposal)

	c.killAll()
	before := len(c.lines("bulk.log"))
	require.Less(t, before, items)
	require.NoError(t, os.Remove(hold))
	c.server.Restart(t)
	c.start("server")
	c.worker("node-c")
	c.worker("node-d")

	result := c.result(run, 2*time.Minute)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, items, result.Counts.Detected)
	assert.Equal(t, items, result.Counts.Accepted+result.Counts.Batched)
	assert.Equal(t, result.Counts.Accepted, result.Counts.Completed)
	assert.Equal(t, 19, result.Counts.Accepted, "five times eleven, four at a time, a pair and three singles")
	for _, ref := range []starter.RunRef{inLane, later} {
		counts := c.result(ref, time.Minute).Counts
		counts.Replacements = 0 // It may have been sent to a dead worker.
		assert.Equal(t, contract.GroupCounts{Detected: 1, Accepted: 1, Completed: 1}, counts, ref.WorkflowID)
	}
	assert.Equal(t, "already submitted", c.submittedAgain("hand"))
	done := c.lines("bulk.log")
	slices.Sort(done)
	assert.Len(t, slices.Compact(done), items+2, "every item was done")
}

// submittedAgain repeats a submission and returns the output.
func (c *cluster) submittedAgain(id string) string {
	c.t.Helper()
	p := c.start("submit", "bulk:"+id, "--as", id, "-p", "item="+id)
	require.Equal(c.t, 0, p.Code(c.t, 2*time.Minute), p.Stderr.Last())
	said, _, _ := strings.Cut(p.Stdout.String(), ",")
	return said
}
