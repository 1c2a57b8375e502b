package nodee2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
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

const (
	// manyJobs, for each of two runs, is more than the 16 outcomes that a worker keeps for adoptions of all its runs.
	manyJobs = 18
	// A busy machine delays heartbeats by seconds.
	ofManyJobs = 10 * time.Second
)

// TestManyJobsEndWhileTheServerIsAway: their runs order adoptions at the server's return. Each job and each task has run
// once, by the answer to its adoption or by the outcome that its worker delivers. endings_test.go of workflows/run has
// both in one workflow task.
func TestManyJobsEndWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hold("many")
	s.apply(group{"many", "steps", fmt.Sprintf("heartbeat_timeout: %[2]s, global_execution_concurrency: %[1]d, per_worker_execution_concurrency: %[1]d", manyJobs, ofManyJobs), manyJobs, 1, 50})
	node := s.worker("node-a", "--max-execute", "400")
	s.AwaitFresh("node-a")
	ref, tasks := s.Begin("many"), s.runShellTasks(manyJobs, ofManyJobs)
	s.awaitBook("all jobs run", func(b book) bool { return len(b.of("start")) == manyJobs })
	testsuite.WaitFor(t, time.Minute, "all tasks run", func() bool { return len(s.lines("starts")) == manyJobs })

	s.Server.Kill()
	killed := time.Now()
	s.letGo()
	s.awaitBook("all jobs end", func(b book) bool { return len(b.of("end")) == manyJobs })
	testsuite.WaitFor(t, time.Minute, "all tasks end", func() bool { return len(s.lines("ends")) == manyJobs })
	testsuite.WaitFor(t, time.Minute, "the heartbeat timeout has passed", func() bool { return time.Since(killed) > ofManyJobs })
	node.Signal(t, syscall.SIGSTOP)
	s.control.Signal(t, syscall.SIGSTOP)
	s.Server.Restart(t)
	for _, run := range []starter.RunRef{ref, tasks} {
		testsuite.WaitFor(t, time.Minute, "all attempts of "+run.WorkflowID+" are timed out", func() bool { return s.pending(run) == 0 })
	}
	// The node must take all adoptions within 4 s. So the control plane orders those of both runs at once.
	s.control.Signal(t, syscall.SIGCONT)
	for _, run := range []starter.RunRef{ref, tasks} {
		testsuite.WaitFor(t, time.Minute, run.WorkflowID+" adopts", func() bool { return s.adoptions(run) > 0 })
	}
	node.Signal(t, syscall.SIGCONT)

	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, contract.OutcomeCompleted, s.dagResult(tasks).Outcome)
	assert.Len(t, s.book().of("start"), manyJobs)
	assert.Len(t, s.lines("starts"), manyJobs)
}

