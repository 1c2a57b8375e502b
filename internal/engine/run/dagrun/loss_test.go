package dagrun_test

import (
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

func offline(id string) contract.WorkerView {
	w := worker(id, 1)
	w.State, w.Fresh = contract.WorkerOffline, false
	return w
}

const patient = one + "{id: a, timeout: 2h, heartbeat_timeout: 1h, command: [x]}\n"

func TestOfflineWorkerLosesWhatRuns(t *testing.T) {
	t.Parallel()
	p := start(t, patient, dagrun.Config{})
	p.workers(worker("w1", 1))
	require.Equal(t, "w1", p.running["a"].Worker)
	leaving := offline("w1")
	leaving.Leaving = true
	p.workers(leaving, worker("w2", 1))
	assert.Empty(t, p.lost, "one that said goodbye still ends its work")
	p.workers(worker("w2", 1))
	assert.Empty(t, p.lost, "an unknown worker is no news")

	p.workers(offline("w1"), worker("w2", 1))
	require.Len(t, p.lost, 1)
	assert.Equal(t, "worker w1 is OFFLINE", p.lost[0].Reason)
	assert.Equal(t, "w1 i1", p.lost[0].Worker+" "+p.lost[0].Instance)
	p.workers(offline("w1"), worker("w2", 1))
	assert.Len(t, p.lost, 1, "once is enough")
	late := p.running["a"]
	p.ended("a", run.Ending{Failure: contract.FailureWorkerLost, Message: p.lost[0].Reason})
	require.Contains(t, p.running, "a", "no recall grace")
	assert.Equal(t, "w2", p.running["a"].Worker)
	p.do(p.endedOf(late.Item, late.Attempt, run.Ending{}))
	p.delivered("a", late.Attempt, run.Ending{Worker: "w1", Instance: "i1"})
	assert.Equal(t, "running", p.state("a"), "the late result of the lost attempt is ignored")
	p.ended("a", run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
	assert.Equal(t, 2, p.view("a").Attempts)
}

func TestOfflineNodeFailsWhatIsPinnedToIt(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, node: w1, timeout: 2h, heartbeat_timeout: 1h, command: [x], resources: {db: 1}}\n", dagrun.Config{})
	p.workers(worker("w1", 1), worker("w2", 1))
	p.grant(0)
	p.workers(offline("w1"), worker("w2", 1))
	p.ended("a", run.Ending{Failure: contract.FailureWorkerLost, Message: p.lost[0].Reason})
	assert.Equal(t, "failed", p.state("a"))
	assert.Equal(t, "it is pinned to worker w1, which is OFFLINE", p.view("a").Error)
	assert.Empty(t, p.held, "its resources are free")
	assert.Equal(t, dag.OutcomeFailed, p.end.Outcome)
}

func TestOfflineWorkerAndOnWorkerLossFail(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossFail}.WithDefaults()
	p := start(t, one+"{id: a, job_type: j}\n", dagrun.Config{JobTypes: map[string]dagrun.JobType{"j": {Handler: "h", Policy: policy}}})
	p.workers(worker("w1", 1), worker("w2", 1))
	p.workers(offline("w1"), worker("w2", 1))
	p.ended("a", run.Ending{Failure: contract.FailureWorkerLost, Message: p.lost[0].Reason})
	assert.Equal(t, "worker w1 is OFFLINE (on_worker_loss is fail)", p.view("a").Error)
}

// A task's own on_worker_loss replaces that of its job type, and is kept.
func TestOnWorkerLossOfATask(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossFail}.WithDefaults()
	p := start(t, one+"{id: a, job_type: j, on_worker_loss: hold}\n", dagrun.Config{JobTypes: map[string]dagrun.JobType{"j": {Handler: "h", Policy: policy}}})
	p.workers(worker("w1", 1), worker("w2", 1))
	require.Equal(t, "w1", p.running["a"].Worker)
	p.workers(offline("w1"), worker("w2", 1))
	p.ended("a", run.Ending{Failure: contract.FailureWorkerLost, Message: p.lost[0].Reason})
	assert.Equal(t, "running", p.state("a"))
	assert.NotContains(t, p.running, "a", "it is held")
	assert.Equal(t, contract.CodeUnreachable, p.wait("a").Code)
	back := worker("w1", 1)
	back.Instance = "i2"
	p.workers(back, worker("w2", 1))
	require.Contains(t, p.running, "a")
	assert.Equal(t, "w1", p.running["a"].Worker)
}

