package gatewaye2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

func (r *remote) get(path string) answer {
	r.t.Helper()
	a, err := r.send(r.t.Context(), http.MethodGet, path, nil)
	require.NoError(r.t, err)
	return a
}

// TestSeed tests eleven endpoints below /workers that other worker managers have.
func TestSeed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.serve(address, "server", "--http", address)
	s.apply(jobType("tidy", "tidy", ""))
	api := &remote{t: t, base: "http://" + address, id: "seed"}
	operator := &remote{t: t, base: api.base}
	a := api.register(nil)
	require.Equal(t, http.StatusOK, a.status, "%v", a.body)
	ping := object{"executing": 0, "detecting": 0}
	assert.Equal(t, http.StatusOK, api.post("/workers/seed/ping", ping).status)
	s.Await("seed", "ONLINE", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOnline })
	count := func(path, list string) int {
		a := operator.get(path)
		require.Equal(t, http.StatusOK, a.status, "%s: %v", path, a.body)
		found, _ := a.body[list].([]any)
		return len(found)
	}
	assert.Equal(t, 1, count("/workers", "workers"))
	assert.Equal(t, 1, count("/workers/online", "workers"))
	assert.Equal(t, 1, count("/workers/seed/function-blocks", "function_blocks"))
	assert.Equal(t, http.StatusOK, operator.get("/workers/seed").status)
	assert.Equal(t, http.StatusNotFound, operator.get("/workers/nobody/jobs").status)

	go api.pinging(t.Context(), time.Second)
	s.Begin("tidy")
	work := &remote{t: t, base: api.base + "/api/v1", id: api.id, token: api.token}
	work.detect("a")
	job := api.poll("jobs")
	assert.Equal(t, http.StatusForbidden, api.get("/workers").status, "a worker's token is for its work alone")
	assert.Equal(t, 1, count("/workers/seed/jobs?status=polled", "jobs"))
	assert.Equal(t, 0, count("/workers/seed/jobs?status=zombie", "jobs"))
	assert.Equal(t, http.StatusOK, work.post("/leases/"+job.text("lease")+"/complete", object{"summary": "done"}).status)

	silent := &remote{t: t, base: api.base, id: "silent"}
	require.Equal(t, http.StatusOK, silent.register(nil).status)
	assert.Equal(t, http.StatusOK, silent.post("/workers/silent/ping", ping).status)
	gone := s.Await("silent", "OFFLINE after 10 s", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOffline })
	assert.True(t, slices.ContainsFunc(gone.Transitions, func(change contract.WorkerTransition) bool { return change.To == contract.WorkerUnreachable }),
		"UNREACHABLE after 5 s of silence: %+v", gone.Transitions)
	assert.Equal(t, 0, len(fmt.Sprint(operator.post("/workers/cleanup", object{}).body["removed"]))-len("[]"), "not offline for long")
	removed := operator.post("/workers/cleanup-offline", nil)
	assert.Equal(t, []any{"silent"}, removed.body["removed"])
	testsuite.WaitFor(t, time.Minute, "404 tells the removed worker to register again", func() bool {
		return silent.post("/workers/silent/ping", ping).status == http.StatusNotFound
	})
	silent.token = ""
	require.Equal(t, http.StatusOK, silent.register(nil).status)
	require.Equal(t, http.StatusOK, silent.post("/workers/silent/unregister", nil).status)
	assert.Equal(t, 2, count("/workers?findDeleted=true", "workers"))
	s.Await("silent", "OFFLINE at once", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOffline })
	deleted, err := operator.send(t.Context(), http.MethodDelete, "/workers/silent", nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, deleted.status, strings.TrimSpace(fmt.Sprint(deleted.body)))
}
