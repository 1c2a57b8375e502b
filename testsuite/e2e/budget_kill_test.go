package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
)

// failing is a job type whose jobs all fail, with the retry budget of a key.
const failing = `  verify:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    policy: {heartbeat_timeout: 5s, liveness: process, retry_limit: 20, retry_backoff: 2s, global_execution_concurrency: 3, per_worker_execution_concurrency: 3}
    retry_budget: {per_key: {count: 3, window: 1h, disable_for: 12h}}
    detect: {command: [printf, 'a\nb\nc\nd\ne\nf\n'], format: lines}
    execute: {command: [sh, -c, 'echo "$1" >> attempts.log; sleep 0.3; echo "bad block" >&2; exit 3', sh, "{{.Params.item}}"]}
`

// TestRetryBudgetIsKilled: server, control plane and worker are killed twice while every job fails. A killed
// attempt is no failure, and a counted failure stays counted: the third disables each key.
func TestRetryBudgetIsKilled(t *testing.T) {
	t.Parallel()
	const keys, count, kills = 6, 3, 2
	c := newCluster(t, "node-a")
	c.apply(failing)
	run := c.run("verify")
	for kill := range kills {
		testsuite.WaitFor(t, time.Minute, "some have failed", func() bool { return len(c.lines("attempts.log")) >= 4*(kill+1) })
		c.killAll()
		c.server.Restart(t)
		c.start("server")
		c.worker("node-a")
	}
	result := c.result(run, 2*time.Minute)
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.Equal(t, keys, result.Counts.Failed)
	var held contract.HoldsResult
	testsuite.WaitFor(t, time.Minute, "every key is disabled", func() bool {
		var err error
		held, err = c.client.Admission().Holds(t.Context(), contract.HoldsInput{JobType: "verify"})
		return err == nil && held.Total == keys
	})
	attempts := map[string]int{}
	for _, key := range c.lines("attempts.log") {
		attempts[key]++
	}
	require.Len(t, attempts, keys)
	for _, hold := range held.Holds {
		assert.Equal(t, count, hold.Failures, hold.DedupeKey)
		assert.Contains(t, hold.LastError, "bad block")
		assert.GreaterOrEqual(t, attempts[hold.DedupeKey], count, hold.DedupeKey)
		// Killed attempts, and one that began while the third failure was reported.
		assert.LessOrEqual(t, attempts[hold.DedupeKey], count+kills+1, hold.DedupeKey)
	}
	total := len(c.lines("attempts.log"))
	again := c.result(c.run("verify"), time.Minute)
	assert.Equal(t, contract.GroupCounts{Detected: keys, Disabled: keys, HeldBack: keys}, again.Counts)
	assert.Len(t, c.lines("attempts.log"), total, "nobody has touched them")
}