func TestCanceledTaskOfAnOfflineWorkerIsCanceled(t *testing.T) {
	t.Parallel()
	p := start(t, patient, dagrun.Config{})
	p.workers(worker("w1", 1))
	p.do(p.g.CancelRun(p.now, "enough"))
	p.workers(offline("w1"), worker("w2", 1))
	require.Len(t, p.lost, 1)
	p.ended("a", run.Ending{Failure: contract.FailureWorkerLost, Message: p.lost[0].Reason})
	assert.Equal(t, "canceled", p.state("a"))
	assert.Equal(t, dag.OutcomeCanceled, p.end.Outcome)
}

func TestFencedIncarnationIsIgnored(t *testing.T) {
	t.Parallel()
	p := start(t, patient, dagrun.Config{})
	p.workers(worker("w1", 1))
	successor := worker("w1", 1)
	successor.Instance, successor.Fenced = "i2", []string{"i1"}
	busy := successor
	busy.MaxExecute = 0
	p.workers(busy)
	require.Len(t, p.lost, 1)
	assert.Equal(t, "worker w1 was replaced by another process", p.lost[0].Reason)
	p.ended("a", run.Ending{Failure: contract.FailureWorkerLost, Message: p.lost[0].Reason})
	p.delivered("a", 1, run.Ending{Worker: "w1", Instance: "i1"})
	assert.Equal(t, "running", p.state("a"), "the fenced process is not heard")
	p.workers(successor)
	require.Contains(t, p.running, "a")
	assert.Equal(t, "i2", p.running["a"].Instance)
}

// A worker that is given up while its outcome is waited for is not waited for.
func TestRecallEndsWithTheWorker(t *testing.T) {
	t.Parallel()
	p := start(t, patient, dagrun.Config{})
	p.workers(worker("w1", 1), worker("w2", 1))
	p.ended("a", run.Ending{Failure: contract.FailureWorkerLost, Message: "no heartbeat"})
	assert.NotContains(t, p.running, "a")
	p.workers(offline("w1"), worker("w2", 1))
	require.Contains(t, p.running, "a")
	assert.Equal(t, "w2", p.running["a"].Worker)
	p.pass(time.Hour)
	assert.Contains(t, p.running, "a", "the grace of the first attempt is forgotten")
}

// A killed server may have recorded the end of an attempt without a confirmation: the worker then reports it again.
func TestAnEndingToldTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	for _, first := range []contract.FailureKind{contract.FailureFailed, contract.FailureTimeout, contract.FailureDraining} {
		p := start(t, one+"{id: a, command: [x], retries: {limit: 1, backoff: 10s}}\n", dagrun.Config{})
		p.workers(worker("w1", 1))
		p.ended("a", run.Ending{Failure: first, Message: "m"})
		for range 3 {
			if _, again := p.running["a"]; !again {
				p.delivered("a", 1, run.Ending{Failure: first, Message: "m"})
			}
		}
		require.Equal(t, "running", p.state("a"), first)
		p.pass(10 * time.Second)
		p.workers(worker("w1", 1), worker("w2", 1))
		require.Contains(t, p.running, "a", first)
		require.Equal(t, 2, p.running["a"].Attempt)
	}
}

// The end of a canceled attempt has no effect on a task that an operator has brought back since.
func TestLateOutcomeOfACanceledAttemptIsNotTheNextOnes(t *testing.T) {
	t.Parallel()
	for _, late := range []contract.FailureKind{contract.FailureNone, contract.FailureCanceled, contract.FailureFailed} {
		p := start(t, "version: 1\nname: late\nhold_on_failure: 1h\ntasks:\n  - {id: a, node: w1, heartbeat_timeout: 20s, command: [x]}\n  - {id: b, command: [x]}\n", dagrun.Config{})
		p.workers(worker("w1", 1), worker("w2", 1))
		p.cancel("a")
		p.pass(time.Minute)
		require.Equal(t, "canceled", p.state("a"), "its handler does not stop")
		away := worker("w1", 1)
		away.Fresh = false
		p.workers(away, worker("w2", 1))
		p.operate(dagrun.Request{Kind: dagrun.Rerun, Tasks: []string{"a"}})
		require.NotContains(t, p.running, "a", "it waits for its worker")
		p.delivered("a", 1, run.Ending{Failure: late, Message: "late"})
		assert.Equal(t, "running", p.state("a"), late)
		p.workers(worker("w1", 1), worker("w2", 1))
		require.Contains(t, p.running, "a", late)
	}
}
