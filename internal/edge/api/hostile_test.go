package api_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
)

// route is an operation of the document with a valid address.
type route struct {
	method, address string
	operation       *huma.Operation
}

var inPath = regexp.MustCompile(`\{[^}]*\}`)

// routes returns all operations of an API without a client: a request that reaches one panics.
func routes(t *testing.T) (http.Handler, []route) {
	t.Helper()
	built := api.New(api.Options{Auth: callers()})
	var all []route
	paths := built.OpenAPI().Paths
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path]
		for method, operation := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
		} {
			if operation != nil {
				all = append(all, route{method, api.Prefix + inPath.ReplaceAllString(path, "scrub-x"), operation})
			}
		}
	}
	require.Greater(t, len(all), 40)
	return built.Handler(), all
}

func (r route) parameter(name string) *huma.Param {
	at := slices.IndexFunc(r.operation.Parameters, func(p *huma.Param) bool { return p.Name == name && p.In == "query" })
	if at < 0 {
		return nil
	}
	return r.operation.Parameters[at]
}

func (r route) required() url.Values {
	query := url.Values{}
	for _, p := range r.operation.Parameters {
		if p.In == "query" && p.Required {
			query.Set(p.Name, "scrub-x")
		}
	}
	return query
}

// Lists refuse limits outside their range, and the problem names the parameter.
func TestLimitsOfAllLists(t *testing.T) {
	t.Parallel()
	handler, all := routes(t)
	lists := 0
	for _, r := range all {
		if r.parameter("limit") == nil {
			continue
		}
		lists++
		assert.NotNil(t, r.parameter("limit").Schema.Maximum, "%s has no largest limit", r.address)
		for _, written := range []string{"0", "-1", "1000000000", "x", "1e2", "9999999999999999999999", "1.5"} {
			query := r.required()
			query.Set("limit", written)
			recorded := ask(t, handler, "admin", r.method, r.address+"?"+query.Encode(), "")
			assert.Equal(t, http.StatusUnprocessableEntity, recorded.Code, "%s limit=%s", r.address, written)
			assert.Equal(t, problem.CodeInvalid, codeOf(t, recorded))
			assert.Contains(t, recorded.Body.String(), "query.limit", "%s limit=%s", r.address, written)
		}
	}
	assert.Greater(t, lists, 4)
}

// A misspelt filter must not be ignored.
func TestUnknownParametersAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	handler, all := routes(t)
	for _, r := range all {
		query := r.required()
		query.Set("job-tpye", "x")
		body := ""
		if r.operation.RequestBody != nil {
			body = "{}"
		}
		recorded := ask(t, handler, "admin", r.method, r.address+"?"+query.Encode(), body)
		assert.Equal(t, http.StatusUnprocessableEntity, recorded.Code, "%s %s: %s", r.method, r.address, recorded.Body)
		assert.Contains(t, recorded.Body.String(), "job-tpye", "%s %s", r.method, r.address)
	}
}

// Invalid bodies are refused with a problem and do not reach the operation.
func TestBodiesThatNoOperationTakes(t *testing.T) {
	t.Parallel()
	handler, all := routes(t)
	deep := strings.Repeat(`{"a":`, 20_000)
	for what, sent := range map[string]struct {
		body   string
		status []int
	}{
		"too large":   {`{"x":"` + strings.Repeat("a", guard.MaxBody) + `"}`, []int{http.StatusRequestEntityTooLarge}},
		"bad UTF-8":   {"{\"reason\":\"\xff\xfe\"}", []int{http.StatusUnprocessableEntity}},
		"half a text": {`{"reason":"x`, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}},
		"two":         {`{}{}`, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}},
		"a list":      {`[]`, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}},
		"deep":        {deep, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}},
	} {
		for _, r := range all {
			if r.operation.RequestBody == nil {
				continue
			}
			recorded := ask(t, handler, "admin", r.method, r.address+"?"+r.required().Encode(), sent.body)
			assert.Contains(t, sent.status, recorded.Code, "%s: %s %s: %s", what, r.method, r.address, recorded.Body)
			assert.Equal(t, problem.ContentType, recorded.Header().Get("Content-Type"), "%s: %s %s", what, r.method, r.address)
			assert.NotEmpty(t, codeOf(t, recorded), "%s: %s %s", what, r.method, r.address)
			assert.Less(t, recorded.Body.Len(), 4096, "%s: %s %s: a problem does not repeat the body", what, r.method, r.address)
		}
	}
}

