package nodee2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
)

// TestAWorkerThatComesBackDetectsInTheSameRun: three nodes detect. One is killed in its detection
// and starts again while the job of another runs; one is killed and never comes back.
func TestAWorkerThatComesBackDetectsInTheSameRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	back, gone := s.worker("node-b"), s.worker("node-c")
	s.AwaitFresh("node-a", "node-b", "node-c")
	s.Apply(fmt.Sprintf(`
version: 1
job_types:
  dump:
    handler: command
    detect_on: every
    schedule: {cron: "0 0 1 1 *"}
    policy: {global_execution_concurrency: 3, detection_timeout: 5m, heartbeat_timeout: 3s}
    detect: {dir: %[1]q, command: [sh, -c, 'touch "looks-$ROUNDSMAN_WORKER_ID"; test $ROUNDSMAN_WORKER_ID = node-a || test -e mended || sleep 300; echo orders']}
    execute: {dir: %[1]q, command: [sh, -c, 'test $ROUNDSMAN_WORKER_ID = node-a && until test -e go; do sleep 0.1; done; echo $ROUNDSMAN_WORKER_ID >> dumped']}
`, s.Dir))
	run := s.Begin("dump")
	exists := func(name string) func() bool {
		return func() bool {
			_, err := os.Stat(filepath.Join(s.Dir, name))
			return err == nil
		}
	}
	testsuite.WaitFor(t, time.Minute, "b detects", exists("looks-node-b"))
	testsuite.WaitFor(t, time.Minute, "c detects", exists("looks-node-c"))
	back.Kill()
	gone.Kill()
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "mended"), nil, 0o600))
	testsuite.WaitFor(t, time.Minute, "the job of a runs, and the run names both nodes", func() bool {
		snapshot, err := s.Client.Runs().Show(t.Context(), run)
		return err == nil && snapshot.Group != nil && snapshot.Group.Running == 1 && len(snapshot.Group.Missed) == 2
	})
	s.worker("node-b")
	testsuite.WaitFor(t, time.Minute, "b has dumped while the job of a runs", func() bool {
		return len(s.lines("dumped")) == 1
	})
	s.Command("set", run.WorkflowID, "detection_timeout=1s") // The end waits for c so long after the last detection.
	s.letGo()
	result := s.Result(run)
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, []string{"node-b", "node-a"}, s.lines("dumped"))
	assert.Equal(t, 3, result.Counts.Workers)
	require.Len(t, result.Missed, 1)
	assert.Equal(t, "node-c", result.Missed[0].Worker)
	shown := s.Command("show", run.WorkflowID)
	assert.Contains(t, shown, "1 of 3 workers missed: node-c: ")
}
