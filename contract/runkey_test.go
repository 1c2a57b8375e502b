package contract_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
)

func TestRunKeysOfURLs(t *testing.T) {
	t.Parallel()
	for id, key := range map[string]string{
		"group/scrub-2026-11-20T09:00:00Z":           "scrub-2026-11-20T09:00:00Z",
		"group/scrub-adhoc-ticket.4711":              "scrub-adhoc-ticket.4711",
		"dag/nightly/x":                              "nightly~x",
		"dag/nightly/x/load.7":                       "nightly~x~load.7",
		"group/scrub-2026-11-20T09:00:00Z/job-00001": "group~scrub-2026-11-20T09:00:00Z~job-00001",
		"dag/group/x":                                "dag~group~x",
		"dag/dag/x":                                  "dag~dag~x",
	} {
		assert.Equal(t, key, contract.RunKey(id))
		assert.Equal(t, id, contract.WorkflowOfRunKey(key))
	}
	assert.Equal(t, "dag/nightly/x", contract.WorkflowOfRunKey("dag~nightly~x"))
	assert.Equal(t, "group/scrub-1", contract.WorkflowOfRunKey("group~scrub-1"))
}

func TestRunKeysAreTheInverseOfEachOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom([]string{"group", "dag", "group-dag"}), rapid.StringMatching(`[a-z0-9][a-z0-9_-]{0,10}`))
		part := rapid.OneOf(name, rapid.StringMatching(`[A-Za-z0-9._:\[\]-]{1,12}`))
		id := "group/" + name.Draw(t, "job type") + "-" + part.Draw(t, "run")
		if rapid.Bool().Draw(t, "dag") {
			id = contract.DAGWorkflowID(name.Draw(t, "dag"), part.Draw(t, "run"))
		}
		for _, task := range rapid.SliceOfN(part, 0, 2).Draw(t, "tasks") {
			id = contract.SubDAGWorkflowID(id, task)
		}
		key := contract.RunKey(id)
		assert.Equal(t, id, contract.WorkflowOfRunKey(key))
		assert.NotContains(t, key, "/")
	})
}
