package gatewaye2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// example is a worker of examples/.
type example struct{ program, script string }

func (e example) start(s *site, gateway, id string) *sites.Process {
	s.T.Helper()
	root, err := testsuite.ModuleRoot()
	require.NoError(s.T, err)
	program, err := exec.LookPath(e.program)
	require.NoError(s.T, err, "the examples need sh, curl and python3")
	return s.Program([]string{"ROUNDSMAN_GATEWAY=http://" + gateway, "ROUNDSMAN_STATE=" + filepath.Join(s.Dir, "state-"+id)},
		program, filepath.Join(root, "examples", e.script), id)
}

// rubbish makes a directory of files for the handler purge.
func (s *site) rubbish(dir string, files int) (left func() int) {
	s.T.Helper()
	path := filepath.Join(s.Dir, "root", dir)
	require.NoError(s.T, os.MkdirAll(path, 0o700))
	for i := range files {
		require.NoError(s.T, os.WriteFile(filepath.Join(path, fmt.Sprintf("%03d.old", i)), nil, 0o600))
	}
	return func() int {
		found, err := filepath.Glob(filepath.Join(path, "*.old"))
		require.NoError(s.T, err)
		return len(found)
	}
}

// TestExamples: both examples detect, report progress, continue from a checkpoint after kill -9, accept a
// cancellation and stop in order.
func TestExamples(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]example{
		"shell":  {"sh", "remote-shell/worker.sh"},
		"python": {"python3", "remote-python/worker.py"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lifeOfExample(t, e)
		})
	}
}

func lifeOfExample(t *testing.T, e example) {
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.gateway(address)
	s.apply(jobType("purge", "purge", "heartbeat_timeout: 6s, interactive: true") +
		fmt.Sprintf("    params: {root: %q, pause: 0.3}\n", filepath.Join(s.Dir, "root")))
	fresh := func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOnline && w.Fresh }

	killed := e.start(s, address, "far-a")
	s.Await("far-a", "fresh", fresh)
	left := s.rubbish("box", 40)
	ref := s.Begin("purge")
	testsuite.WaitFor(t, time.Minute, "it is in the middle", func() bool { return left() < 25 })
	e.start(s, address, "far-b")
	s.Await("far-b", "fresh", fresh)
	killed.Kill()
	at, stopped := time.Now(), left()
	testsuite.WaitFor(t, time.Minute, "the other continues", func() bool { return left() < stopped })
	t.Logf("elsewhere %.1f s after kill -9", time.Since(at).Seconds())
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, map[string]int{"far-b": 1}, result.ByWorker)
	assert.Zero(t, left())

	t.Log("cancel")
	left = s.rubbish("again", 200)
	ref = s.Begin("purge")
	testsuite.WaitFor(t, time.Minute, "it has begun", func() bool { return left() < 198 })
	s.Command("cancel", ref.WorkflowID+"/job-00001", "--reason", "enough")
	result = s.Result(ref)
	assert.Equal(t, 1, result.Counts.Canceled, "%+v", result)
	assert.Positive(t, left())

	t.Log("SIGTERM returns the job with its checkpoint")
	last := e.start(s, address, "far-a")
	s.Await("far-a", "fresh", fresh)
	_ = os.RemoveAll(filepath.Join(s.Dir, "root"))
	left = s.rubbish("last", 30)
	ref = s.Begin("purge")
	testsuite.WaitFor(t, time.Minute, "it has begun", func() bool { return left() < 27 })
	_ = last
	owner, other := "far-a", "far-b"
	if read, err := os.ReadFile(filepath.Join(s.Dir, "root", "last", "purged.log")); err == nil && strings.HasPrefix(string(read), "far-b") {
		owner, other = other, owner
	}
	require.NoError(t, s.processOf(owner).Process.Signal(syscall.SIGTERM))
	assert.Equal(t, 0, s.processOf(owner).Code(t, 30*time.Second))
	result = s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, map[string]int{other: 1}, result.ByWorker)
	assert.Zero(t, result.Counts.Retries)
	s.Await(owner, "OFFLINE", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOffline })
}
