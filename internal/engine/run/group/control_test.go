package group

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

func TestAnExpiredJobWhoseAttemptTimedOutIsNotPlacedAgain(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	s.end(1, FailureWorkerLost)
	require.Equal(t, string(StateRecalling), s.job(1).State)
	s.step(source.CancelItem{Force: true, Item: 1, Reason: "enough"})
	assert.Equal(t, string(StateStale), s.job(1).State)
	assert.Empty(t, started(s.wait(time.Minute)))
}
