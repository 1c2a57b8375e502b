package group

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/group/chunks"
	"github.com/roundsman/roundsman/jobtype"
)

// TestABacklogOfAnotherGroupHidesNoFailure: the jobs that the group did not leave to the other one have failed.
func TestABacklogOfAnotherGroupHidesNoFailure(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Policy: wide(jobtype.Policy{MaxRuntime: seconds(1_000_000)}), Window: 4, Claims: true}, node("a", 8))
	s.begin()
	require.NoError(t, s.g.CheckPage(Page{Attempt: 1, Proposals: make([]jobtype.Proposal, 1)}))
	s.g.TakePage(s.now, Page{Attempt: 1, Proposals: make([]jobtype.Proposal, 1)})
	s.g.TakePage(s.now, Page{Attempt: 1, Seq: 1, Paged: pageOf("p", 9, contract.JobClass{Keyed: true})})
	only[chunks.ClaimBacklog](t, s.step(DetectionEnded{Attempt: 1, Pages: 2, Emitted: 10}))
	s.answered(chunks.BacklogClaimed{By: "group/other"})
	s.end(1, FailurePermanent)
	outcome, why := s.outcome()
	assert.Equal(t, OutcomeFailed, outcome, why)
}

// TestKeysOfOthersHideNoFailure: as many jobs have failed as others have.
func TestKeysOfOthersHideNoFailure(t *testing.T) {
	t.Parallel()
	for _, held := range []bool{false, true} {
		s := playWith(t, Config{Policy: wide(jobtype.Policy{}), Claims: true}, nodes(node("a", 8)), jobtype.Proposal{DedupeKey: "k"}, jobtype.Proposal{DedupeKey: "l"})
		event := KeysClaimed{Fence: 1, Fences: 100, Active: []Active{{Job: 2, Key: "l", By: "group/other"}}}
		if held {
			event = KeysClaimed{Fence: 1, Fences: 100, HeldBack: []HeldBack{{Job: 2, Key: "l", Code: contract.HoldMarkedDone}}}
		}
		s.step(event)
		s.end(1, FailurePermanent)
		outcome, why := s.outcome()
		assert.Equal(t, OutcomeFailed, outcome, why)
	}
}

// TestAWaitForTheBacklogIsExplained: the group has no open job, and admission has no room.
func TestAWaitForTheBacklogIsExplained(t *testing.T) {
	t.Parallel()
	s, commands := keyed(t, 9, 4)
	only[chunks.ClaimBacklog](t, commands)
	s.answered(chunks.Refused{Code: contract.RefusedFull, Reason: "it is full"})
	waits := s.g.Waits(s.now)
	require.Len(t, waits, 1)
	assert.Equal(t, []any{string(contract.CodeClaims), "it is full", 9}, []any{waits[0].Code, waits[0].Detail, waits[0].Items})
	require.NotNil(t, s.g.MainWait(s.now))
	assert.Equal(t, "it is full", s.g.MainWait(s.now).Detail)
	assert.Equal(t, "it is full", s.job(9).Wait.Detail)
	only[chunks.ClaimBacklog](t, s.wait(5*time.Second))
}
