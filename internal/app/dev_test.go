package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// TestDevAmongOthersDeletesNothingAndTakesOverNothing: on a server that it did not start.
func TestDevAmongOthersDeletesNothingAndTakesOverNothing(t *testing.T) {
	t.Parallel()
	created := jobtypes.Change{JobType: "new", Action: jobtypes.ActionCreate}
	updated := jobtypes.Change{JobType: "own", Action: jobtypes.ActionUpdate, Fields: []contract.FieldChange{{Path: "owner", Before: "dev", After: "ops"}}}
	lacking := jobtypes.Change{JobType: "old", Action: jobtypes.ActionDelete}
	theirs := jobtypes.Change{JobType: "theirs", Action: jobtypes.ActionUpdate, Fields: []contract.FieldChange{{Path: "lane"}, {Path: "owner", After: "dev"}}}
	var told []string
	tell := func(line string) { told = append(told, line) }

	kept, err := amongOthers(jobtypes.Plan{Changes: []jobtypes.Change{created, lacking, updated}}, "dev", tell)
	require.NoError(t, err)
	assert.Equal(t, []jobtypes.Change{created, updated}, kept.Changes)
	require.Len(t, told, 1)
	assert.Contains(t, told[0], "job type old is kept")
	assert.Contains(t, told[0], "`owner: dev`")

	_, err = amongOthers(jobtypes.Plan{Changes: []jobtypes.Change{created, theirs}}, "dev", tell)
	require.ErrorContains(t, err, "job type theirs is on this server already, without an owner")
	assert.NotContains(t, err.Error(), "new")

	damaged := jobtypes.Change{JobType: "damaged", Action: jobtypes.ActionDrift, Fields: []contract.FieldChange{{Path: jobtypes.PathInput, Before: "unreadable", Drift: true}}}
	_, err = amongOthers(jobtypes.Plan{Changes: []jobtypes.Change{created, damaged}}, "dev", tell)
	require.ErrorContains(t, err, "job type damaged is on this server already, and its settings cannot be read")
	require.ErrorContains(t, err, "or repair it with `roundsman apply`")
}
