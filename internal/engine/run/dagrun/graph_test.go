package dagrun_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/jobtype"
)

const one = "version: 1\nname: one\ntasks:\n  - "

func TestRetriesBackOffAndThenFail(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x], retries: {limit: 3, backoff: 2s, max_backoff: 5s}}\n", dagrun.Config{})
	require.True(t, p.watched)
	p.workers(worker("w", 1))
	for _, wait := range []time.Duration{2 * time.Second, 4 * time.Second, 5 * time.Second} {
		p.ended("a", run.Ending{Failure: contract.FailureFailed, Message: "no"})
		assert.Equal(t, p.now.Add(wait), p.g.NextWake())
		assert.Equal(t, "the next attempt: no", p.view("a").Waiting)
		p.pass(wait - time.Millisecond)
		assert.Empty(t, p.running)
		p.pass(time.Millisecond)
		assert.Contains(t, p.running, "a")
	}
	p.ended("a", run.Ending{Failure: contract.FailureFailed, Message: "never"})
	assert.Equal(t, dag.OutcomeFailed, p.end.Outcome)
	assert.Equal(t, 4, p.view("a").Attempts)
	assert.Equal(t, "never", p.view("a").Error)
}

func TestABackOffWithoutABoundIsFixed(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x], retries: {limit: 3, backoff: 2s}}\n", dagrun.Config{})
	p.workers(worker("w", 1))
	for range 3 {
		p.ended("a", run.Ending{Failure: contract.FailureFailed, Message: "no"})
		assert.Equal(t, p.now.Add(2*time.Second), p.g.NextWake())
		p.pass(2 * time.Second)
	}
	assert.Contains(t, p.running, "a")
}

func TestPermanentFailureIsNotRetried(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x], retries: {limit: 3}}\n", dagrun.Config{})
	p.workers(worker("w", 1))
	p.ended("a", run.Ending{Failure: contract.FailurePermanent, Message: "broken"})
	assert.Equal(t, "failed", p.state("a"))
}

func TestBouncedTaskGoesElsewhereAndCountsNothing(t *testing.T) {
	t.Parallel()
	for _, failure := range []contract.FailureKind{
		contract.FailureAtCapacity, contract.FailureDraining, contract.FailureUnsupported, contract.FailureNotTaken,
	} {
		p := start(t, one+"{id: a, command: [x]}\n", dagrun.Config{})
		p.workers(worker("a1", 1), worker("a2", 1))
		first := p.running["a"].Worker
		p.ended("a", run.Ending{Failure: failure, Message: "not me"})
		assert.NotEqual(t, first, p.running["a"].Worker, failure)
		p.ended("a", run.Ending{})
		assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
		assert.Equal(t, 2, p.view("a").Attempts)
	}
}

func TestLostTaskIsRecalledThenReplacedThenGivenUp(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x]}\n", dagrun.Config{})
	p.workers(worker("w", 1))
	for n := 1; n <= 4; n++ {
		p.ended("a", run.Ending{Failure: contract.FailureWorkerLost, Message: "silence"})
		require.Len(t, p.probed, n)
		p.pass(run.Grace)
		if n < 4 {
			assert.Empty(t, p.running, "a suspect worker gets nothing")
			p.do(p.g.Next(p.now, run.WorkerProbed{ID: "w", Instance: "i1", Alive: true}))
			require.Contains(t, p.running, "a")
		}
	}
	assert.Equal(t, "failed", p.state("a"))
	assert.Equal(t, "LOSES_WORKERS: lost with w, w, w, w within 3 days (worker_loss_limit is 3): silence", p.view("a").Error)
}

func TestDeliveredOutcomeOfALostAttemptCounts(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x]}\n", dagrun.Config{})
	p.workers(worker("w", 1))
	p.ended("a", run.Ending{Failure: contract.FailureWorkerLost, Message: "silence"})
	p.do(p.deliveredOf("a", p.fences["a"][0]+7, run.Ending{}))
	assert.Equal(t, "running", p.state("a"), "another attempt's outcome does not count")
	p.delivered("a", 1, run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
}

