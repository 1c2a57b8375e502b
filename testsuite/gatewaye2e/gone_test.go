package gatewaye2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestAPingAfterTheEndIsUnknownAtOnce: a ping after unregister or DELETE is refused, at the same gateway and at
// another one that has just served the worker.
func TestAPingAfterTheEndIsUnknownAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first, second := sites.FreeAddress(t), sites.FreeAddress(t)
	s.serve(first, "server", "--http", first)
	s.serve(second, "server", "--http", second)
	one := &remote{t: t, base: "http://" + first + "/api/v1", id: "one"}
	a := one.register(nil)
	require.Equal(t, http.StatusOK, a.status, "%v", a.body)
	assert.Equal(t, "5s", a.text("reconnect_delay"))
	other := &remote{t: t, base: "http://" + second + "/api/v1", id: "one", token: one.token}
	ping := func(r *remote, body object) int { return r.post("/workers/one/ping", body).status }
	assert.Equal(t, http.StatusOK, ping(other, object{}))
	assert.Equal(t, http.StatusOK, ping(one, object{}), "executing and detecting are optional")

	require.Equal(t, http.StatusOK, one.post("/workers/one/unregister", nil).status)
	assert.Equal(t, http.StatusNotFound, ping(other, object{}))
	assert.Equal(t, http.StatusNotFound, ping(one, object{}))
	assert.Equal(t, http.StatusOK, ping(other, object{"executing": 1}), "its jobs may end")
	assert.Equal(t, http.StatusOK, ping(other, object{"stopping": true}))

	assert.Equal(t, http.StatusForbidden, one.register(nil).status, "a token does not register")
	one.token = ""
	require.Equal(t, http.StatusOK, one.register(nil).status)
	other.token = one.token
	assert.Equal(t, http.StatusOK, ping(one, object{}))
	assert.Equal(t, http.StatusOK, ping(other, object{}))
	s.Await("one", "OFFLINE", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOffline })
	removed, err := one.send(t.Context(), http.MethodDelete, "/workers/one", nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusForbidden, removed.status, "a worker's token is for its work alone")
	operator := &remote{t: t, base: one.base}
	removed, err = operator.send(t.Context(), http.MethodDelete, "/workers/one", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, removed.status, "%v", removed.body)
	assert.Equal(t, http.StatusNotFound, ping(other, object{"executing": 1}))
	assert.Equal(t, http.StatusNotFound, ping(one, object{"executing": 1}))
}

// TestOptionalFields: a registration without optional fields works, and so does one without detection.
func TestOptionalFields(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.serve(address, "server", "--http", address)
	short := &remote{t: t, base: "http://" + address + "/api/v1", id: "short"}
	a := short.register(object{"max_detect": 0, "capabilities": []object{{"handler": "tidy"}}})
	require.Equal(t, http.StatusOK, a.status, "%v", a.body)
	assert.InDelta(t, 0, a.body["max_detect"], 0)
	known, err := s.Client.Workers().Get(t.Context(), "short")
	require.NoError(t, err)
	assert.Equal(t, 0, known.Registration.MaxDetect)
	assert.True(t, known.Registration.Capabilities[0].Detect && known.Registration.Capabilities[0].Execute, "both, unless one is named")
	assert.Equal(t, http.StatusOK, short.post("/workers/short/ping", object{}).status)

	require.Equal(t, http.StatusOK, short.post("/workers/short/unregister", nil).status)
	s.Await("short", "OFFLINE", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOffline })
	operator := &remote{t: t, base: short.base}
	removed, err := operator.send(t.Context(), http.MethodDelete, "/workers/short", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, removed.status)
	for query, count := range map[string]int{"": 0, "?deleted=true": 1, "?findDeleted=true": 1, "?deleted=false&findDeleted=true": 1} {
		listed, _ := operator.get("/workers" + query).body["workers"].([]any)
		assert.Len(t, listed, count, query)
	}
}
