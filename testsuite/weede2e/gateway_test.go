package weede2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestAWorkerConnectsAndWorks: an unmodified worker gets its first detection at once. Its jobs run exactly
// under the cluster-wide limit, with the parameters that it proposed.
func TestAWorkerConnectsAndWorks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply("global_execution_concurrency: 4, per_worker_execution_concurrency: 4")
	ref := s.Begin("vacuum")
	one := s.weed("weed-1", "-found", "33", "-jobTime", "100ms", "-gate", s.gate())
	two := s.weed("weed-2", "-found", "33", "-jobTime", "100ms", "-gate", s.gate())
	s.awaitLines(1, "detect vacuum", one, two)
	detected := append(one.Stdout.With("detect"), two.Stdout.With("detect")...)
	took := detected[0].At.Sub(one.Started)
	t.Logf("first detection %s after the process was started", took)
	s.awaitLines(4, "start", one, two)
	s.openGate()

	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 33, result.Counts.Completed)
	assert.Equal(t, 4, most(one, two), "a true limit: neither exceeded nor left unused")
	keys := map[string]bool{}
	for _, started := range append(one.Stdout.With("start"), two.Stdout.With("start")...) {
		fields := strings.Fields(started.Text)
		require.Len(t, fields, 6)
		assert.False(t, keys[fields[2]], "%s runs twice", fields[2])
		keys[fields[2]] = true
	}
}

// most returns the largest number of jobs at once.
func most(workers ...*sites.Process) int {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, w := range workers {
		for _, l := range w.Stdout.With("start") {
			changes = append(changes, change{l.At, 1})
		}
		for _, l := range slices.Concat(w.Stdout.With("end"), w.Stdout.With("failed"), w.Stdout.With("canceled")) {
			changes = append(changes, change{l.At, -1})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	running, highest := 0, 0
	for _, c := range changes {
		running += c.by
		highest = max(highest, running)
	}
	return highest
}

// TestAKilledWorkersJobsRunElsewhere: they run at once on other workers, each once more.
func TestAKilledWorkersJobsRunElsewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply("global_execution_concurrency: 4, per_worker_execution_concurrency: 3")
	one := s.weed("weed-1", "-found", "4", "-gate", s.gate())
	two := s.weed("weed-2", "-found", "4", "-gate", s.gate())
	s.AwaitFresh("weed-1", "weed-2")
	ref := s.Begin("vacuum")
	s.awaitLines(4, "start", one, two)
	killed := time.Now()
	one.Kill()
	s.awaitLines(3, "start", two)
	s.openGate()
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "retry_limit is 0: a lost worker is no failure of the job")
	assert.Equal(t, 4, result.Counts.Completed)
	starts := two.Stdout.With("start")
	require.Len(t, starts, 4)
	t.Logf("the first lost job began elsewhere %s after the kill", starts[2].At.Sub(killed))
}

// TestAKilledGatewayComesBack: its workers connect again and their jobs run once more.
func TestAKilledGatewayComesBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply("global_execution_concurrency: 4, per_worker_execution_concurrency: 4")
	one := s.weed("weed-1", "-found", "4", "-gate", s.gate())
	s.AwaitFresh("weed-1")
	ref := s.Begin("vacuum")
	s.awaitLines(4, "start", one)
	killed := time.Now()
	s.gateway.Kill()
	s.awaitLines(4, "canceled", one)
	s.startGateway()
	s.awaitLines(8, "start", one)
	s.openGate()
	t.Logf("jobs ran again %s after kill -9 of the gateway", one.Stdout.With("start")[4].At.Sub(killed))
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 4, result.Counts.Completed)
	assert.Len(t, one.Stdout.With("end"), 4)
}

func TestACancelReachesTheWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply("global_execution_concurrency: 1, per_worker_execution_concurrency: 1")
	one := s.weed("weed-1", "-found", "3", "-jobTime", "1h")
	s.AwaitFresh("weed-1")
	ref := s.Begin("vacuum")
	s.awaitLines(1, "start", one)
	s.Command("cancel", ref.WorkflowID, "--reason", "test")
	s.awaitLines(1, "canceled", one)
	assert.Equal(t, contract.OutcomeCanceled, s.Result(ref).Outcome)
	assert.Len(t, one.Stdout.With("start"), 1)
}

// TestASecondWorkerOfAnIDIsRefused: the first one works undisturbed.
func TestASecondWorkerOfAnIDIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply("global_execution_concurrency: 1, per_worker_execution_concurrency: 1")
	one := s.weed("twin", "-found", "2", "-gate", s.gate())
	s.AwaitFresh("twin")
	ref := s.Begin("vacuum")
	s.awaitLines(1, "start", one)
	two := s.weed("twin", "-found", "2")
	testsuite.WaitFor(t, time.Minute, "the refusal", func() bool {
		return strings.Contains(s.gateway.Stderr.String(), "ID_IN_USE")
	})
	s.openGate()
	assert.Equal(t, 2, s.Result(ref).Counts.Completed)
	assert.Empty(t, two.Stdout.String(), "it was given nothing")
	assert.Len(t, one.Stdout.With("end"), 2)
}

// TestImportedFormsAreEnforced: the worker's forms become the configuration, and a value outside their limits
// is refused.
func TestImportedFormsAreEnforced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := s.weed("weed-1", "-found", "1")
	s.AwaitFresh("weed-1")
	printed := strings.Replace(s.Command("jobtypes", "import"), "masters: []", fmt.Sprintf("masters: [%q]", s.master), 1)
	assert.Contains(t, printed, "handler: weed-vacuum")
	path := filepath.Join(s.Dir, "weed.yaml")
	require.NoError(t, os.WriteFile(path, []byte(printed), 0o600))
	s.applyFile(path, 0)
	ref := s.Begin("vacuum")
	assert.Equal(t, 1, s.Result(ref).Counts.Completed)
	assert.NotEmpty(t, one.Stdout.With("detect vacuum"))
	bad := strings.Replace(printed, "garbage_threshold: 0.3", "garbage_threshold: 7.5", 1)
	require.NotEqual(t, printed, bad)
	require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
	assert.Contains(t, s.applyFile(path, 3), "garbage_threshold")
}

func (s *site) applyFile(path string, code int) string {
	s.T.Helper()
	p := s.Play("roundsman", "apply", "--config", path, "--address", s.Server.Address())
	require.Equal(s.T, code, p.Code(s.T, time.Minute), p.Stderr.Last())
	return p.Stderr.Last()
}