func TestNodeBoundTask(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, node: n, timeout: 10m, command: [x]}\n", dagrun.Config{})
	gone := worker("n", 1)
	gone.State = contract.WorkerUnreachable
	p.workers(worker("w", 4), gone)
	assert.Empty(t, p.running)
	assert.Contains(t, p.view("a").Waiting, "worker n is unreachable")
	gone.State = contract.WorkerOffline
	p.workers(worker("w", 4), gone)
	assert.Equal(t, "it is pinned to worker n, which is OFFLINE", p.view("a").Error)
}

func TestTaskWithoutWorkerGivesUpAfterItsTimeout(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, labels: {disk: ssd}, timeout: 10m, command: [x]}\n", dagrun.Config{})
	p.workers(worker("w", 4))
	p.pass(10*time.Minute - time.Second)
	assert.Equal(t, "running", p.state("a"))
	p.pass(time.Second)
	assert.Equal(t, "NO_WORKER: no online worker has label disk=ssd (waited 10 min)", p.view("a").Error)
}

// TestTaskThatJoinsOthersWithoutWorkerGivesUpToo: the lack of a worker for its class was noted before the task began to
// wait.
func TestTaskThatJoinsOthersWithoutWorkerGivesUpToo(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: two\ntasks:\n  - {id: a, labels: {disk: ssd}, timeout: 10m, command: [x]}\n  - {id: b, command: [x]}\n  - {id: c, needs: [b], labels: {disk: ssd}, timeout: 5m, command: [x]}\n", dagrun.Config{})
	p.workers(worker("w", 4))
	p.ended("b", run.Ending{})
	p.pass(5 * time.Minute)
	assert.Contains(t, p.view("c").Error, "waited 5 min")
	assert.Equal(t, "running", p.state("a"))
}

func TestJobTypesAreLookedUpOnce(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: two\ntasks:\n  - {id: a, job_type: j}\n  - {id: b, job_type: j}\n  - {id: c, job_type: k}\n", dagrun.Config{})
	assert.Equal(t, []string{"j", "k"}, p.lookups)
	p.do(p.g.SetJobType(p.now, "k", dagrun.JobType{}, "job type k is not applied"))
	assert.Equal(t, "job type k is not applied", p.view("c").Error)
	p.do(p.g.SetJobType(p.now, "j", dagrun.JobType{Handler: "h", Policy: jobtype.Policy{RetryLimit: 1}}, ""))
	p.workers(worker("w", 4))
	assert.Len(t, p.running, 1, "the handler's own cap is one")
	p.ended("a", run.Ending{Failure: contract.FailureFailed, Message: "once"})
	p.pass(5 * time.Second)
	p.ended("b", run.Ending{})
	assert.Contains(t, p.running, "a", "the job type's retries hold")
}

