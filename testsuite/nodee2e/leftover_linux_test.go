package nodee2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// leftScript fails its second attempt if what the first one started in the
// background still runs.
const leftScript = `cd "$1"
if [ -f first ]; then grep -q '^State:.*[RSDT] (' /proc/$(cat first)/status 2>/dev/null && exit 9; echo alone; exit 0; fi
sleep 1000 & echo $! > first.new; mv first.new first; wait`

// TestKilledWorkerLeavesNoProgramBehind: kill -9 of a worker whose program has
// started another one. The next process of the worker ends that before the job
// begins again.
func TestKilledWorkerLeavesNoProgramBehind(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	config := fmt.Sprintf("%sjob_types:\n  left:\n    handler: command\n    schedule: {every: 365d}\n    policy: {heartbeat_timeout: 3s}\n"+
		"    detect: {command: [echo, one]}\n    execute: {command: [sh, -c, %q, sh, %q]}\n",
		sites.Scaled, leftScript, s.Dir)
	s.Apply(config)
	victim := s.worker("node-a")
	s.AwaitFresh("node-a")
	ref := s.Begin("left")
	testsuite.WaitFor(t, time.Minute, "the program has started another one", func() bool {
		_, err := os.Stat(filepath.Join(s.Dir, "first"))
		return err == nil
	})
	victim.Kill()
	s.worker("node-a")
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Errors)
	assert.Equal(t, 1, result.Counts.Replacements)
}
