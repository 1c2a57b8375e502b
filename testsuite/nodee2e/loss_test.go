package nodee2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestKilledWorker: kill -9 while three jobs of different policies run there.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const timeout = "heartbeat_timeout: 3s"
	s.hold("replace", "fail", "hold")
	s.apply(
		group{"replace", "steps", timeout, 1, 12, 250},
		group{"fail", "steps", timeout + ", on_worker_loss: fail", 1, 12, 250},
		group{"hold", "steps", timeout + ", on_worker_loss: hold", 1, 12, 250},
	)
	victim := s.worker("node-a")
	s.AwaitFresh("node-a")
	replace, fail, hold := s.Begin("replace"), s.Begin("fail"), s.Begin("hold")
	s.awaitBook("every job has a checkpoint", func(b book) bool {
		steps := b.of("step").perKey()
		return steps["replace-0"] > 6 && steps["fail-0"] > 6 && steps["hold-0"] > 6
	})
	s.worker("node-b")
	s.AwaitFresh("node-b")
	victim.Kill()
	killed := time.Now()

	onB := s.awaitBook("the job runs on the other worker", func(b book) bool { return len(b.of("start").on("node-b")) > 0 }).of("start").on("node-b")
	took := onB[0].at.Sub(killed)
	t.Logf("started on the other worker %.1f s after kill -9, with checkpoint %d", took.Seconds(), onB[0].done)
	assert.Positive(t, onB[0].done, "it continues from its checkpoint")
	result := s.Result(fail)
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	require.Len(t, result.Errors, 1)
	assert.Contains(t, result.Errors[0].Message, "on_worker_loss is fail")
	testsuite.WaitFor(t, time.Minute, "the third job is held", func() bool {
		held, _, err := s.Client.Runs().Items(t.Context(), hold, starter.ItemFilter{States: []string{"held"}})
		return err == nil && len(held) == 1
	})
	s.letGo()
	result = s.Result(replace)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 1, result.Counts.Replacements)
	assert.Zero(t, result.Counts.Retries, "a lost worker costs no retry")
	s.worker("node-a")
	result = s.Result(hold)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, map[string]int{"node-a": 1}, result.ByWorker, "it waited for its worker")
	assert.Len(t, s.book().typed("replace").of("end"), 1)
}

// TestFrozenWorker: SIGSTOP past the heartbeat timeout, then SIGCONT. The worker
// finishes a job that was given to another one; that does not count twice.
func TestFrozenWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hold("second")
	s.apply(
		group{"second", "steps", "heartbeat_timeout: 5s, global_execution_concurrency: 2, per_worker_execution_concurrency: 1", 2, 60, 250},
	)
	frozen := s.worker("node-a")
	s.AwaitFresh("node-a")
	ref := s.Begin("second")
	s.awaitBook("it has begun on node-a", func(b book) bool { return len(b.of("step").on("node-a")) > 2 })
	s.worker("node-b")
	s.AwaitFresh("node-b")
	frozen.Signal(t, syscall.SIGSTOP)
	s.letGo()
	s.awaitBook("both run on node-b, one after the other or at once", func(b book) bool {
		for _, start := range b.of("start").on("node-b") {
			if start.attempt > 1 {
				return true
			}
		}
		return false
	})
	frozen.Signal(t, syscall.SIGCONT)
	s.awaitBook("the frozen handler is told that its job is somebody else's, or ends", func(b book) bool {
		onA := b.on("node-a")
		return len(onA.of("stop"))+len(onA.of("end")) > 0
	})
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, 2, result.Counts.Completed, "the late result does not count twice")
	assert.Equal(t, 1, result.Counts.Replacements)
}

// TestOfflineWorkerLosesItsJobs: with a heartbeat timeout beyond the registry's
// threshold, the registry's word ends the job.
func TestOfflineWorkerLosesItsJobs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hold("patient")
	s.apply(group{"patient", "steps", "heartbeat_timeout: 10m, liveness: process", 1, 8, 250})
	victim := s.worker("node-a")
	s.AwaitFresh("node-a")
	ref := s.Begin("patient")
	s.awaitBook("it runs", func(b book) bool { return len(b.of("step")) > 0 })
	s.worker("node-b")
	s.AwaitFresh("node-b")
	victim.Kill()
	s.letGo()
	offline := s.Await("node-a", "OFFLINE", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOffline })
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, map[string]int{"node-b": 1}, result.ByWorker)
	started := s.book().of("start").on("node-b")
	require.NotEmpty(t, started)
	t.Logf("placed again %.1f s after OFFLINE", started[0].at.Sub(offline.Since).Seconds())
}