// A chunked body without a length is bounded.
func TestABodyWithoutLengthIsBounded(t *testing.T) {
	t.Parallel()
	done, denied := 0, []string(nil)
	server := httptest.NewServer(served(&done, &denied))
	defer server.Close()
	reader, writer := io.Pipe()
	go func() {
		_, err := writer.Write([]byte(`{"n":1,"x":"` + strings.Repeat("a", guard.MaxBody) + `"}`))
		_ = writer.CloseWithError(err)
	}()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+api.Prefix+"/things/scrub/act", reader)
	require.NoError(t, err)
	request.Header.Set("Who", "operator")
	request.Header.Set("Content-Type", "application/json")
	answer, err := server.Client().Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	assert.Equal(t, http.StatusRequestEntityTooLarge, answer.StatusCode)
	assert.Equal(t, problem.ContentType, answer.Header.Get("Content-Type"))
	var refused problem.Problem
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&refused))
	assert.Contains(t, refused.Remedy, "in parts")
	assert.Zero(t, done)
}

// Other operations refuse YAML unread, and documents in another encoding are refused.
func TestYAMLIsForDocumentsAlone(t *testing.T) {
	t.Parallel()
	got := ""
	change := access.Permission{Verb: access.Change, Kind: access.Configuration}
	type document struct {
		Body struct {
			Document string `json:"document" minLength:"1"`
		}
	}
	handler := api.New(api.Options{Auth: callers(), Extra: []func(*api.API){func(a *api.API) {
		api.Add(a, api.Operation{ID: "take", Method: http.MethodPost, Path: "/take", May: change, Summary: "Take", Document: true},
			func(_ context.Context, _ *api.Call, in *document) (struct{}, error) {
				got = in.Body.Document
				return struct{}{}, nil
			})
		api.Add(a, api.Operation{ID: "other", Method: http.MethodPost, Path: "/other", May: change, Summary: "Other"},
			func(context.Context, *api.Call, *document) (struct{}, error) {
				got = "other"
				return struct{}{}, nil
			})
	}}}).Handler()
	for _, row := range []struct {
		who, path, kind, body string
		status                int
	}{
		{"admin", "/take", "application/yaml", "a: \"ü\"\n", http.StatusOK},
		{"admin", "/take", "application/yaml; charset=utf-8", "a: \"ü\"\n", http.StatusOK},
		{"admin", "/take", "application/yaml", "a: \xff\n", http.StatusUnprocessableEntity},
		{"admin", "/take", "application/json", "{\"document\":\"a: \xff\"}", http.StatusUnprocessableEntity},
		{"admin", "/take", "application/yaml", "", http.StatusUnsupportedMediaType},
		{"admin", "/take", "text/yaml", "a: b\n", http.StatusUnsupportedMediaType},
		{"admin", "/take", "application/yaml", strings.Repeat("#", guard.MaxBody+1), http.StatusRequestEntityTooLarge},
		{"admin", "/other", "application/yaml", "a: b\n", http.StatusUnsupportedMediaType},
		{"admin", "/none", "application/yaml", "a: b\n", http.StatusNotFound},
		{"viewer", "/take", "application/yaml", "a: b\n", http.StatusForbidden},
	} {
		got = ""
		header := []string{"Content-Type", row.kind}
		recorded := ask(t, handler, row.who, http.MethodPost, api.Prefix+row.path, row.body, header...)
		if row.body == "" {
			assert.Contains(t, []int{row.status, http.StatusBadRequest, http.StatusUnprocessableEntity}, recorded.Code, "%+v", row)
		} else {
			assert.Equal(t, row.status, recorded.Code, "%s %s %.20q: %s", row.path, row.kind, row.body, recorded.Body)
		}
		if row.status == http.StatusOK {
			assert.Equal(t, row.body, got)
		} else {
			assert.Empty(t, got)
			assert.Equal(t, problem.ContentType, recorded.Header().Get("Content-Type"), "%+v", row.path)
		}
	}
}

