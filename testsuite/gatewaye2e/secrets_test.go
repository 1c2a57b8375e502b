package gatewaye2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/pack"
)

// withToken is a job type whose program gets a secret in its environment.
func withToken(token string) string {
	return `  tokens:
    handler: command
    lane: free
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: ["true"], env: {TOKEN: "` + token + `"}}
    execute: {command: ["true"], env: {TOKEN: "` + token + `"}}
`
}

// TestSecretsOfJobTypes: callers without `view configuration` get no values of env, and the audit log has
// neither the old nor the new values.
func TestSecretsOfJobTypes(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.key("boss", "--role", "admin")
	g.key("viewer")
	g.key("operator", "--role", "operator")
	g.apply(withToken("0ld-s3cret"))
	g.apply(withToken("n3w-s3cret"))
	for _, path := range []string{"/job-types", "/job-types/tokens"} {
		for name, sees := range map[string]bool{"viewer": false, "operator": true, "boss": true} {
			status, body := g.raw(name, "/api/v1"+path, nil)
			require.Equal(t, http.StatusOK, status, body)
			assert.Equal(t, sees, strings.Contains(body, "n3w-s3cret"), "%s of %s", path, name)
			assert.Contains(t, body, "TOKEN", "the name is no secret")
		}
	}
	for _, topic := range []string{"job-types", "/job-types/tokens"} {
		assert.NotContains(t, g.firstEvent("viewer", topic), "n3w-s3cret", topic)
		assert.Contains(t, g.firstEvent("boss", topic), "n3w-s3cret", topic)
	}
	g.auditWithoutSecrets()
	// A restore works although the log has no secrets.
	require.Equal(t, http.StatusOK, g.as("boss").post("/job-types/tokens/restore", object{}).status)
	_, body := g.raw("boss", "/api/v1/job-types/tokens", nil)
	assert.Equal(t, 2, strings.Count(body, "n3w-s3cret"), "the values stay as they are: %s", body)
	g.apply("  other:\n    handler: command\n    lane: free\n    schedule: {every: 365d, first_run: scheduled}\n    detect: {command: [\"true\"]}\n    execute: {command: [\"true\"]}\n")
	a := g.as("boss").post("/job-types/tokens/restore", object{})
	assert.Equal(t, http.StatusUnprocessableEntity, a.status, "%v", a.body)
	assert.Contains(t, a.text("detail"), "execute.env.TOKEN")
	g.auditWithoutSecrets()
}

// auditWithoutSecrets reads the stored log, with the former settings unpacked.
func (g *guarded) auditWithoutSecrets() {
	g.T.Helper()
	found, err := g.Client.Audit().Read(g.T.Context(), contract.AuditFilter{JobType: "tokens", Former: true})
	require.NoError(g.T, err)
	require.NotEmpty(g.T, found.Entries)
	packed := 0
	for _, entry := range found.Entries {
		text := entry.Before + entry.After + entry.Detail
		if len(entry.Former) > 0 {
			packed++
			former, err := pack.Open(entry.Former, 1<<20)
			require.NoError(g.T, err)
			text += string(former)
		}
		assert.NotContains(g.T, text, "s3cret", "%s", entry.Action)
	}
	assert.Positive(g.T, packed)
	_, body := g.raw("viewer", "/api/v1/audit", nil)
	assert.NotContains(g.T, body, "s3cret")
	assert.Contains(g.T, body, "execute.env.TOKEN: "+contract.Hidden)
}
