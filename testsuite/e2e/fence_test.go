package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
)

// TestStaleCommitIsRejected: a worker is frozen with SIGSTOP past its heartbeat timeout while its job works at
// an object. The job runs elsewhere and commits. The later commit of the first attempt has an older fence.
func TestStaleCommitIsRejected(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a", "node-b")
	const work = `echo $ROUNDSMAN_WORKER_ID >> started.log
if [ $ROUNDSMAN_ATTEMPT = 1 ]; then while [ ! -f go ]; do sleep 0.1; done; fi
last=$(cat fence 2>/dev/null || echo 0)
if [ $ROUNDSMAN_FENCE -le $last ]; then echo $ROUNDSMAN_FENCE >> rejected.log; exit 1; fi
echo $ROUNDSMAN_FENCE > fence; echo $ROUNDSMAN_FENCE >> commits.log; touch go`
	c.apply("  fenced:\n    handler: command\n    schedule: {every: 365d, first_run: scheduled}\n    policy: {heartbeat_timeout: 5s, liveness: process}\n" +
		"    detect: {command: [echo, '{\"dedupe_key\":\"x\",\"exclusive\":[\"volume/42\"]}'], format: json}\n" +
		"    execute: {command: [sh, -c, " + strconv.Quote(work) + "]}\n")
	ref := c.run("fenced")
	testsuite.WaitFor(t, time.Minute, "the job works", func() bool { return len(c.lines("started.log")) == 1 })
	first := c.workers[c.lines("started.log")[0]]
	require.NoError(t, first.Process.Signal(syscall.SIGSTOP))
	defer func() { _ = first.Process.Signal(syscall.SIGCONT) }()

	result := c.result(ref, time.Minute)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, 1, result.Counts.Replacements)
	// The program runs although the worker is frozen. A resumed worker would end it at once, because its lease
	// is lost.
	testsuite.WaitFor(t, time.Minute, "the stale commit came", func() bool { return len(c.lines("rejected.log")) == 1 })
	require.NoError(t, first.Process.Signal(syscall.SIGCONT))
	assert.Len(t, c.lines("commits.log"), 1)
	kept, err := os.ReadFile(filepath.Join(c.dir, "fence"))
	require.NoError(t, err)
	assert.Equal(t, c.lines("commits.log")[0]+"\n", string(kept))
	older, err := strconv.ParseInt(c.lines("rejected.log")[0], 10, 64)
	require.NoError(t, err)
	newer, err := strconv.ParseInt(c.lines("commits.log")[0], 10, 64)
	require.NoError(t, err)
	assert.Less(t, older, newer)
}
