package gatewaye2e

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/edge/api/auth"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestKeysAndSessionsOfSeveralProcesses: a new key works at once. A revoked key or ended session is refused by
// every process, also by those without keys.
func TestKeysAndSessionsOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.key("boss", "--role", "admin")
	far := g.key("far", "--role", "worker", "--worker", "far-1")
	worker := g.worker("far", "far-1")
	g.newKeys()
	g.sessions()
	// A gateway whose callers need no key.
	require.NoError(t, os.WriteFile(g.File(), []byte(sites.Scaled+"job_types: {}\n"), 0o600))
	open := sites.FreeAddress(t)
	g.gateway(open)
	elsewhere := *worker
	elsewhere.base = "http://" + open + "/api/v1"
	ping := object{"executing": 0, "detecting": 0}
	require.Equal(t, http.StatusOK, elsewhere.post("/workers/far-1/ping", ping).status)
	require.Equal(t, http.StatusOK, g.as("boss").post("/keys/"+far+"/revoke", nil).status)
	testsuite.WaitFor(t, 30*time.Second, "a gateway without keys refuses the worker of the revoked key", func() bool {
		return elsewhere.post("/workers/far-1/ping", ping).status == http.StatusUnauthorized
	})
}

func (g *guarded) newKeys() {
	g.T.Helper()
	for i := range 5 {
		require.Equal(g.T, http.StatusOK, g.as("boss").get("/me").status, "the keys are in memory")
		made := g.as("boss").post("/keys", object{"name": fmt.Sprint("new-", i), "role": "viewer"})
		require.Equal(g.T, http.StatusCreated, made.status, "%v", made.body)
		fresh := g.as("boss")
		fresh.token = made.text("secret")
		assert.Equal(g.T, http.StatusOK, fresh.get("/me").status, "the new key works at once")
	}
}

// sessions end by a log-out, or by an administrator's request for a person, in every process.
func (g *guarded) sessions() {
	g.T.Helper()
	other := sites.FreeAddress(g.T)
	g.serve(other, "server", "--http", other)
	sealer, err := auth.NewSessions([]byte(g.secrets[0]), time.Now)
	require.NoError(g.T, err)
	eve := func() string {
		cookie, err := sealer.Close(auth.Person{Name: "eve@example.org", Groups: []string{"sre"}})
		require.NoError(g.T, err)
		return cookie
	}
	with := func(method, address, path, cookie string) int {
		request, err := http.NewRequestWithContext(g.T.Context(), method, "http://"+address+path, http.NoBody)
		require.NoError(g.T, err)
		request.AddCookie(&http.Cookie{Name: auth.CookieName, Value: cookie})
		response, err := clients().Do(request)
		require.NoError(g.T, err)
		require.NoError(g.T, response.Body.Close())
		return response.StatusCode
	}
	first, second := eve(), eve()
	for _, cookie := range []string{first, second} {
		require.Equal(g.T, http.StatusOK, with(http.MethodGet, other, "/api/v1/me", cookie))
	}
	require.Equal(g.T, http.StatusNoContent, with(http.MethodPost, g.address, "/auth/logout", first))
	assert.Equal(g.T, http.StatusUnauthorized, with(http.MethodGet, g.address, "/api/v1/me", first), "at once where the log-out was")
	gone := func(cookie string) {
		testsuite.WaitFor(g.T, 30*time.Second, "the session is over in the other process", func() bool {
			return with(http.MethodGet, other, "/api/v1/me", cookie) == http.StatusUnauthorized
		})
	}
	gone(first)
	assert.Equal(g.T, http.StatusOK, with(http.MethodGet, other, "/api/v1/me", second), "another session of the person continues")
	a := g.as("boss").post("/sessions/end", object{"name": "eve@example.org"})
	require.Equal(g.T, http.StatusOK, a.status, "%v", a.body)
	gone(second)
	assert.Equal(g.T, http.StatusOK, with(http.MethodGet, other, "/api/v1/me", eve()), "a new log-in")
}
