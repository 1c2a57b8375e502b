package admission_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

// TestPastGrantsOutliveARun: past holders of a lane are returned by the run that released it and
// by the next run.
func TestPastGrantsOutliveARun(t *testing.T) {
	t.Parallel()
	var seen []contract.PastGrants
	look := func(b *model) {
		answer, err := b.QueryWorkflow(contract.QueryPastGrants, contract.PastGrantsFilter{Lane: "default"})
		require.NoError(t, err)
		var past contract.PastGrants
		require.NoError(t, answer.Get(&past))
		seen = append(seen, past)
	}
	first := newModel(t)
	first.at(time.Second, wants("a", laneItem()))
	release := from("a")
	release.ReleaseAll = true
	first.at(time.Minute, release)
	first.RegisterDelayedCallback(func() { look(first) }, 2*time.Minute)
	in, state := first.play(contract.AdmissionInput{})

	next := newModel(t)
	next.SetStartTime(first.Now())
	next.RegisterDelayedCallback(func() { look(next) }, time.Second)
	next.play(in, state...)
	require.Len(t, seen, 2)
	require.Len(t, seen[0].Grants, 1)
	assert.Equal(t, "a", seen[0].Grants[0].WorkflowID)
	assert.Equal(t, seen[0], seen[1])
}