// A tag depends on the content and not on the time; errors have none.
func TestTagsOfAnswers(t *testing.T) {
	t.Parallel()
	type list struct {
		Things []string  `json:"things"`
		AsOf   time.Time `json:"as_of"`
	}
	now, things := time.Unix(0, 0).UTC(), []string{"a"}
	view := access.Permission{Verb: access.View, Kind: access.Runs}
	handler := api.New(api.Options{Auth: callers(), Extra: []func(*api.API){func(a *api.API) {
		api.Add(a, api.Operation{ID: "list", Method: http.MethodGet, Path: "/list", May: view, Summary: "List"},
			func(context.Context, *api.Call, *struct{}) (list, error) { return list{things, now}, nil })
		api.Add(a, api.Operation{ID: "none", Method: http.MethodGet, Path: "/none", May: view, Summary: "None"},
			func(context.Context, *api.Call, *struct{}) (list, error) {
				return list{}, problem.New(http.StatusNotFound, problem.CodeNotFound, "there is none")
			})
	}}}).Handler()
	get := func(who, path string, header ...string) *httptest.ResponseRecorder {
		return ask(t, handler, who, http.MethodGet, api.Prefix+path, "", header...)
	}
	tag := get("viewer", "/list").Header().Get("ETag")
	require.NotEmpty(t, tag)
	now = now.Add(time.Hour)
	for _, held := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		again := get("viewer", "/list", "If-None-Match", held)
		assert.Equal(t, http.StatusNotModified, again.Code, held)
		assert.Empty(t, again.Body.String())
		assert.Empty(t, again.Header().Get("Content-Type"))
		assert.Equal(t, tag, again.Header().Get("ETag"))
	}
	assert.Equal(t, http.StatusForbidden, get("nobody's friend", "/list", "If-None-Match", tag).Code, "a tag gives no rights")
	things = []string{"a", "b"}
	changed := get("viewer", "/list", "If-None-Match", tag)
	assert.Equal(t, http.StatusOK, changed.Code)
	assert.NotEqual(t, tag, changed.Header().Get("ETag"))
	missing := get("viewer", "/none", "If-None-Match", "*")
	assert.Equal(t, http.StatusNotFound, missing.Code)
	assert.Empty(t, missing.Header().Get("ETag"))
	assert.Equal(t, "private, no-cache", missing.Header().Get("Cache-Control"))
}

// An altered cursor, or one of another list, is refused.
func TestCursorsAreOfOneListAndServer(t *testing.T) {
	t.Parallel()
	all := []string{"a", "b", "c", "d", "e"}
	type names struct {
		api.Page
		Names []string `json:"names"`
	}
	view := access.Permission{Verb: access.View, Kind: access.Runs}
	make1 := func(secret string) http.Handler {
		listing := func(name string) func(*api.API) {
			return func(a *api.API) {
				api.Add(a, api.Operation{ID: name, Method: http.MethodGet, Path: "/" + name, May: view, Summary: name},
					func(_ context.Context, call *api.Call, in *api.Listing) (names, error) {
						kept, page, err := api.Cut(call, name, *in, all, func(s string) string { return s })
						return names{page, kept}, err
					})
			}
		}
		return api.New(api.Options{Auth: callers(), Secret: []byte(secret), Extra: []func(*api.API){listing("letters"), listing("others")}}).Handler()
	}
	handler, other := make1("one"), make1("two")
	read := func(handler http.Handler, path, cursor string) (int, names) {
		query := url.Values{"limit": {"2"}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		recorded := ask(t, handler, "viewer", http.MethodGet, api.Prefix+path+"?"+query.Encode(), "")
		if recorded.Code != http.StatusOK {
			assert.Equal(t, "BAD_CURSOR", codeOf(t, recorded))
			return recorded.Code, names{}
		}
		return recorded.Code, decoded[names](t, recorded)
	}
	var seen []string
	cursor, first := "", ""
	for range 3 {
		status, page := read(handler, "/letters", cursor)
		require.Equal(t, http.StatusOK, status)
		assert.Equal(t, len(all), page.Total)
		seen, cursor = append(seen, page.Names...), page.Next
		if first == "" {
			first = cursor
		}
	}
	assert.Equal(t, all, seen)
	assert.Empty(t, cursor)
	for what, bad := range map[string]string{"cut": first[:len(first)-1], "longer": first + "AA", "short": "AAAA", "no base64": "%%%", "changed": "B" + first[1:]} {
		if bad == first {
			continue
		}
		status, _ := read(handler, "/letters", bad)
		assert.Equal(t, http.StatusBadRequest, status, what)
	}
	status, _ := read(handler, "/others", first)
	assert.Equal(t, http.StatusBadRequest, status, "another list")
	status, _ = read(other, "/letters", first)
	assert.Equal(t, http.StatusBadRequest, status, "another server")
	all = slices.Delete(all, 1, 2) // It removes the last entry of the first page.
	status, page := read(handler, "/letters", first)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, []string{"c", "d"}, page.Names)
}

func decoded[T any](t *testing.T, recorded *httptest.ResponseRecorder) T {
	t.Helper()
	var value T
	require.NoError(t, json.Unmarshal(recorded.Body.Bytes(), &value), recorded.Body.String())
	return value
}
