package nodee2e

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestRecoveryFail: kill -9 of a worker ends the whole group under recovery: fail; the
// next one starts from the beginning.
func TestRecoveryFail(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hold("whole")
	s.apply(group{"whole", "steps", "recovery: fail, heartbeat_timeout: 3s, global_execution_concurrency: 2", 4, 12, 100})
	victim := s.worker("node-a")
	s.worker("node-b")
	s.AwaitFresh("node-a", "node-b")
	ref := s.Begin("whole")
	first := s.awaitBook("both workers have a job with a checkpoint", func(b book) bool {
		return len(b.of("step").on("node-a")) > 3 && len(b.of("step").on("node-b")) > 3
	})
	lost := first.of("start").on("node-a")[0].key
	victim.Kill()
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.Equal(t, string(contract.CodeWorkerLost), string(result.Code))
	assert.Regexp(t, `^WORKER_LOST: job \d+ was lost with worker node-a: .*\(recovery is fail\)$`, result.Reason)
	assert.Equal(t, []int{3, 1, 0}, []int{result.Counts.Failed, result.Counts.Canceled, result.Counts.Replacements}, "%+v", result.Counts)
	b := s.awaitBook("the job on the other worker has stopped", func(b book) bool { return len(b.of("stop").on("node-b")) == 1 })
	assert.Len(t, b.of("start"), 2, "nothing was placed again")
	shown := s.Command("show", ref.WorkflowID)
	assert.Contains(t, shown, "WORKER_LOST")
	assert.Contains(t, shown, "node-a")
	explained := s.Command("explain", ref.WorkflowID)
	assert.Contains(t, explained, "WORKER_LOST")
	assert.Contains(t, explained, "node-a")

	s.letGo()
	result = s.Result(s.Begin("whole"))
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, 4, result.Counts.Completed)
	started := s.book().of("start")[2:]
	require.Len(t, started, 4)
	for _, start := range started {
		assert.Zero(t, start.done, "%s, of which %s was lost, begins again", start.key, lost)
		assert.Equal(t, 1, start.attempt)
	}
}

// TestRecoveryFailOfADAG: a task of a sub-DAG loses its worker by kill -9, and the run above it ends as a whole; its
// clean-up still runs.
func TestRecoveryFailOfADAG(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	victim := s.worker("node-a")
	s.worker("node-b")
	s.AwaitFresh("node-a", "node-b")
	waits := fmt.Sprintf(`echo "$0 $ROUNDSMAN_WORKER_ID" >> %[1]s/starts; while [ ! -e %[1]s/go ]; do sleep 0.1; done`, s.Dir)
	loaded, err := spec.Load("whole.yaml", fmt.Appendf(nil, `
version: 1
name: whole
recovery: fail
hold_on_failure: 1h
tasks:
  - {id: inner, dag: inner.yaml}
  - {id: other, node: node-b, command: [sh, -c, %[1]q, other]}
  - {id: after, needs: [inner], noop: true}
  - {id: tidy, needs: [inner, other], trigger_rule: always, node: node-b, command: [sh, -c, %[2]q]}
`, waits, "echo tidy >> "+s.Dir+"/tidied"))
	require.NoError(t, err)
	inner := fmt.Sprintf("version: 1\nname: inner\ntasks:\n  - {id: lost, node: node-a, heartbeat_timeout: 3s, retries: {limit: 5}, command: [sh, -c, %q, lost]}\n", waits)
	compiled, err := spec.Compile(loaded, fstest.MapFS{"inner.yaml": {Data: []byte(inner)}})
	require.NoError(t, err)
	ref, err := s.Client.DAGs().Run(t.Context(), compiled, starter.DAGOptions{})
	require.NoError(t, err)
	s.awaitStart("lost node-a", 1)
	s.awaitStart("other node-b", 1)
	victim.Kill()
	s.worker("node-a", "--take-over") // A worker that is back changes nothing.
	result := s.dagResult(ref)
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.True(t, result.WorkerLost)
	assert.True(t, strings.HasPrefix(result.Reason, "WORKER_LOST: task inner: "), result.Reason)
	assert.Contains(t, result.Reason, "task lost was lost with worker node-a")
	states := map[string]string{}
	for id, task := range result.Tasks {
		states[id] = task.State
	}
	assert.Equal(t, map[string]string{"inner": "failed", "other": "canceled", "after": "canceled", "tidy": "completed"}, states)
	assert.Len(t, s.lines("starts"), 2, "nothing was started again")
	assert.Len(t, s.lines("tidied"), 1)
	testsuite.WaitFor(t, time.Minute, "explain names the worker", func() bool {
		text := s.Command("explain", ref.WorkflowID)
		return strings.Contains(text, "WORKER_LOST") && strings.Contains(text, "node-a")
	})
}