// TestTakenOverWorkerIsNotHeard: a second process of an id is refused, and with
// --take-over fences the first, whose result does not count.
func TestTakenOverWorkerIsNotHeard(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hold("contested")
	s.apply(group{"contested", "steps", "heartbeat_timeout: 10m, liveness: process", 1, 8, 250})
	first := s.worker("node-a")
	s.AwaitFresh("node-a")
	ref := s.Begin("contested")
	s.awaitBook("it runs", func(b book) bool { return len(b.of("step")) > 2 })

	second := s.Start("worker", "--id", "node-a", "--data-dir", s.Dir+"/elsewhere")
	assert.Equal(t, 1, second.Code(t, 30*time.Second))
	before, err := s.Client.Workers().Get(t.Context(), "node-a")
	require.NoError(t, err)
	for _, part := range []string{"node-a", before.Registration.Host, "registered", "--take-over"} {
		assert.Contains(t, second.Stderr.String(), part)
	}
	assert.Equal(t, first.Process.Pid, before.Registration.PID)

	s.Start("worker", "--id", "node-a", "--data-dir", s.Dir+"/elsewhere", "--take-over")
	s.awaitBook("the job runs in the new process", func(b book) bool { return len(b.of("start")) == 2 })
	assert.Equal(t, 1, first.Code(t, 90*time.Second), "the first process ends")
	assert.Contains(t, first.Stderr.String(), "fenced")
	s.letGo()
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, 1, result.Counts.Completed)
	assert.Equal(t, 1, result.Counts.Replacements)
	assert.Len(t, s.book().of("end"), 1)
}

// TestDrainHandsBack: SIGTERM with a job longer than the drain; another worker
// continues from the checkpoint.
func TestDrainHandsBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hold("long")
	s.apply(group{"long", "steps", "heartbeat_timeout: 30s", 1, 20, 250})
	leaving := s.worker("node-a", "--drain-timeout", "500ms")
	s.AwaitFresh("node-a")
	ref := s.Begin("long")
	s.awaitBook("it runs", func(b book) bool { return len(b.of("step")) > 3 })
	s.worker("node-b")
	s.AwaitFresh("node-b")
	leaving.Stop(t)
	s.letGo()
	w := s.Await("node-a", "OFFLINE", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOffline })
	assert.Equal(t, "unregistered", w.Transitions[len(w.Transitions)-1].Reason)
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Zero(t, result.Counts.Retries)
	b := s.book()
	stopped, started := b.of("stop").on("node-a"), b.of("start").on("node-b")
	require.Len(t, stopped, 1)
	require.Len(t, started, 1)
	assert.Equal(t, stopped[0].done, started[0].done, "it continues where the other stopped")
	assert.Len(t, b.of("step"), 20, "no step is taken twice")

	assert.Contains(t, s.Command("workers", "cleanup"), "nothing to remove", "it is not OFFLINE for long enough")
	assert.Contains(t, s.Command("workers", "cleanup", "--offline"), "removed node-a")
	assert.NotContains(t, s.Command("workers"), "node-a")
	assert.Regexp(t, "node-a +DELETED", s.Command("workers", "-s", "deleted"))
	assert.NotContains(t, s.Command("workers", "-s", "online"), "node-a")
}