// TestAttemptsAfterAnAdoptionAndALoss: an attempt that is adopted stays one attempt. One whose
// worker is killed is worker_lost, and the next one is the second, elsewhere.
func TestAttemptsAfterAnAdoptionAndALoss(t *testing.T) {
	t.Parallel()
	s := begin(t, sites.With(t, sites.Patient+"job_types: {}\n")) // The node is stopped while the server restarts.
	s.hold("work")
	s.apply(group{"work", "steps", "heartbeat_timeout: 3s", 1, 2, 50})
	node := s.worker("node-a")
	s.AwaitFresh("node-a")
	ref, tasks := s.Begin("work"), s.runShellTasks(1, 2*time.Second)
	s.awaitBook("the job runs", func(b book) bool { return len(b.of("step")) == 1 })
	testsuite.WaitFor(t, time.Minute, "the task runs", func() bool { return len(s.lines("starts")) == 1 })
	items := []starter.ItemRef{{Run: ref, ID: "job-00001"}, {Run: tasks, ID: "task-0"}}
	begun := map[string]time.Time{}
	for _, item := range items {
		begun[item.ID] = s.attempts(item)[0].StartedAt
	}

	s.Server.Kill()
	killed := time.Now()
	s.control.Kill()
	node.Signal(t, syscall.SIGSTOP) // Else a heartbeat can come before the server looks at its timers.
	testsuite.WaitFor(t, time.Minute, "the heartbeat timeout has passed", func() bool { return time.Since(killed) > 4*time.Second })
	s.Server.Restart(t)
	for _, item := range items {
		testsuite.WaitFor(t, time.Minute, item.ID+" is timed out", func() bool { return s.pending(item.Run) == 0 })
	}
	node.Signal(t, syscall.SIGCONT) // Before the adoptions are ordered, as it must take them within 4 s.
	s.control = s.Start("server")
	for _, item := range items {
		testsuite.WaitFor(t, time.Minute, item.ID+" is adopted", func() bool { return s.adoptions(item.Run) > 0 })
		adopted := s.attempts(item)
		require.Len(t, adopted, 1, "%s: %+v", item.ID, adopted)
		assert.Empty(t, adopted[0].EndedAs, item.ID)
		assert.Equal(t, "node-a", adopted[0].Worker)
		assert.WithinDuration(t, begun[item.ID], adopted[0].StartedAt, time.Second, "it has run since then")
		assert.Equal(t, 4*time.Second, s.adoptionWaits(item.Run)[0], "workers come back one after the other")
	}

	s.worker("node-b")
	s.AwaitFresh("node-b")
	node.Kill()
	s.letGo()
	assert.Equal(t, contract.OutcomeCompleted, s.Result(ref).Outcome)
	assert.Equal(t, contract.OutcomeCompleted, s.dagResult(tasks).Outcome)
	for _, item := range items {
		var rows []string
		for _, one := range s.attempts(item) {
			rows = append(rows, fmt.Sprintf("%d %s %s", one.Number, one.Worker, one.EndedAs))
		}
		assert.Equal(t, []string{"1 node-a worker_lost", "2 node-b completed"}, rows, item.ID)
	}
}

// attempts are those of `show`.
func (s *site) attempts(item starter.ItemRef) []starter.Attempt {
	s.T.Helper()
	var shown starter.ItemHistory
	require.NoError(s.T, json.Unmarshal([]byte(s.Command("show", item.String(), "--output", "json")), &shown))
	return shown.Attempts
}

// adoptions counts the adoptions of a run that have not ended; -1: unknown.
func (s *site) adoptions(run starter.RunRef) int { return s.unended(run, isAdoption) }

// pending counts the activities of a run that have not ended; -1: unknown.
func (s *site) pending(run starter.RunRef) int {
	return s.unended(run, func(string) bool { return true })
}

func (s *site) unended(run starter.RunRef, is func(activity string) bool) (n int) {
	described, err := s.Client.Temporal().DescribeWorkflowExecution(s.T.Context(), run.WorkflowID, "")
	if err != nil {
		return -1
	}
	for _, activity := range described.GetPendingActivities() {
		if is(activity.GetActivityId()) {
			n++
		}
	}
	return n
}

func isAdoption(activity string) bool { return strings.Contains(activity, "+") }

// runShellTasks starts a DAG of tasks that end once the file "go" is there.
func (s *site) runShellTasks(n int, heartbeatTimeout time.Duration) starter.RunRef {
	s.T.Helper()
	var text strings.Builder
	text.WriteString("version: 1\nname: many\ntasks:\n")
	script := fmt.Sprintf(`echo $0 >> %[1]s/starts; while [ ! -e %[1]s/go ]; do sleep 0.5; done; echo $0 >> %[1]s/ends`, s.Dir)
	for i := range n {
		fmt.Fprintf(&text, "  - {id: task-%d, heartbeat_timeout: %s, command: [sh, -c, %q, task-%d]}\n", i, heartbeatTimeout, script, i)
	}
	loaded, err := spec.Load("many.yaml", []byte(text.String()))
	require.NoError(s.T, err)
	compiled, err := spec.Compile(loaded, nil)
	require.NoError(s.T, err)
	ref, err := s.Client.DAGs().Run(s.T.Context(), compiled, starter.DAGOptions{})
	require.NoError(s.T, err)
	return ref
}
