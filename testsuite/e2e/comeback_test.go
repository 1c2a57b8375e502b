package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/testsuite"
)

// TestSubmittedJobsComeBackAfterKills: the window closes while most submitted jobs wait. Meanwhile other groups
// use the lane, and all processes are killed. When the window opens, each remaining job runs once, and none ran
// in between.
func TestSubmittedJobsComeBackAfterKills(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	closes := time.Now().Add(30 * time.Second).Truncate(time.Second)
	opens := closes.Add(50 * time.Second)
	c.apply(fmt.Sprintf(`  windowed:
    handler: command
    lane: side
    schedule: {every: 365d, first_run: scheduled}
    blackouts:
      - {from: %s, to: %s, note: the release}
    policy: {drain_grace: 1m, heartbeat_timeout: 4s}
    execute: {command: [sh, -c, 'echo "$ROUNDSMAN_DEDUPE_KEY@$(date +%%s)" >> starts.log; sleep 7']}
    detect: {command: ["true"]}
  other:
    handler: command
    lane: side
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: ["true"]}
    execute: {command: ["true"]}
`, closes.Format(time.RFC3339), opens.Format(time.RFC3339)))
	const jobs = 9
	list := ""
	for i := range jobs {
		list += fmt.Sprintf(`{"dedupe_key":"k%d"}`+"\n", i)
	}
	file := filepath.Join(t.TempDir(), "jobs")
	require.NoError(t, os.WriteFile(file, []byte(list), 0o600))
	submit := c.start("submit", "windowed", "--as", "hand", "-f", file)
	require.Equal(t, 0, submit.Code(t, 2*time.Minute), submit.Stderr.Last())
	ref := starter.RunRef{WorkflowID: contract.AdHocWorkflowID("windowed", "hand")}
	testsuite.WaitFor(t, 2*time.Minute, "the group has left", func() bool {
		shown, err := c.client.Runs().Show(t.Context(), ref)
		return err == nil && shown.Group != nil && shown.Group.Phase == "waiting" && shown.Group.Wait != nil && shown.Group.Counts.Accepted == jobs
	})
	why, err := explainer.Explain(t.Context(), c.client, ref.WorkflowID)
	require.NoError(t, err)
	require.NotEmpty(t, why.Reasons)
	assert.Equal(t, contract.CodeWindowClosed, why.Reasons[0].Code, "%+v", why.Reasons)
	assert.WithinDuration(t, opens, why.Reasons[0].Until, time.Second)
	assert.Equal(t, contract.OutcomeCompleted, c.result(c.run("other"), 30*time.Second).Outcome, "it does not keep the lane")

	c.killAll()
	c.server.Restart(t)
	c.start("server")
	c.worker("node-a")
	result := c.result(ref, 4*time.Minute)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, jobs, result.Counts.Completed)
	seen := map[string]int{}
	for _, start := range c.lines("starts.log") {
		key, at, _ := strings.Cut(start, "@")
		when, err := strconv.ParseInt(at, 10, 64)
		require.NoError(t, err)
		assert.False(t, when > closes.Unix()+5 && when < opens.Unix(), "%s starts in between", key)
		seen[key]++
	}
	assert.Len(t, seen, jobs)
	for key, n := range seen {
		assert.Equal(t, 1, n, key)
	}
}
