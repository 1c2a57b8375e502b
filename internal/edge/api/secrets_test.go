package api

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// The hash covers all settings, so it would confirm a guessed secret.
func TestHiddenSecretsHaveNoHash(t *testing.T) {
	t.Parallel()
	known := jobtypes.JobType{Spec: contract.JobTypeSpec{Name: "scrub", Hash: "v1-abc", Execute: json.RawMessage(`{"env":{"PIN":"1234"}}`)}}
	known.Name = "scrub"
	for role, sees := range map[string]bool{access.Viewer: false, access.Operator: true, access.Admin: true} {
		call := &Call{Caller: Caller{Rights: access.Policy{}.Grant(role, nil, nil)}}
		shown := withoutSecrets(call, known)
		assert.Equal(t, sees, shown.Spec.Hash == known.Spec.Hash, role)
		assert.Equal(t, sees, string(shown.Spec.Execute) == string(known.Spec.Execute), role)
	}
	assert.Equal(t, "v1-abc", known.Spec.Hash, "the list is shared by all callers")
}
