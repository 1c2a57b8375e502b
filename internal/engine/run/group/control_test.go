package group

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

func TestAnExpiredJobIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{RetryLimit: 3}, []Worker{node("a", 1)}, jobtype.Proposal{}, jobtype.Proposal{DedupeKey: "b"}, jobtype.Proposal{})
	require.Equal(t, []string{"1@a"}, started(s.last))

	commands := s.step(source.CancelItem{Force: true, Item: 1, Reason: "the disk is gone"})
	assert.Len(t, decided(commands, run.Cancel), 1)
	assert.Len(t, decided(commands, run.Forget), 1)
	assert.Equal(t, []string{"2@a"}, started(commands), "its place is free at once")
	assert.Equal(t, string(StateStale), s.job(1).State)
	assert.Equal(t, "the disk is gone; its handler on a may still run", s.job(1).Error)

	s.step(run.Delivered{Item: 1, Attempt: 1})
	assert.Equal(t, string(StateStale), s.job(1).State, "what comes late is not heard")
	s.step(source.CancelItem{Force: true, Item: 1, Reason: "again"})
	assert.Equal(t, 1, s.g.Counts().Stale, "twice is once")

	assert.Empty(t, s.step(source.CancelItem{Force: true, Item: 3}))
	assert.Equal(t, string(StateExpired), s.job(3).State, "it had not begun")
	assert.Equal(t, "expired by an operator", s.job(3).Error)

	s.step(source.CancelItem{Force: true, Key: "b"})
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeFailed, outcome)
	counts := s.g.Counts()
	assert.Equal(t, []int{2, 1}, []int{counts.Stale, counts.Expired})
}

// TestAJobEndsAsWasRequestedBeforeItsClaim: the first request counts.
func TestAJobEndsAsWasRequestedBeforeItsClaim(t *testing.T) {
	t.Parallel()
	keys := []jobtype.Proposal{{DedupeKey: "a"}, {DedupeKey: "b"}, {DedupeKey: "c"}}
	s := playWith(t, Config{Policy: wide(jobtype.Policy{}), Claims: true}, nodes(node("a", 8)), keys...)
	s.step(source.CancelItem{Item: 1, Force: true})
	s.step(source.CancelItem{Item: 2})
	s.step(source.CancelItem{Item: 2, Force: true})
	s.step(KeysClaimed{Fence: 1, Fences: 100})
	assert.Equal(t, string(StateExpired), s.job(1).State)
	assert.Equal(t, "expired by an operator", s.job(1).Error)
	assert.Equal(t, string(StateCanceled), s.job(2).State)
	s.end(3, FailureNone)
	assert.Equal(t, contract.GroupCounts{Detected: 3, Accepted: 3, Completed: 1, Canceled: 1, Expired: 1}, s.g.Counts())
}

// TestARetryBudgetPerKeyNeedsTheKeys: those of jobs in pages are hashes.
func TestARetryBudgetPerKeyNeedsTheKeys(t *testing.T) {
	t.Parallel()
	perKey, perType := &contract.RetryBudget{PerKey: &contract.RetryBudgetRule{}}, &contract.RetryBudget{PerType: &contract.RetryBudgetRule{}}
	policy := jobtype.Policy{}.WithDefaults()
	paged, _ := keyed(t, 4, 4)
	require.ErrorContains(t, paged.g.CheckPolicy(policy, perKey), "retry_budget.per_key: it would not count the jobs of this group that lie in pages")
	require.NoError(t, paged.g.CheckPolicy(policy, perType))
	require.NoError(t, paged.g.CheckPolicy(policy, nil))
	small := playWith(t, Config{Policy: wide(jobtype.Policy{})}, nodes(node("a", 8)), jobtype.Proposal{DedupeKey: "a"})
	require.NoError(t, small.g.CheckPolicy(policy, perKey))
	for name, cfg := range map[string]Config{"submitted": {Submitted: true}, "one for each worker": {EachWorker: true}, "batches": {BatchSize: 2}} {
		require.NoError(t, New(cfg, epoch).CheckPolicy(policy, perKey), "%s: it has no pages", name)
	}
	require.Error(t, New(Config{}, epoch).CheckPolicy(policy, perKey), "its detection is to come")
}

func TestAnExpiredJobWhoseAttemptTimedOutIsNotPlacedAgain(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	s.end(1, FailureWorkerLost)
	require.Equal(t, string(StateRecalling), s.job(1).State)
	s.step(source.CancelItem{Force: true, Item: 1, Reason: "enough"})
	assert.Equal(t, string(StateStale), s.job(1).State)
	assert.Empty(t, started(s.wait(time.Minute)))
}
