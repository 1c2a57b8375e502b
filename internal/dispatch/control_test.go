package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

func (s *script) job(n int) JobView {
	s.t.Helper()
	views, _ := s.g.Jobs(Filter{Job: n, Limit: 1}, s.now)
	require.Len(s.t, views, 1)
	return views[0]
}

func TestAnExpiredJobIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{RetryLimit: 3}, []Worker{node("a", 1)}, jobtype.Proposal{}, jobtype.Proposal{DedupeKey: "b"}, jobtype.Proposal{})
	require.Equal(t, []string{"1@a"}, started(s.last))

	decided := s.step(JobExpired{Job: 1, Reason: "the disk is gone"})
	require.GreaterOrEqual(t, len(decided), 2)
	assert.Equal(t, CancelJob{Job: 1, Attempt: 1, Reason: "the disk is gone"}, decided[0])
	assert.Equal(t, ForgetJob{Job: 1, Attempt: 1}, decided[1])
	assert.Equal(t, []string{"2@a"}, started(decided), "its place is free at once")
	assert.Equal(t, StateStale, s.job(1).State)
	assert.Equal(t, "the disk is gone; its handler on a may still run", s.job(1).Error)

	s.step(OutcomeDelivered{Job: 1, Attempt: 1})
	assert.Equal(t, StateStale, s.job(1).State, "what comes late is not heard")
	s.step(JobExpired{Job: 1, Reason: "again"})
	assert.Equal(t, 1, s.g.Counts().Stale, "twice is once")

	assert.Empty(t, s.step(JobExpired{Job: 3}))
	assert.Equal(t, StateExpired, s.job(3).State, "it had not begun")
	assert.Equal(t, "expired by an operator", s.job(3).Error)

	s.step(JobExpired{DedupeKey: "b"})
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeFailed, outcome)
	counts := s.g.Counts()
	assert.Equal(t, []int{2, 1}, []int{counts.Stale, counts.Expired})
}

func TestAnExpiredJobWhoseAttemptTimedOutIsNotPlacedAgain(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	s.end(1, FailureWorkerLost)
	require.Equal(t, StateRecalling, s.job(1).State)
	s.step(JobExpired{Job: 1, Reason: "enough"})
	assert.Equal(t, StateStale, s.job(1).State)
	assert.Empty(t, started(s.wait(time.Minute)))
}

func TestAWishWhileKeysAreClaimedIsKept(t *testing.T) {
	t.Parallel()
	for name, wish := range map[string]Event{
		"cancel": JobCanceled{DedupeKey: "y", Reason: "not this one"},
		"expire": JobExpired{DedupeKey: "y", Reason: "not this one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keptWhileClaiming(t, wish)
		})
	}
}

func keptWhileClaiming(t *testing.T, wish Event) {
	t.Helper()
	g := batchOf(10, true)
	g.Next(epoch, WorkersChanged{Workers: []Worker{node("a", 4)}})
	g.Next(epoch, Submitted{Proposals: items("x", "y", "z"), BatchKeys: []string{"k", "k", "k"}})
	require.Equal(t, PhaseClaiming, g.Phase())
	g.Next(epoch, wish)

	data, err := g.Snapshot()
	require.NoError(t, err)
	g, err = Restore(data)
	require.NoError(t, err)
	g.Next(epoch, KeysClaimed{Fence: 1, Fences: 10})
	require.Len(t, g.jobs, 2, "the canceled one is in no batch")
	assert.Equal(t, []string{"x", "z"}, g.jobs[0].keys())
	assert.Equal(t, []State{StateRunning, StateCanceled}, []State{g.jobs[0].State, g.jobs[1].State})
	assert.Equal(t, "not this one", g.jobs[1].Error)
}
