package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

// A server that was killed may have taken the end of an attempt without saying so:
// its worker then tells it once more.
func TestAnEndingToldTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	for _, first := range []Failure{FailureFailed, FailureTimeout, FailureStale, FailureAtCapacity, FailureDraining} {
		s := play(t, jobtype.Policy{RetryLimit: 1}, []Worker{node("a", 1)}, jobtype.Proposal{})
		s.end(1, first)
		for range 3 {
			require.Empty(t, started(s.step(OutcomeDelivered{Job: 1, Attempt: 1, Ending: Ending{Failure: first, Message: "again"}})))
		}
		assert.LessOrEqual(t, s.g.Counts().Retries+s.g.Counts().Replacements, 1, first)
		require.Equal(t, []string{"1@a"}, started(s.wait(time.Minute)), first)
		s.step(OutcomeDelivered{Job: 1, Attempt: 2})
		outcome, _ := s.outcome()
		assert.Equal(t, OutcomeCompleted, outcome, first)
	}
}

func offline(id string) Worker {
	return Worker{ID: id, Instance: "i1", State: "OFFLINE", Offline: true, Gone: true, Execute: true, Detect: true, Slots: 1}
}

func TestOfflineWorkerLosesWhatRuns(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{HeartbeatTimeout: jobtype.Duration(time.Hour)}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	require.Equal(t, []string{"1@a"}, started(s.last))

	leaving := offline("a")
	leaving.Gone = false
	s.step(WorkersChanged{Workers: []Worker{leaving, node("b", 1)}})
	assert.Empty(t, started(s.last), "one that said goodbye still ends its work")

	s.step(WorkersChanged{Workers: []Worker{node("b", 1)}})
	assert.Empty(t, started(s.last), "an unknown worker is no news")

	s.step(WorkersChanged{Workers: []Worker{offline("a"), node("b", 1)}})
	assert.Equal(t, []Decision{LoseJob{Job: 1, Attempt: 1, Reason: "worker a is OFFLINE"}}, s.last)
	assert.Empty(t, s.step(WorkersChanged{Workers: []Worker{offline("a"), node("b", 1)}}), "once is enough")
	assert.Equal(t, []string{"1@b"}, started(s.end(1, FailureWorkerLost)), "no recall grace")
	assert.Zero(t, s.g.Counts().Retries)

	s.step(JobEnded{Job: 1, Attempt: 1})
	assert.Zero(t, s.g.Counts().Completed, "the late result of the lost attempt is ignored")
	s.step(JobEnded{Job: 1, Attempt: 2})
	assert.Equal(t, 1, s.g.Counts().Completed)
}

func TestOfflineWorkerAndOnWorkerLoss(t *testing.T) {
	t.Parallel()
	fail := play(t, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossFail}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	fail.step(WorkersChanged{Workers: []Worker{offline("a"), node("b", 1)}})
	fail.end(1, FailureWorkerLost)
	assert.Equal(t, 1, fail.g.Counts().Failed)

	hold := play(t, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	hold.step(WorkersChanged{Workers: []Worker{offline("a"), node("b", 1)}})
	hold.end(1, FailureWorkerLost)
	assert.Empty(t, started(hold.last), "b must not get it")
	assert.Equal(t, []string{"1@a"}, started(hold.step(WorkersChanged{Workers: []Worker{node("a", 1), node("b", 1)}})))
}

// A policy that wants both is refused; a group that has one all the same must not
// keep a job that nobody can free.
func TestNothingIsHeldOnASharedQueue(t *testing.T) {
	t.Parallel()
	a := node("a", 1)
	a.Shared = true
	s := play(t, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold, Routing: jobtype.RoutingShared}, []Worker{a}, jobtype.Proposal{})
	s.end(1, FailureWorkerLost)
	s.now = s.now.Add(RecallGrace)
	assert.Equal(t, []string{"1@"}, started(s.step(Tick{})))

	held := play(t, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, []Worker{a}, jobtype.Proposal{})
	gone := offline("a")
	gone.Shared = true
	held.step(WorkersChanged{Workers: []Worker{gone}})
	held.end(1, FailureWorkerLost)
	b := node("b", 1)
	b.Shared = true
	held.step(WorkersChanged{Workers: []Worker{gone, b}})
	require.Empty(t, started(held.last))
	policy := held.g.Policy()
	policy.Routing, policy.OnWorkerLoss = jobtype.RoutingShared, jobtype.WorkerLossReplace
	assert.Equal(t, []string{"1@"}, started(held.step(PolicySet{Policy: policy})), "what was held before goes on")
}

func TestFencedIncarnationIsIgnored(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, jobtype.Proposal{})
	successor := node("a", 1)
	successor.Instance, successor.Fenced = "i2", []string{"i1"}
	busy := successor
	busy.Slots = 0
	s.step(WorkersChanged{Workers: []Worker{busy}})
	assert.Contains(t, s.last, LoseJob{Job: 1, Attempt: 1, Reason: "worker a was replaced by another process"})
	s.end(1, FailureWorkerLost)
	s.step(OutcomeDelivered{Job: 1, Attempt: 1, Ending: Ending{Worker: "a", Instance: "i1"}})
	assert.Zero(t, s.g.Counts().Completed, "the fenced process is not heard")
	assert.Equal(t, []string{"1@a"}, started(s.step(WorkersChanged{Workers: []Worker{successor}})))
}

// A worker that is given up while its outcome is waited for is not waited for.
func TestRecallEndsWithTheWorker(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	s.end(1, FailureWorkerLost)
	assert.Empty(t, started(s.last))
	assert.Equal(t, []string{"1@b"}, started(s.step(WorkersChanged{Workers: []Worker{offline("a"), node("b", 1)}})))
}

func TestDetectionOnAGoneWorkerIsRepeatedElsewhere(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1)})
	require.Equal(t, "a", s.g.detect.Worker)
	s.step(WorkersChanged{Workers: []Worker{offline("a"), node("b", 1)}})
	require.NotEmpty(t, s.last)
	assert.Equal(t, CancelDetection{Attempt: 1}, s.last[0])
	assert.IsType(t, StartDetection{}, s.last[len(s.last)-1])
	assert.Equal(t, "b", s.g.detect.Worker)
}

// The registry was rebuilt, and knows a worker again that it did not know for a
// moment: what the group runs there still counts.
func TestLimitsHoldWhenTheRegistryIsRebuilt(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{GlobalExecutionConcurrency: 10, PerWorkerExecutionConcurrency: 2}, []Worker{node("a", 4)}, make([]jobtype.Proposal, 6)...)
	require.Len(t, started(s.last), 2)
	s.step(WorkersChanged{})
	s.end(1, FailureNone)
	assert.Equal(t, []string{"3@a"}, started(s.step(WorkersChanged{Workers: []Worker{node("a", 4)}})), "one still runs there")
	data, err := s.g.Snapshot()
	require.NoError(t, err)
	s.step(WorkersChanged{})
	s.g, err = Restore(data)
	require.NoError(t, err)
	assert.Empty(t, started(s.step(WorkersChanged{Workers: []Worker{node("a", 4)}})))
}
