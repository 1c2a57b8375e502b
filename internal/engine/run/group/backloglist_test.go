package group

import (
	"slices"
	"testing"

	"github.com/roundsman/roundsman/internal/engine/run/source"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func (s *script) query(in contract.JobsQueryInput) contract.JobsQueryResult {
	s.t.Helper()
	result, err := s.g.Jobs(in, s.now)
	require.NoError(s.t, err)
	return result
}

// TestTheListsOfAnOpenGroupAreWhole, before and after most of its jobs have ended at once.
func TestTheListsOfAnOpenGroupAreWhole(t *testing.T) {
	t.Parallel()
	s := paged(t, wide(jobtype.Policy{}), 4, 0, nodes(node("a", 2)), pageOf("p", 100, contract.JobClass{}))
	running := len(started(s.all))
	check := func(rest string) {
		assert.Equal(t, 100, s.query(contract.JobsQueryInput{}).Total)
		assert.Equal(t, 100-running, s.query(contract.JobsQueryInput{States: []string{rest}}).Total)
		seen := map[string]int{}
		for offset := 0; offset < 100; offset += 30 {
			for _, j := range s.query(contract.JobsQueryInput{Offset: offset, Limit: 30}).Jobs {
				seen[j.JobID]++
			}
		}
		assert.Len(t, seen, 100)
		one := s.query(contract.JobsQueryInput{JobID: contract.JobID(57)})
		require.Len(t, one.Jobs, 1)
		assert.Equal(t, []string{contract.JobID(57), rest}, []string{one.Jobs[0].JobID, one.Jobs[0].State})
		assert.Equal(t, running, s.query(contract.JobsQueryInput{Worker: "a"}).Total)
		assert.Zero(t, s.query(contract.JobsQueryInput{Worker: "b"}).Total)
		states := s.query(contract.JobsQueryInput{Brief: true})
		assert.Equal(t, 100, states.Total)
		require.Len(t, states.Map, 100)
		assert.Equal(t, slices.Index(contract.JobStates(), rest), int(states.Map[56]))
	}
	check(contract.JobPending)
	s.step(source.Canceled{Reason: "enough"})
	require.NotEqual(t, PhaseEnded, s.g.Phase(), "what runs has not ended")
	check(contract.JobCanceled)
}

// TestJobsOfPagesHaveNoNumbersBeforeTheGroupBegins: those that the group holds come first.
func TestJobsOfPagesHaveNoNumbersBeforeTheGroupBegins(t *testing.T) {
	t.Parallel()
	s := detecting(t)
	s.send(Page{Proposals: make([]jobtype.Proposal, 3)})
	s.send(Page{Paged: pageOf("p", 10, contract.JobClass{})})
	result := s.query(contract.JobsQueryInput{})
	assert.Len(t, result.Jobs, 3)
	assert.Empty(t, result.Proposals)
	assert.Len(t, s.query(contract.JobsQueryInput{Brief: true}).Map, 3)
}
