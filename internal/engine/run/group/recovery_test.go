package group

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/carry"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

func TestRecoveryFailEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]jobtype.Policy{
		"alone": {}, "before hold": {OnWorkerLoss: jobtype.WorkerLossHold}, "before fail": {OnWorkerLoss: jobtype.WorkerLossFail},
	} {
		policy.Recovery, policy.GlobalExecutionConcurrency, policy.PerWorkerExecutionConcurrency = jobtype.RecoveryFail, 2, 2
		s := play(t, policy, nodes(node("a", 1), node("b", 2)), jobtype.Proposal{}, jobtype.Proposal{}, jobtype.Proposal{})
		require.Len(t, started(s.all), 2, name)
		lost, other := 1, 2
		if v, _ := s.g.engine.View(1); v.Worker != "a" {
			lost, other = 2, 1
		}
		s.end(lost, FailureWorkerLost)
		commands := s.wait(run.Grace)
		assert.Empty(t, started(commands), "nothing takes the place of what was lost: %s", name)
		canceled := decided(commands, run.Cancel)
		require.Len(t, canceled, 1, name)
		assert.Equal(t, other, canceled[0].Item, name)
		s.roll()
		s.endWith(other, run.Ending{Failure: FailureCanceled, Checkpoint: []byte("7")})
		outcome, reason := s.outcome()
		assert.Equal(t, OutcomeFailed, outcome, name)
		assert.Regexp(t, `^WORKER_LOST: job \d was lost with worker a: because worker_lost \(recovery is fail\)$`, reason)
		counts := s.g.Counts()
		assert.Equal(t, []int{2, 1, 0, 0}, []int{counts.Failed, counts.Canceled, counts.NotStarted, counts.Replacements}, name)
	}
}

// A kept checkpoint of a canceled job would be continued by the next group.
func TestRecoveryFailKeepsNoCheckpoint(t *testing.T) {
	t.Parallel()
	s := playWith(t, Config{
		Policy:  wide(jobtype.Policy{Recovery: jobtype.RecoveryFail}),
		Carried: []carry.Checkpoint{{Key: "k1", Checkpoint: []byte("3"), At: epoch}, {Key: "k2", Checkpoint: []byte("4"), At: epoch}},
	}, nodes(node("a", 1), node("b", 1)), jobtype.Proposal{DedupeKey: "k1"}, jobtype.Proposal{DedupeKey: "k2"})
	s.end(1, FailureWorkerLost)
	s.wait(run.Grace)
	s.end(2, FailureCanceled)
	require.Equal(t, PhaseEnded, s.g.Phase())
	assert.Empty(t, s.g.Carried())
}

// A job that an operator cancels is not resubmitted anyway.
func TestRecoveryFailIgnoresACanceledJob(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{Recovery: jobtype.RecoveryFail}), nodes(node("a", 1), node("b", 1)), jobtype.Proposal{}, jobtype.Proposal{})
	s.step(source.CancelItem{Item: 1})
	s.end(1, FailureWorkerLost)
	s.wait(run.Grace)
	s.end(2, FailureNone)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
}

// The reason of a DAG that lost a worker names its own task.
func TestRecoveryFailOfADAG(t *testing.T) {
	t.Parallel()
	s := playWith(t, Config{Policy: wide(jobtype.Policy{Recovery: jobtype.RecoveryFail, RetryLimit: 5}), DAG: "x"}, nodes(node("a", 2)))
	s.endWith(1, run.Ending{Failure: contract.FailureWorkerLost, Message: "DAG x failed: WORKER_LOST", Gone: true})
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeFailed, outcome)
	assert.Equal(t, "WORKER_LOST: job 1: DAG x failed: WORKER_LOST (recovery is fail)", reason)
}
