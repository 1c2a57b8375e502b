package e2e

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
)

// TestWaitingForAWindowSurvivesKills: server, control plane and worker are killed while a group waits for its
// window. It begins when the window opens, not before.
func TestWaitingForAWindowSurvivesKills(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	opens := time.Now().Add(40 * time.Second).Truncate(time.Second)
	c.apply(fmt.Sprintf(`  windowed:
    handler: command
    lane: side
    schedule: {every: 365d, first_run: scheduled}
    blackouts:
      - {from: %s, to: %s, note: until it opens}
    policy: {%s}
    detect: {command: [sh, -c, "seq 1 6"], format: lines}
    execute: {command: [sh, -c, "date +%%s >> starts.log"]}
`, opens.Add(-time.Hour).Format(time.RFC3339), opens.Format(time.RFC3339), wide))
	ref := c.run("windowed")
	testsuite.WaitFor(t, 20*time.Second, "the group waits", func() bool {
		shown, err := c.client.Runs().Show(t.Context(), ref)
		return err == nil && shown.Group != nil && shown.Group.Wait != nil && shown.Group.Wait.Code == "WINDOW_CLOSED_UNTIL"
	})
	c.killAll()
	c.server.Restart(t)
	c.start("server")
	c.worker("node-a")
	result := c.result(ref, 2*time.Minute)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, 6, result.Counts.Completed)
	starts := c.lines("starts.log")
	require.Len(t, starts, 6)
	for _, start := range starts {
		at, err := strconv.ParseInt(start, 10, 64)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, at, opens.Unix())
	}
}
