package gatewaye2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite/sites"
)

const handlersApplied = `  alpha:
    handler: tidy
    lane: free
    schedule: {every: 365d, first_run: scheduled}
  shell:
    handler: command
    lane: free
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: ["true"]}
    execute: {command: ["true"]}
`

// TestAKeyHasOnlyItsHandlersExecuted: an administrator's key for handler tidy is refused by each way to add,
// start or operate another handler.
func TestAKeyHasOnlyItsHandlersExecuted(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.key("boss", "--role", "admin")
	g.key("tidier", "--role", "admin", "--handlers", "tidy")
	g.key("node", "--role", "worker", "--handlers", "tidy", "--worker", "far-1")
	g.apply(handlersApplied)
	file := filepath.Join(g.Dir, "asks.yaml")
	require.NoError(t, os.WriteFile(file, []byte("version: 1\nname: asks\ntasks:\n- id: ask\n  approval: {prompt: continue}\n"), 0o600))
	g.Command("start", "--as", "x", file)

	head := sites.Scaled + "lanes: {free: {exclusive: false}, default: {}}\njob_types:\n"
	tidy := "    handler: tidy\n    lane: free\n    schedule: {every: 365d, first_run: scheduled}\n"
	command := "    handler: command\n    lane: free\n    schedule: {every: 365d, first_run: scheduled}\n    detect: {command: [id]}\n    execute: {command: [id]}\n"
	who, boss := g.as("tidier"), g.as("boss")
	send := func(method, path string, body any) answer {
		t.Helper()
		a, err := who.send(t.Context(), method, path, body)
		require.NoError(t, err)
		return a
	}
	refused := func(what string, a answer) {
		t.Helper()
		assert.Equal(t, http.StatusForbidden, a.status, "%s: %v", what, a.body)
		assert.Equal(t, "ACCESS_DENIED", a.body["code"], what)
	}
	for what, written := range map[string]string{
		"a new job type": head + "  alpha:\n" + tidy + "  shell:\n" + command + "  more:\n" + command,
		"another handler for a job type of its own":   head + "  alpha:\n" + command,
		"its handler for a job type of another one's": head + "  shell:\n" + tidy,
	} {
		body := object{"document": written}
		refused("detect "+what, send(http.MethodPost, "/plan/detect?allow_unregistered=true", body))
		planned := send(http.MethodPost, "/plan?allow_unregistered=true", body)
		require.Equal(t, http.StatusOK, planned.status, "%v", planned.body)
		hash := planned.text("hash")
		matching := *who
		matching.header = http.Header{"If-Match": {hash}}
		applying, err := matching.send(t.Context(), http.MethodPost, "/apply?allow_unregistered=true", body)
		require.NoError(t, err)
		refused("apply "+what, applying)
	}
	dag := "version: 1\nname: own\ntasks:\n- {id: a, command: [id]}\n"
	typed := "version: 1\nname: own\ntasks:\n- {id: a, job_type: shell}\n"
	now := time.Now().UTC()
	for path, body := range map[string]object{
		"/job-types/shell/run":           {},
		"/job-types/shell/backfill":      {"from": now.Add(-time.Hour), "to": now},
		"/job-types/shell/detect":        {},
		"/job-types/shell/pause":         {},
		"/job-types/shell/restore":       {},
		"/job-types/alpha/restore":       {},
		"/job-types/shell/re-enable":     {},
		"/job-types/shell/submissions":   {"proposals": []object{{"summary": "x"}}},
		"/job-types/alpha/submissions":   {"proposals": []object{{"summary": "x", "dag": dag}}},
		"/dag-runs":                      {"document": dag},
		"/dag-runs?dry_run=true":         {"document": typed},
		"/runs/asks~x/tasks":             {"text": "[{id: b, command: [id]}]"},
		"/runs/asks~x/retry":             {"document": dag},
		"/runs/asks~x/resume":            {},
		"/runs/asks~x/items/ask/approve": {},
		"/keys":                          {"name": "more", "role": "admin"},
	} {
		refused(path, send(http.MethodPost, path, body))
	}
	refused("set", send(http.MethodPatch, "/job-types/shell/policy", object{"retry_limit": 3}))
	bulk := send(http.MethodPost, "/bulk", object{"operations": []object{{"method": "POST", "path": "/job-types/shell/run", "body": object{}}}})
	require.Equal(t, http.StatusOK, bulk.status, "%v", bulk.body)
	assert.EqualValues(t, 1, bulk.body["failed"], "%v", bulk.body)

	worker := g.as("node")
	worker.id = "far-1"
	refused("register", worker.register(object{"capabilities": []object{{"handler": "tidy", "execute": true}, {"handler": "command", "execute": true}}}))
	assert.Equal(t, http.StatusOK, worker.register(nil).status)
	for _, more := range []object{nil, {"capabilities": []object{{"handler": "command", "execute": true}}}, {"take_over": true, "previous": worker.token}} {
		refused("register with the token", worker.register(more))
	}
	known, err := g.Client.Workers().Get(t.Context(), "far-1")
	require.NoError(t, err)
	assert.Len(t, known.Registration.Capabilities, 1)
	assert.Equal(t, "tidy", known.Registration.Capabilities[0].Handler)

	assert.Equal(t, http.StatusOK, send(http.MethodPatch, "/job-types/alpha/policy", object{"retry_limit": 3}).status, "its own")
	assert.Equal(t, http.StatusAccepted, send(http.MethodPost, "/job-types/alpha/run", object{}).status, "its own")
	a, err := boss.send(t.Context(), http.MethodPost, "/job-types/shell/pause", object{})
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, a.status, "the other key has no handlers: %v", a.body)
}
