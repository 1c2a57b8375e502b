package chunks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
)

// TestEachClaimOnTheBacklogHasItsNumber: a late detection may bring jobs with keys after the group has given the backlog
// back, within the same turn.
func TestEachClaimOnTheBacklogHasItsNumber(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 5, 12, 0, 0, 0, time.UTC)
	jobs := openjobs.New(2, nil)
	c := New(&jobs, Claimer{})
	found := func() {
		jobs.Backlog.Add(contract.ProposalPage{
			Page: "p", Count: 10, Classes: []contract.JobClass{{Keyed: true}}, Runs: []contract.ClassRun{{Count: 10}},
		}, 10, now)
	}
	found()
	assert.Equal(t, ClaimBacklog{Turn: 3, Claim: 1}, c.More(3, now))
	c.Apply(Refused{Code: contract.RefusedFull}, 3, now)
	now = now.Add(firstPause)
	assert.Equal(t, ClaimBacklog{Turn: 3, Claim: 1}, c.More(3, now), "a repeat")
	c.Apply(BacklogClaimed{}, 3, now)
	jobs.Backlog.Drop(true)
	assert.Equal(t, LeaveBacklog{Turn: 3, Claim: 1}, c.More(3, now))
	found()
	assert.Equal(t, ClaimBacklog{Turn: 3, Claim: 2}, c.More(3, now))
	assert.Contains(t, c.Stop(3).Do, any(LeaveBacklog{Turn: 3, Claim: 2}))
	_, claim := c.Leave()
	assert.Equal(t, 2, claim)
	assert.Equal(t, ClaimBacklog{Turn: 4, Claim: 1}, c.More(4, now))
}