// A job type that runs a DAG has no handler that a task could use.
func TestTaskOfAJobTypeThatRunsADAG(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: one\ntasks:\n  - {id: a, job_type: nightly}\n", dagrun.Config{})
	p.do(p.g.SetJobType(p.now, "nightly", dagrun.JobType{}, ""))
	assert.Equal(t, "job type nightly runs a DAG, and no handler: name its file with dag instead of job_type", p.view("a").Error)
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: two\ntasks:\n  - {id: a, approval: {prompt: \"ok?\", timeout: 1h}}\n  - {id: b, approval: {}}\n  - {id: c, noop: true}\n", dagrun.Config{})
	require.ErrorContains(t, p.g.Check(dagrun.Request{Kind: dagrun.Approve, Tasks: []string{"c"}}), `task "c" does not wait for an approval: it is running`)
	require.ErrorContains(t, p.g.Check(dagrun.Request{Kind: dagrun.Reject, Tasks: []string{"z"}}), `there is no task "z" in this run`)
	decisions, _, err := p.g.Operate(p.now, dagrun.Request{Kind: dagrun.Reject, Tasks: []string{"b"}, By: "ada", Note: "no"})
	require.NoError(t, err)
	p.do(decisions)
	assert.Equal(t, "rejected by ada: no", p.view("b").Error)
	p.pass(time.Hour)
	assert.Equal(t, "not approved within 1 h", p.view("a").Error)
}

func TestResultsAreKeptWhileWanted(t *testing.T) {
	t.Parallel()
	text := `
version: 1
name: results
tasks:
  - {id: give, command: [x]}
  - {id: use, needs: [give], command: [y, "{{.Needs.give.Result.v}}"]}
  - {id: also, needs: [give], command: [z, "{{.Needs.give.Result.v}}"]}
`
	p := start(t, text, dagrun.Config{})
	p.workers(worker("w", 4))
	p.ended("give", run.Ending{Result: json.RawMessage(`{"v": "{{hi}}"}`)})
	assert.Equal(t, []string{"y", "{{hi}}"}, p.running["use"].Job.Command)
	assert.NotEmpty(t, p.view("give").Result)
	p.ended("use", run.Ending{})
	p.ended("also", run.Ending{Failure: contract.FailurePermanent, Message: "x"})
	assert.Equal(t, dag.OutcomeFailed, p.end.Outcome)
	assert.NotEmpty(t, p.view("give").Result, "a failed task may be retried")

	state, plan, err := prepare(t, p, dag.ResumeRequest{Run: "r1"})
	require.NoError(t, err)
	assert.Equal(t, []string{"also"}, plan.Executed)
	second, err := restoreGraph(p.g.Run().Graph(), state, dagrun.Config{}, p.now)
	require.NoError(t, err)
	q := newPlay(t, second, p.now)
	q.do(second.Start(q.now))
	q.workers(worker("w", 4))
	assert.Equal(t, []string{"z", "{{hi}}"}, q.running["also"].Job.Command)
	q.ended("also", run.Ending{})
	assert.Empty(t, q.view("give").Result)
	assert.Equal(t, "r1", q.view("give").From)

	_, plan, err = prepare(t, q, dag.ResumeRequest{Run: "r2", From: []string{"use"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"give", "use"}, plan.Executed, "what it refers to is gone and is made again")
}

func prepare(t *testing.T, p *play, req dag.ResumeRequest) ([]byte, dagrun.Plan, error) {
	t.Helper()
	final, err := p.g.Snapshot()
	require.NoError(t, err)
	prior, err := dagrun.Read(p.g.Run().Graph(), final)
	require.NoError(t, err)
	return dagrun.Prepare(prior, p.g.Run().Graph(), req)
}

func TestResultTooLarge(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: r\ntasks:\n  - {id: a, command: [x]}\n  - {id: b, needs: [a], command: [\"{{.Needs.a.Result.v}}\"]}\n", dagrun.Config{})
	p.workers(worker("w", 4))
	p.ended("a", run.Ending{Result: fmt.Appendf(nil, `{"v": "%02048d"}`, 1)})
	assert.Contains(t, p.view("a").Error, "its result has 2057 bytes and 1 tasks refer to it, the limit is 2048")
	assert.Equal(t, "upstream_failed", p.state("b"))
}

func TestDeadlineHoldAndCancel(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: d\ndeadline: 1h\nhold_on_failure: 10m\ntasks:\n  - {id: a, command: [x]}\n  - {id: b, needs: [a], noop: true}\n", dagrun.Config{Deadline: 30 * time.Minute})
	p.workers(worker("w", 4))
	p.ended("a", run.Ending{Failure: contract.FailureFailed, Message: "x"})
	require.True(t, p.g.Run().Held())
	decisions, changed, err := p.g.Operate(p.now, dagrun.Request{Kind: dagrun.Retry})
	require.NoError(t, err)
	p.do(decisions)
	assert.Equal(t, []string{"a", "b"}, changed)
	p.pass(30 * time.Minute)
	assert.True(t, p.asked["a"])
	p.ended("a", run.Ending{Failure: contract.FailureCanceled})
	assert.Equal(t, dag.OutcomeFailed, p.end.Outcome)
	assert.Equal(t, "the deadline of 30 min is over", p.end.Reason)
}

func TestCanceledAttemptThatDoesNotEndIsForgotten(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, heartbeat_timeout: 20s, command: [x]}\n", dagrun.Config{})
	p.workers(worker("w", 4))
	p.do(p.g.CancelRun(p.now, "enough"))
	require.True(t, p.asked["a"])
	p.pass(45 * time.Second)
	assert.Empty(t, p.running)
	assert.Equal(t, dag.OutcomeCanceled, p.end.Outcome)
	assert.Contains(t, p.view("a").Error, "did not stop and may still run")
}

func TestBadStates(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x]}\n", dagrun.Config{})
	data, err := p.g.Snapshot()
	require.NoError(t, err)
	for n := range data {
		_, err := restoreGraph(p.g.Run().Graph(), data[:n], dagrun.Config{}, epoch)
		require.Error(t, err, "cut at %d", n)
	}
}
