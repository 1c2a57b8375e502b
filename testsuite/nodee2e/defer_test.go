package nodee2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// explained waits for a text in an explanation, and returns the explanation.
func (s *site) explained(thing string, texts ...string) (said string) {
	s.T.Helper()
	testsuite.WaitFor(s.T, time.Minute, fmt.Sprintf("%s is explained by %v", thing, texts), func() bool {
		said = s.Command("explain", thing)
		for _, text := range texts {
			if !strings.Contains(said, text) {
				return false
			}
		}
		return true
	})
	return said
}

// killAll is kill -9 of the control plane and the worker, which start again.
func (s *site) killAll(worker *sites.Process) {
	s.T.Helper()
	s.control.Kill()
	worker.Kill()
	s.control = s.Start("server")
	s.worker("node-a", "--max-execute", "1", "--take-over")
}

// TestAnExitCodeDefers: a program ends with 75 twice and then with 0. The one slot of the one worker and
// the one place of the group are another job's meanwhile; control plane and worker are killed in the wait.
func TestAnExitCodeDefers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	worker := s.worker("node-a", "--max-execute", "1")
	s.AwaitFresh("node-a")
	script := fmt.Sprintf(`echo "$1" >> %[1]s/ran; test "$1" = b && exit 0; test "$(grep -c a %[1]s/ran)" -ge 3 && exit 0; echo "not now" >&2; exit 75`, s.Dir)
	s.Apply(fmt.Sprintf(`
version: 1
job_types:
  late:
    handler: command
    schedule: {every: 24h}
    policy: {global_execution_concurrency: 1, retry_limit: 0}
    detect: {command: [printf, 'a\nb\n']}
    execute: {command: [sh, -c, %q, sh, "{{.Params.item}}"], exit_codes: {defer: {75: 30s}}}
`, script))
	ref := s.Begin("late")
	testsuite.WaitFor(t, time.Minute, "b has run in the place of a", func() bool { return len(s.lines("ran")) >= 2 })
	require.Equal(t, []string{"a", "b"}, s.lines("ran"), "a goes first, and b does not wait for it")
	s.explained(ref.WorkflowID+"/job-00001", "DEFERRED", "exited with status 75", "not now")
	testsuite.WaitFor(t, time.Minute, "the list of jobs shows it, too", func() bool {
		return strings.Contains(s.Command("jobs", ref.WorkflowID), "deferred until")
	})
	s.killAll(worker)
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, []int{2, 0, 0, 0}, []int{result.Counts.Completed, result.Counts.Failed, result.Counts.Retries, result.Counts.Replacements}, "%+v", result.Counts)
	assert.Equal(t, []string{"a", "b", "a", "a"}, s.lines("ran"))
}

// TestAGuardKeepsATaskWaiting: a guard waits for a file. The only place of the run is another task's
// meanwhile; control plane and worker are killed in the wait.
func TestAGuardKeepsATaskWaiting(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	worker := s.worker("node-a", "--max-execute", "1")
	s.AwaitFresh("node-a")
	loaded, err := spec.Load("guarded.yaml", fmt.Appendf(nil, `
version: 1
name: guarded
concurrency: 1
defaults: {dir: %[1]q, env: {MARK: go}}
tasks:
  - {id: a, priority: 9, command: [sh, -c, echo a >> ran], guard: {command: [sh, -c, 'echo checked >> checks; echo the lag is 40 s; test -e "$MARK"'], every: 3s}}
  - {id: b, command: [sh, -c, echo b >> ran]}
`, s.Dir))
	require.NoError(t, err)
	compiled, err := spec.Compile(loaded, nil)
	require.NoError(t, err)
	ref, err := s.Client.DAGs().Run(t.Context(), compiled, starter.DAGOptions{})
	require.NoError(t, err)
	testsuite.WaitFor(t, time.Minute, "b has run in the place of a", func() bool { return len(s.lines("ran")) == 1 })
	s.explained(ref.WorkflowID+"/a", "GUARD", "the lag is 40 s")
	testsuite.WaitFor(t, time.Minute, "a waits in the list", func() bool {
		return strings.Contains(s.Command("jobs", ref.WorkflowID), "the guard fails, its next check is at")
	})
	s.killAll(worker)
	checked := len(s.lines("checks"))
	testsuite.WaitFor(t, time.Minute, "the guard runs again", func() bool { return len(s.lines("checks")) > checked+1 })
	assert.Equal(t, []string{"b"}, s.lines("ran"))
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "go"), nil, 0o600))
	result := s.dagResult(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, []string{"b", "a"}, s.lines("ran"))
}

// TestAGuardEndsWithItsRun: max_runtime bounds the wait, and its program never starts.
func TestAGuardEndsWithItsRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	s.Apply(fmt.Sprintf(`
version: 1
job_types:
  never:
    handler: command
    each_worker: true
    schedule: {every: 24h}
    policy: {max_runtime: 5s, execution_timeout: 4s, heartbeat_timeout: 3s}
    execute: {dir: %q, command: [touch, ran], guard: {command: ["false"], every: 1s}}
`, s.Dir))
	result := s.Result(s.Begin("never"))
	assert.Zero(t, result.Counts.Completed+result.Counts.Failed, "%+v", result)
	assert.Equal(t, 1, result.Counts.NotStarted+result.Counts.Canceled, "a guard that runs at the end is canceled: %+v", result)
	assert.NoFileExists(t, filepath.Join(s.Dir, "ran"))
}
