package tally_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
	"github.com/roundsman/roundsman/internal/engine/run/group/tally"
)

func TestAnAttemptThatIsDroppedLeavesNoCounts(t *testing.T) {
	t.Parallel()
	var kept, dropped tally.Found
	sums := tally.New()
	sums.Find(&kept, tally.Found{Accepted: 2, Invalid: 1})
	before := sums.Counts
	sums.Find(&dropped, tally.Found{Accepted: 3, Duplicates: 1})
	sums.Find(&dropped, tally.Found{Surplus: 4, Invalid: 5})
	sums.Drop(dropped)
	assert.Equal(t, before, sums.Counts)
	assert.Equal(t, tally.Found{Accepted: 3, Duplicates: 1, Surplus: 4, Invalid: 5}, dropped)
}

// TestEveryStateOfAnEndIsCounted: the counts of ended jobs add up.
func TestEveryStateOfAnEndIsCounted(t *testing.T) {
	t.Parallel()
	sums := tally.New()
	for _, state := range []openjobs.State{
		openjobs.StateCompleted, openjobs.StateWarning, openjobs.StateFailed, openjobs.StateCanceled, openjobs.StateStale, openjobs.StateExpired, openjobs.StateNotStarted,
	} {
		before := sums.Counts.Ended()
		sums.Ended(state, 2)
		assert.Equal(t, before+2, sums.Counts.Ended(), state)
	}
	sums.Ended(openjobs.StateRunning, 1)
	assert.Equal(t, 14, sums.Counts.Ended())
}

func TestOnlyHoldsOfTheRetryBudgetKeepAGroupFromCompletion(t *testing.T) {
	t.Parallel()
	sums := tally.New()
	sums.Hold(tally.HeldBack{Key: "done", Code: contract.HoldMarkedDone}, 1)
	sums.Hold(tally.HeldBack{Key: "bad", Code: contract.HoldRetryBudget}, 1)
	assert.Equal(t, 1, sums.Counts.HeldBack)
	assert.Contains(t, sums.Failing("scrub").String(), "bad")
	assert.Len(t, sums.Holds("scrub"), 2)
}

// TestNamesAreBounded: a state does not grow with the keys that others hold.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	sums := tally.New()
	for range 1000 {
		sums.Active("key", "other")
		sums.Hold(tally.HeldBack{Key: "key"}, 0)
	}
	data, err := json.Marshal(sums)
	require.NoError(t, err)
	assert.Less(t, len(data), 20_000)
}
