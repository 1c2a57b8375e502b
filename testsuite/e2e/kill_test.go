package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
)

// TestServerAwayWhileJobsEnd: twenty jobs end while the server is down for 30 s. Each has happened once and is
// counted as completed.
func TestServerAwayWhileJobsEnd(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a", "node-b")
	c.apply(script("effects", "global_execution_concurrency: 20, per_worker_execution_concurrency: 10, heartbeat_timeout: 10s, liveness: process",
		`seq 1 20`, `echo $1 >> started.log; until test -e go; do sleep 0.5; done; echo $1 >> effects.log`))
	for _, id := range []string{"node-c", "node-d", "node-e"} {
		c.worker(id)
	}
	c.awaitFresh("node-c", "node-d", "node-e")
	ref := c.run("effects")
	testsuite.WaitFor(t, time.Minute, "20 jobs run", func() bool { return len(c.lines("started.log")) == 20 })
	c.server.Kill()
	away := time.Now()
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o600))
	testsuite.WaitFor(t, time.Minute, "all jobs ended while the server is away", func() bool { return len(c.lines("effects.log")) == 20 })
	testsuite.WaitFor(t, time.Minute, "30 s of absence", func() bool { return time.Since(away) >= 30*time.Second })
	c.server.Restart(t)
	result := c.result(ref, 2*time.Minute)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, 20, result.Counts.Completed)
	done := c.lines("effects.log")
	slices.Sort(done)
	assert.Len(t, done, 20)
	assert.Len(t, slices.Compact(done), 20)
}

// onceOutput is the output of `dev --once --json`.
type onceOutput struct {
	Groups []struct {
		JobType    string           `json:"job_type"`
		Outcome    contract.Outcome `json:"outcome"`
		WorkflowID string           `json:"workflow_id"`
		Detected   int              `json:"detected"`
		Completed  int              `json:"completed"`
	} `json:"groups"`
}

// TestDevIsKilledAndGoesOn: kill -9 ends all parts at once. The same command on the same data directory
// finishes the group.
func TestDevIsKilledAndGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const jobs = 30
	config := header + script("group", wide+", heartbeat_timeout: 4s, liveness: process",
		fmt.Sprintf("seq 1 %d", jobs), `sleep 0.5; echo $1 >> group.log`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "roundsman.yaml"), []byte(config), 0o600))
	args := []string{"dev", "--once", "--json", "--config", "roundsman.yaml", "--data-dir", "data", "--port", "0", "--ui-port", "0"}
	count := func() []string { return (&cluster{t: t, dir: dir}).lines("group.log") }

	first := start(t, dir, args...)
	testsuite.WaitFor(t, time.Minute, "a third of the group is done", func() bool { return len(count()) >= jobs/3 })
	first.Kill()
	killed := len(count())
	require.Less(t, killed, jobs)

	second := start(t, dir, args...)
	require.Equal(t, 0, second.Code(t, 2*time.Minute), second.Stderr.Last())
	var printed onceOutput
	require.NoError(t, json.Unmarshal([]byte(second.Stdout.String()), &printed), second.Stdout.String())
	require.Len(t, printed.Groups, 1)
	assert.Equal(t, contract.OutcomeCompleted, printed.Groups[0].Outcome)
	assert.Equal(t, jobs, printed.Groups[0].Completed)
	assert.Equal(t, jobs, printed.Groups[0].Detected)
	done := count()
	slices.Sort(done)
	assert.Len(t, slices.Compact(done), jobs, "every job was done")
}
