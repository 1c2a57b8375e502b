package authoring

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/starter/rerun"
)

// TestAPlanIsNamedByItsChanges: an apply with the hash makes the changes that the caller has read, and no others. A note changes
// when a run starts, which is no reason to refuse the apply.
func TestAPlanIsNamedByItsChanges(t *testing.T) {
	t.Parallel()
	fresh := func() planned {
		return planned{
			owner: "storage", specs: []contract.JobTypeSpec{{Name: "scrub", Handler: "scrub"}}, enabled: map[string]bool{"scrub": true},
			plan: jobtypes.Plan{Changes: []jobtypes.Change{
				{JobType: "scrub", Action: jobtypes.ActionUpdate, Fields: []contract.FieldChange{{Path: "handler", Before: "old", After: "scrub"}}},
				{JobType: "vacuum", Action: jobtypes.ActionDelete},
			}},
		}
	}
	hash := func(p planned) string {
		named, err := p.hash()
		require.NoError(t, err)
		return named
	}
	named := hash(fresh())
	assert.Equal(t, named, hash(fresh()))
	noted := fresh()
	noted.plan.Changes[0].Note, noted.warnings = "a run is open", nil
	assert.Equal(t, named, hash(noted))
	for name, change := range map[string]func(*planned){
		"another owner":                  func(p *planned) { p.owner = "backup" },
		"another setting":                func(p *planned) { p.specs[0].Handler = "other" },
		"enabled or not":                 func(p *planned) { p.enabled["scrub"] = false },
		"another action":                 func(p *planned) { p.plan.Changes[0].Action = jobtypes.ActionUnchanged },
		"another value before":           func(p *planned) { p.plan.Changes[0].Fields[0].Before = "newer" },
		"a deletion less":                func(p *planned) { p.plan.Changes = p.plan.Changes[:1] },
		"a deletion of another job type": func(p *planned) { p.plan.Changes[1].JobType = "balance" },
	} {
		other := fresh()
		change(&other)
		assert.NotEqual(t, named, hash(other), name)
	}
}

func TestABatchIsOneJob(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{}, jobsOf(rerun.Plan{}), "a list, not null")
	assert.Equal(t, []string{"a", "b", ""}, jobsOf(rerun.Plan{Again: []rerun.Again{{Job: "a"}, {Job: "a"}, {Job: "b"}, {Job: ""}}}))
}
