package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
)

func nothing(context.Context, *api.Call, *struct{}) (struct{}, error) { return struct{}{}, nil }

// known authenticates by the header Who.
type known map[string]access.Rights

func (k known) Authenticate(r *http.Request) (api.Caller, error) {
	who := r.Header.Get("Who")
	rights, is := k[who]
	if !is {
		return api.Caller{}, problem.New(http.StatusUnauthorized, "", "not logged in")
	}
	return api.Caller{Name: who, Auth: "key", Rights: rights}, nil
}

func callers() known {
	var p access.Policy
	return known{
		"viewer": p.Grant(access.Viewer, nil, nil), "operator": p.Grant(access.Operator, nil, nil), "admin": p.Grant(access.Admin, nil, nil),
		"worker": p.Grant(access.Worker, nil, nil), "scoped": p.Grant(access.Operator, []string{"scrub*"}, nil), "nobody's friend": {},
	}
}

func ask(t *testing.T, handler http.Handler, who, method, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Who", who)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	recorded := httptest.NewRecorder()
	handler.ServeHTTP(recorded, r)
	return recorded
}

// place is the input of the extra operations of these tests.
type place struct {
	api.JobTypePath
	Body struct {
		N int `json:"n" minimum:"1"`
	}
}

func served(done *int, denied *[]string) http.Handler {
	operate := access.Permission{Verb: access.Operate, Kind: access.JobTypes}
	return api.New(api.Options{
		Auth: callers(), Denied: func(c api.Caller, operation string) { *denied = append(*denied, c.Name+" "+operation) },
		Extra: []func(*api.API){func(a *api.API) {
			api.Add(a, api.Operation{ID: "act", Method: http.MethodPost, Path: "/things/{name}/act", May: operate, Reach: api.Named, Summary: "Act"},
				func(context.Context, *api.Call, *place) (struct{}, error) { *done++; return struct{}{}, nil })
			api.Add(a, api.Operation{ID: "act-on-all", Method: http.MethodPost, Path: "/things/act", May: operate, Summary: "Act"},
				func(context.Context, *api.Call, *struct{}) (struct{}, error) { *done++; return struct{}{}, nil })
		}},
	}).Handler()
}

func codeOf(t *testing.T, recorded *httptest.ResponseRecorder) string {
	t.Helper()
	var p problem.Problem
	require.NoError(t, json.Unmarshal(recorded.Body.Bytes(), &p), recorded.Body.String())
	assert.Equal(t, problem.ContentType, recorded.Header().Get("Content-Type"))
	assert.Equal(t, recorded.Code, p.Status)
	return p.Code
}

func TestPermissionsReachAsFarAsTheyAreDeclared(t *testing.T) {
	t.Parallel()
	done, denied := 0, []string(nil)
	handler := served(&done, &denied)
	for _, row := range []struct {
		who, path string
		status    int
	}{
		{"", "/things/scrub/act", 401},
		{"nobody's friend", "/things/scrub/act", 403},
		{"viewer", "/things/scrub/act", 403},
		{"worker", "/things/scrub/act", 403},
		{"operator", "/things/scrub/act", 200},
		{"scoped", "/things/scrub/act", 200},
		{"scoped", "/things/scrub_deep/act", 200},
		{"scoped", "/things/vacuum/act", 403},
		{"scoped", "/things/act", 403},
		{"operator", "/things/act", 200},
	} {
		recorded := ask(t, handler, row.who, http.MethodPost, api.Prefix+row.path, `{"n":1}`)
		assert.Equal(t, row.status, recorded.Code, "%s %s: %s", row.who, row.path, recorded.Body)
		if row.status == 403 {
			assert.Equal(t, "ACCESS_DENIED", codeOf(t, recorded))
		}
	}
	assert.Equal(t, 4, done)
	assert.Equal(t, []string{"nobody's friend act", "viewer act", "worker act", "scoped act", "scoped act-on-all"}, denied)
}

// A refusal comes before the request is read, so it reveals nothing about it.
func TestTheBodyIsReadAfterThePermission(t *testing.T) {
	t.Parallel()
	done, denied := 0, []string(nil)
	handler := served(&done, &denied)
	assert.Equal(t, 403, ask(t, handler, "viewer", http.MethodPost, api.Prefix+"/things/scrub/act", `{"n":0}`).Code)
	recorded := ask(t, handler, "operator", http.MethodPost, api.Prefix+"/things/scrub/act", `{"n":0}`)
	assert.Equal(t, 422, recorded.Code)
	assert.Equal(t, "INVALID", codeOf(t, recorded))
	assert.Contains(t, recorded.Body.String(), "body.n")
	assert.Zero(t, done)
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	done, denied := 0, []string(nil)
	handler := served(&done, &denied)
	assert.Equal(t, "NOT_FOUND", codeOf(t, ask(t, handler, "admin", http.MethodGet, api.Prefix+"/none", "")))
	recorded := ask(t, handler, "admin", http.MethodDelete, api.Prefix+"/things/act", "")
	assert.Equal(t, "METHOD_NOT_ALLOWED", codeOf(t, recorded))
	assert.Equal(t, []string{"POST"}, recorded.Header().Values("Allow"))
}

// stored serves a value that can be read and replaced.
func stored(value *string) http.Handler {
	type thing struct {
		Value string `json:"value"`
	}
	return api.New(api.Options{Auth: callers(), Extra: []func(*api.API){func(a *api.API) {
		api.Add(a, api.Operation{ID: "read", Method: http.MethodGet, Path: "/thing", May: access.Permission{Verb: access.View, Kind: access.Runs}, Summary: "Read"},
			func(context.Context, *api.Call, *struct{}) (thing, error) { return thing{*value}, nil })
		api.Add(a, api.Operation{ID: "write", Method: http.MethodPut, Path: "/thing", May: access.Permission{Verb: access.Operate, Kind: access.Runs}, Summary: "Write"},
			func(_ context.Context, _ *api.Call, in *struct{ Body thing }) (thing, error) {
				*value = in.Body.Value
				return in.Body, nil
			})
	}}}).Handler()
}

func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	value := "a"
	handler := stored(&value)
	tag := ask(t, handler, "admin", http.MethodGet, api.Prefix+"/thing", "").Header().Get("ETag")
	require.NotEmpty(t, tag)
	again := ask(t, handler, "admin", http.MethodGet, api.Prefix+"/thing", "", "If-None-Match", `"other", `+tag)
	assert.Equal(t, 304, again.Code)
	assert.Empty(t, again.Body.String())
	assert.Equal(t, 200, ask(t, handler, "admin", http.MethodPut, api.Prefix+"/thing", `{"value":"b"}`, "If-Match", tag).Code)
	late := ask(t, handler, "admin", http.MethodPut, api.Prefix+"/thing", `{"value":"c"}`, "If-Match", tag)
	assert.Equal(t, "CHANGED", codeOf(t, late))
	assert.Equal(t, 412, late.Code)
	assert.Equal(t, "b", value)
	assert.Equal(t, 403, ask(t, handler, "viewer", http.MethodPut, api.Prefix+"/thing", `{"value":"c"}`, "If-Match", "*").Code)
}
