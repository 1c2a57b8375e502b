package dispatch

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

// TestAnOutcomeOfAForgottenAttemptIsIgnored: the group was reset, and the worker
// delivers how an attempt of the same number ended that the group does not know.
func TestAnOutcomeOfAForgottenAttemptIsIgnored(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, jobtype.Proposal{})
	var fence int64
	for _, decision := range s.last {
		if start, ok := decision.(StartJob); ok {
			fence = start.Fence
		}
	}
	require.NotZero(t, fence)
	s.step(OutcomeDelivered{Job: 1, Attempt: 1, Fence: fence - 1, Ending: Ending{Failure: FailureCanceled}})
	assert.Zero(t, s.g.Counts().Canceled)
	s.step(OutcomeDelivered{Job: 1, Attempt: 1, Fence: fence})
	assert.Equal(t, 1, s.g.Counts().Completed)
}

// TestRenewedFencesReplaceTheOthers, but not those of an ask that is over.
func TestRenewedFencesReplaceTheOthers(t *testing.T) {
	t.Parallel()
	fenceOf := func(renewed Renewed) int64 {
		s := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, jobtype.Proposal{}, jobtype.Proposal{})
		j := s.g.jobs[1]
		j.Door, j.Ask, j.Fence, j.FenceEnd = doorOpen, 2, 100, 200
		s.step(renewed)
		return s.g.nextFence(j)
	}
	assert.EqualValues(t, 500, fenceOf(Renewed{Job: 2, Ask: 2, Fence: 500, Fences: 10}))
	assert.EqualValues(t, 101, fenceOf(Renewed{Job: 2, Ask: 1, Fence: 500, Fences: 10}))
}
