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
)

// patientTasks may be silent for an hour before Temporal gives them up. Each records the place of its start, and ends
// once the file "go" is there.
const patientTasks = `
version: 1
name: patient
tasks:
  - {id: anywhere, heartbeat_timeout: 1h, timeout: 2h, command: [sh, -c, %[1]q, anywhere]}
  - {id: pinned, node: node-a, heartbeat_timeout: 1h, timeout: 2h, command: [sh, -c, %[1]q, pinned]}
  - {id: blocked, needs: [pinned], noop: true}
`

// runPatient starts the tasks.
func (s *site) runPatient() starter.RunRef {
	s.T.Helper()
	script := fmt.Sprintf(`echo "$0 $ROUNDSMAN_WORKER_ID" >> %[1]s/starts; while [ ! -e %[1]s/go ]; do sleep 0.1; done; echo $0 >> %[1]s/ends`, s.Dir)
	loaded, err := spec.Load("patient.yaml", fmt.Appendf(nil, patientTasks, script))
	require.NoError(s.T, err)
	compiled, err := spec.Compile(loaded, nil)
	require.NoError(s.T, err)
	ref, err := s.Client.DAGs().Run(s.T.Context(), compiled, starter.DAGOptions{})
	require.NoError(s.T, err)
	return ref
}

func (s *site) lines(name string) []string {
	data, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func (s *site) awaitStart(line string, times int) {
	s.T.Helper()
	testsuite.WaitFor(s.T, 2*time.Minute, fmt.Sprintf("%q starts %d times", line, times), func() bool {
		n := 0
		for _, start := range s.lines("starts") {
			if start == line {
				n++
			}
		}
		return n >= times
	})
}

func (s *site) dagResult(ref starter.RunRef) contract.DAGResult {
	s.T.Helper()
	ctx, cancel := testsuite.Within(s.T, 2*time.Minute)
	defer cancel()
	result, err := s.Client.DAGs().Await(ctx, ref)
	require.NoError(s.T, err)
	return result
}

// TestOfflineWorkerLosesItsTasks: with a heartbeat timeout beyond the registry's
// threshold, the registry's word ends the task: it goes elsewhere, or fails with
// the reason where it is pinned.
func TestOfflineWorkerLosesItsTasks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	victim := s.worker("node-a")
	s.AwaitFresh("node-a")
	ref := s.runPatient()
	s.awaitStart("anywhere node-a", 1)
	s.awaitStart("pinned node-a", 1)
	s.worker("node-b")
	s.AwaitFresh("node-b")
	victim.Kill()
	offline := s.Await("node-a", "OFFLINE", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOffline })
	s.awaitStart("anywhere node-b", 1)
	t.Logf("placed again at most %.1f s after OFFLINE", time.Since(offline.Since).Seconds())
	s.letGo()
	result := s.dagResult(ref)
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.Equal(t, contract.DAGTask{State: "completed", Attempts: 2, Worker: "node-b"}, result.Tasks["anywhere"])
	assert.Equal(t, "it is pinned to worker node-a, which is OFFLINE", result.Tasks["pinned"].Error)
	assert.Equal(t, "upstream_failed", result.Tasks["blocked"].State)
}

// TestTakenOverWorkerLosesItsTasks: --take-over fences the process that runs them,
// whose results do not count.
func TestTakenOverWorkerLosesItsTasks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.worker("node-a")
	s.AwaitFresh("node-a")
	ref := s.runPatient()
	s.awaitStart("anywhere node-a", 1)
	s.awaitStart("pinned node-a", 1)
	s.Start("worker", "--id", "node-a", "--data-dir", s.Dir+"/elsewhere", "--take-over")
	s.awaitStart("anywhere node-a", 2)
	s.awaitStart("pinned node-a", 2)
	s.letGo()
	result := s.dagResult(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, 2, result.Tasks["anywhere"].Attempts)
	assert.Equal(t, 2, result.Tasks["pinned"].Attempts)
	assert.Equal(t, 1, first.Code(t, 90*time.Second), "the first process ends")
	assert.Contains(t, first.Stderr.String(), "fenced")
}
