package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/engine/access"
)

// bulked has an operation that succeeds, one that scoped callers may partly use, and one that
// panics.
func bulked() http.Handler {
	operate := access.Permission{Verb: access.Operate, Kind: access.JobTypes}
	return api.New(api.Options{Auth: callers(), Extra: []func(*api.API){func(a *api.API) {
		api.Add(a, api.Operation{ID: "act", Method: http.MethodPost, Path: "/things/{name}/act", May: operate, Reach: api.Named, Summary: "Act"},
			func(_ context.Context, _ *api.Call, in *place) (place, error) { return *in, nil })
		api.Add(a, api.Operation{ID: "bug", Method: http.MethodPost, Path: "/things/{name}/bug", May: operate, Reach: api.Named, Summary: "Act"},
			func(context.Context, *api.Call, *api.JobTypePath) (struct{}, error) { panic("a bug") })
		api.Add(a, api.Operation{ID: "work", Method: http.MethodPost, Path: "/work", May: access.Permission{Verb: access.Work, Kind: access.Workers}, Summary: "Work"}, nothing)
	}}}).Handler()
}

// Each request of a bulk is checked and answered as if sent alone: permission, path, body and bug.
func TestBulkAnswersEachAsIfAlone(t *testing.T) {
	t.Parallel()
	rows := []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/things/scrub/act", `{"n":1}`, 200},
		{"POST", "/things/scrub/bug", "", 500},
		{"POST", "/things/scrub/act", `{"n":0}`, 422},
		{"POST", "/things/scrub/act?odd=1", `{"n":1}`, 422},
		{"POST", "/things/vacuum/act", `{"n":1}`, 403},
		{"POST", "/things/scrub%2Fact/act", `{"n":1}`, 403},
		{"POST", "/things/vacuum/../scrub/act", `{"n":1}`, 422},
		{"POST", "/../v1/things/vacuum/act", `{"n":1}`, 422},
		{"POST", "//evil.example/things/scrub/act", `{"n":1}`, 422},
		{"POST", "things/scrub/act", `{"n":1}`, 422},
		{"POST", "/bulk", `{"operations":[]}`, 422},
		{"POST", "/work", "", 422},
		{"PUT", "/things/scrub/act", `{"n":1}`, 422},
	}
	var sent []api.BulkRequest
	for _, row := range rows {
		sent = append(sent, api.BulkRequest{Method: row.method, Path: row.path, Body: json.RawMessage(row.body)})
	}
	body, err := json.Marshal(map[string]any{"operations": sent})
	require.NoError(t, err)
	recorded := ask(t, bulked(), "scoped", http.MethodPost, api.Prefix+"/bulk", string(body))
	require.Equal(t, http.StatusOK, recorded.Code, recorded.Body)
	var answered api.BulkResults
	require.NoError(t, json.Unmarshal(recorded.Body.Bytes(), &answered))
	for i, row := range rows {
		assert.Equal(t, row.status, answered.Results[i].Status, "%s %s: %s", row.method, row.path, answered.Results[i].Body)
	}
	assert.Equal(t, len(rows)-1, answered.Failed)
}

// A key is refused for the whole bulk if it leaves no room for the positions.
func TestTheKeyOfABulk(t *testing.T) {
	t.Parallel()
	body := `{"operations":[` + strings.Repeat(`{"method":"POST","path":"/things/scrub/act","body":{"n":1}},`, 999) + `{"method":"POST","path":"/things/scrub/act","body":{"n":1}}]}`
	for length, status := range map[int]int{196: http.StatusOK, 197: http.StatusUnprocessableEntity, 200: http.StatusUnprocessableEntity} {
		recorded := ask(t, bulked(), "scoped", http.MethodPost, api.Prefix+"/bulk", body, "Idempotency-Key", strings.Repeat("k", length))
		require.Equal(t, status, recorded.Code, "%d: %s", length, recorded.Body)
		if status == http.StatusOK {
			assert.Contains(t, recorded.Body.String(), `"failed":0`)
		}
	}
}
