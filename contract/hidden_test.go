package contract_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

func TestEnvIsHiddenAndFoundAgain(t *testing.T) {
	t.Parallel()
	execute := json.RawMessage(`{"command":["env"],"env":{"TOKEN":"s3cret","ZONE":"a"},"steps":[{"env":{"KEY":"k3y"}}],"n":12345678901234567890}`)
	spec := contract.JobTypeSpec{Execute: execute, Detect: json.RawMessage(`{"env":{"A":"1"}}`)}
	hidden := spec.WithoutSecrets()
	assert.JSONEq(t, `{"command":["env"],"env":{"TOKEN":"(hidden)","ZONE":"(hidden)"},"steps":[{"env":{"KEY":"(hidden)"}}],"n":12345678901234567890}`, string(hidden.Execute))
	assert.JSONEq(t, `{"env":{"A":"(hidden)"}}`, string(hidden.Detect))
	assert.JSONEq(t, string(execute), string(spec.Execute), "the original stays")
	found, missing := hidden.WithSecretsOf(spec)
	assert.Empty(t, missing)
	assert.JSONEq(t, string(execute), string(found.Execute))
	_, missing = hidden.WithSecretsOf(contract.JobTypeSpec{Detect: spec.Detect})
	assert.ElementsMatch(t, []string{"execute.env.TOKEN", "execute.env.ZONE", "execute.env.KEY"}, missing)
	assert.Equal(t, []string{"detect.env.A", "execute.env.KEY", "execute.env.TOKEN", "execute.env.ZONE"}, hidden.HiddenPaths())
	assert.Empty(t, spec.HiddenPaths(), "real values are not hidden")
}

// A block with both hidden and real values keeps the real ones.
func TestOnlyHiddenValuesAreRevealed(t *testing.T) {
	t.Parallel()
	mixed := contract.JobTypeSpec{Execute: json.RawMessage(`{"env":{"TOKEN":"(hidden)","ZONE":"b"}}`)}
	found, missing := mixed.WithSecretsOf(contract.JobTypeSpec{Execute: json.RawMessage(`{"env":{"TOKEN":"s3cret","ZONE":"a"}}`)})
	assert.Empty(t, missing)
	assert.JSONEq(t, `{"env":{"TOKEN":"s3cret","ZONE":"b"}}`, string(found.Execute))
}

// Plans are printed in logs of CI.
func TestTextsOfChangesHideSecrets(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "execute.env.TOKEN: (hidden) → (hidden)", contract.FieldChange{Path: "execute.env.TOKEN", Before: `"0ld"`, After: `"n3w"`}.String())
	assert.Equal(t, "execute.env.TOKEN: (none) → (hidden)", contract.FieldChange{Path: "execute.env.TOKEN", After: `"n3w"`}.String())
}

// The audit log keeps both sides of a change.
func TestSidesHideSecrets(t *testing.T) {
	t.Parallel()
	for _, change := range []contract.FieldChange{
		{Path: "execute.env.TOKEN", Before: `"0ld"`, After: `"n3w"`},
		{Path: "execute.steps", Before: `[{"env":{"TOKEN":"0ld"}}]`, After: `[{"env":{"TOKEN":"n3w"}}]`},
	} {
		before, after := change.Sides()
		assert.NotContains(t, before, "0ld")
		assert.NotContains(t, after, "n3w")
		assert.Contains(t, after, contract.Hidden)
	}
	before, _ := contract.FieldChange{Path: "execute.env.TOKEN", After: `"n3w"`}.Sides()
	assert.Equal(t, "execute.env.TOKEN: (none)", before, "an absent value is no secret")
	before, _ = contract.FieldChange{Path: "policy.env_like", Before: "3"}.Sides()
	assert.Equal(t, "policy.env_like: 3", before)
}

func TestBothSidesOfASecretAreHidden(t *testing.T) {
	t.Parallel()
	hidden := contract.FieldChange{Path: "execute.env.PIN", Before: `"1234"`, After: `"9999"`}.WithoutSecrets()
	assert.Equal(t, contract.FieldChange{Path: "execute.env.PIN", Before: contract.Hidden, After: contract.Hidden}, hidden)
	plain := contract.FieldChange{Path: "params.path", Before: `"/a"`, After: `"/b"`}
	assert.Equal(t, plain, plain.WithoutSecrets())
}