// TestStoppedWhileStarting: a worker that is stopped at any moment of its start leaves no entry that seems to live, even
// without a control plane to receive its end.
func TestStoppedWhileStarting(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var ids []string
	for i := range 12 {
		id := fmt.Sprintf("brief-%02d", i)
		brief := s.worker(id)
		if i%2 == 0 {
			testsuite.WaitFor(t, time.Minute, id+" is registered", func() bool { return s.seems(id) })
		} else {
			testsuite.WaitFor(t, time.Minute, id+" begins", func() bool {
				_, err := os.Stat(filepath.Join(s.Dir, id, "workers"))
				return err == nil
			})
		}
		brief.Signal(t, syscall.SIGTERM)
		brief.Code(t, time.Minute)
		ids = append(ids, id)
	}
	s.control.Kill()
	unheard := s.worker("unheard")
	testsuite.WaitFor(t, time.Minute, "it asks again", func() bool { return strings.Contains(unheard.Stderr.String(), "asking again") })
	unheard.Signal(t, syscall.SIGTERM)
	assert.Equal(t, 1, unheard.Code(t, time.Minute))
	s.Start("server")
	s.worker("witness")
	s.AwaitFresh("witness")
	for _, id := range append(ids, "unheard") {
		assert.False(t, s.seems(id), "%s seems to live", id)
	}
	s.worker("unheard")
	s.AwaitFresh("unheard")
}

// TestKilledWhileStarting: a worker that was killed, and killed once more before it
// had registered again, gets its id back at once.
func TestKilledWhileStarting(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.worker("node-a")
	s.AwaitFresh("node-a")
	s.control.Kill()
	first.Kill()
	lock := filepath.Join(s.Dir, "node-a", "workers", "node-a.lock")
	for range 2 {
		before, err := os.ReadFile(lock)
		require.NoError(t, err)
		brief := s.worker("node-a")
		testsuite.WaitFor(t, time.Minute, "it has claimed its id", func() bool {
			text, err := os.ReadFile(lock)
			return err == nil && strings.HasSuffix(string(text), "\n") && string(text) != string(before)
		})
		brief.Kill()
	}
	s.Start("server")
	last := s.worker("node-a")
	s.Await("node-a", "the last process", func(w contract.WorkerDetail) bool { return w.Registration.PID == last.Process.Pid })
	testsuite.WaitFor(t, time.Minute, "it serves", func() bool { return strings.Contains(last.Stderr.String(), "the worker serves") })
	last.Stop(t)
	text, err := os.ReadFile(lock)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(text), "\n"), "the dead are forgotten")
}

// seems reports whether the registry takes the worker for alive.
func (s *site) seems(id string) bool {
	w, err := s.Client.Workers().Get(s.T.Context(), id)
	return err == nil && w.State == contract.WorkerOnline
}

// TestRollingRestart restarts three workers one after the other under load.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	const jobs = 60
	ids := []string{"node-a", "node-b", "node-c"}
	s := newSite(t)
	s.apply(group{"load", "steps", "global_execution_concurrency: 12, per_worker_execution_concurrency: 4, heartbeat_timeout: 60s", jobs, 4, 250})
	running := map[string]*sites.Process{}
	for _, id := range ids {
		running[id] = s.worker(id, "--drain-timeout", "30s")
	}
	s.AwaitFresh(ids...)
	ref := s.Begin("load")
	s.awaitBook("all are busy", func(b book) bool { return b.worst() >= 8 })
	for _, id := range ids {
		running[id].Stop(t)
		running[id] = s.worker(id, "--drain-timeout", "30s")
		s.AwaitFresh(id)
	}
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, jobs, result.Counts.Completed, "no job is lost")
	b := s.book()
	assert.Len(t, b.of("end"), jobs)
	for key, n := range b.of("start").perKey() {
		assert.Equal(t, 1, n, "%s ran more than once", key)
	}
	// Silent for three intervals, a predecessor is forgotten, while the server lists
	// it for minutes more.
	restarted := time.Now()
	testsuite.WaitFor(t, time.Minute, "the predecessors have been silent for long", func() bool { return time.Since(restarted) > 22*time.Second })
	described, err := s.Client.Temporal().DescribeWorkflowExecution(t.Context(), contract.FleetWorkflowID, "")
	require.NoError(t, err)
	registry := described.GetWorkflowExecutionInfo()
	assert.Equal(t, registry.GetFirstRunId(), registry.GetExecution().GetRunId(), "the registry had no reason to continue as new")
	assert.Less(t, registry.GetHistoryLength(), int64(1000), "processes that are gone are told of once, as long as the server lists them")
	testsuite.WaitFor(t, 30*time.Second, "every worker knows that it is idle", func() bool {
		for _, id := range ids {
			if report, err := s.Client.Workers().Ask(t.Context(), id); err != nil || report.Executing > 0 || report.Undelivered > 0 {
				return false
			}
		}
		return true
	})
}
