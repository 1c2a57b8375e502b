package api_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
)

// shelf is the result of the operation in these tests.
type shelf struct {
	Name string `json:"name"`
	Of   string `json:"of"`
	N    int64  `json:"n"`
}

type shelfInput struct {
	api.RunPath
	Of string `query:"of"`
}

// shelves serves GET /shelves/{run}, which can be viewed.
func shelves(hub *feed.Hub, n *atomic.Int64) http.Handler {
	return api.New(api.Options{
		Auth: callers(), Live: hub,
		Extra: []func(*api.API){func(a *api.API) {
			api.Add(a, api.Operation{
				ID: "get-shelf", Method: http.MethodGet, Path: "/shelves/{run}", May: access.Permission{Verb: access.View, Kind: access.Runs}, Reach: api.Named, Summary: "Look",
				Live: &feed.Topic{Every: time.Hour, Of: []string{api.OfRun}},
			}, func(_ context.Context, _ *api.Call, in *shelfInput) (shelf, error) {
				return shelf{in.Run, in.Of, n.Load()}, nil
			})
		}},
	}).Handler()
}

// events returns a function that reads the next event of a stream.
func events(t *testing.T, server *httptest.Server, who, last string, topics ...string) func() (kind string, event api.LiveEvent) {
	t.Helper()
	return follow(t, server, who, last, url.Values{"topic": topics})
}

// patches is events for a viewer that takes patches.
func patches(t *testing.T, server *httptest.Server, last string, topics ...string) func() (kind string, event api.LiveEvent) {
	t.Helper()
	return follow(t, server, "viewer", last, url.Values{"topic": topics, "patches": {"true"}})
}

func follow(t *testing.T, server *httptest.Server, who, last string, query url.Values) func() (kind string, event api.LiveEvent) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/events?"+query.Encode(), http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Who", who)
	r.Header.Set("Last-Event-ID", last)
	response, err := server.Client().Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, response.Body.Close()) })
	require.Equal(t, http.StatusOK, response.StatusCode)
	lines := bufio.NewScanner(response.Body)
	return func() (kind string, event api.LiveEvent) {
		event = api.LiveEvent{}
		for lines.Scan() {
			if written, is := strings.CutPrefix(lines.Text(), "event: "); is {
				kind = written
			}
			if written, is := strings.CutPrefix(lines.Text(), "data: "); is {
				require.NoError(t, json.Unmarshal([]byte(written), &event))
				return kind, event
			}
		}
		require.NoError(t, lines.Err())
		return kind, event
	}
}

// A request that can be viewed is a topic. Its events have the body and the ETag of the GET, and the
// workflow in its path changes it.
func TestARequestIsATopic(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	hub := feed.New()
	server := httptest.NewServer(shelves(hub, &n))
	t.Cleanup(server.Close)
	path := "/shelves/gate~x?of=" + url.QueryEscape("a=b,<c>")
	next := events(t, server, "viewer", "", path)
	kind, event := next()
	assert.Equal(t, feed.Snapshot, kind)
	assert.Equal(t, path, event.Topic)
	assert.JSONEq(t, `{"name": "gate~x", "of": "a=b,<c>", "n": 0}`, string(event.Data))

	answered := ask(t, server.Config.Handler, "viewer", http.MethodGet, "/api/v1"+path, "")
	has := url.QueryEscape(path) + "=" + strings.Trim(answered.Header().Get("ETag"), `"`)
	resumed := events(t, server, "viewer", has, path)
	n.Store(1)
	hub.Changed("dag/gate/other")
	hub.Changed("dag/gate/x")
	for _, viewer := range []func() (string, api.LiveEvent){next, resumed} {
		_, event := viewer()
		assert.JSONEq(t, `{"name": "gate~x", "of": "a=b,<c>", "n": 1}`, string(event.Data), "the picture that it had is not sent again")
	}
}

// A viewer that takes patches gets the difference to the picture that this stream has sent.
func TestAChangeIsAPatch(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	hub := feed.New()
	server := httptest.NewServer(shelves(hub, &n))
	t.Cleanup(server.Close)
	path := "/shelves/gate~x?of=" + url.QueryEscape(strings.Repeat("a long text that stays, ", 20))
	has := url.QueryEscape(path) + "=" + strings.Trim(ask(t, server.Config.Handler, "viewer", http.MethodGet, "/api/v1"+path, "").Header().Get("ETag"), `"`)
	next, plain := patches(t, server, "", path), events(t, server, "viewer", "", path)
	kind, first := next()
	assert.Equal(t, feed.Snapshot, kind)
	_, _ = plain()
	resumed := patches(t, server, has, path)
	n.Store(1)
	hub.Changed("dag/gate/x")
	kind, second := next()
	assert.Equal(t, feed.Patch, kind)
	assert.Empty(t, second.Data)
	assert.Less(t, len(second.Patch), 40)
	var count, step json.RawMessage
	var from, many int
	var text string
	require.NoError(t, json.Unmarshal(second.Patch, &[]any{&count, &step}))
	require.NoError(t, json.Unmarshal(count, &[]any{&from, &many}))
	require.NoError(t, json.Unmarshal(step, &text))
	assert.Zero(t, from)
	pieces := strings.Split(string(first.Data), ",")
	_, whole := plain()
	assert.Equal(t, string(whole.Data), strings.Join(pieces[:many], ",")+","+text)
	kind, again := resumed()
	assert.NotEqual(t, feed.Patch, kind, "this stream has sent nothing to patch")
	assert.Equal(t, whole.Data, again.Data)
}

// Each event of a compressed stream is there at once.
func TestAStreamIsCompressed(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	hub := feed.New()
	server := httptest.NewServer(shelves(hub, &n))
	t.Cleanup(server.Close)
	path := "/shelves/gate~x?of=" + strings.Repeat("a", 4000)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/events?topic="+url.QueryEscape(path), http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Who", "viewer")
	r.Header.Set("Accept-Encoding", "gzip") // So the client does not decode it.
	response, err := server.Client().Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, response.Body.Close()) })
	require.Equal(t, "gzip", response.Header.Get("Content-Encoding"))
	read := 0
	unzipped, err := gzip.NewReader(countingReader{response.Body, &read})
	require.NoError(t, err)
	lines := bufio.NewScanner(unzipped)
	for i := range 3 {
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		assert.Contains(t, lines.Text(), fmt.Sprintf(`"n":%d`, i))
		n.Add(1)
		hub.Changed("dag/gate/x")
	}
	assert.Less(t, read, 2000, "three events of 8,000 bytes")
}

type countingReader struct {
	io.Reader

	n *int
}

func (c countingReader) Read(to []byte) (int, error) {
	n, err := c.Reader.Read(to)
	*c.n += n
	return n, err
}

func TestARequestOfOthersIsRefusedAlone(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	server := httptest.NewServer(shelves(feed.New(), &n))
	t.Cleanup(server.Close)
	next := events(t, server, "scoped", "", "/shelves/gate~x", "/shelves/scrub-1")
	seen := map[string]string{}
	for len(seen) < 2 {
		kind, event := next()
		seen[event.Topic] = kind
		if kind == feed.Refused {
			assert.Equal(t, http.StatusForbidden, event.Problem.Status)
		}
	}
	assert.Equal(t, map[string]string{"/shelves/gate~x": feed.Refused, "/shelves/scrub-1": feed.Snapshot}, seen)
	for _, none := range []string{"/version", "/shelves", "/nowhere", "//", "/shelves/../shelves/gate~x", "//shelves/gate~x", "/./shelves/gate~x", "/%zz", "/job-types/scrub/pause"} {
		assert.Equal(t, http.StatusUnprocessableEntity, ask(t, server.Config.Handler, "viewer", http.MethodGet, "/api/v1/events?topic="+url.QueryEscape(none), "").Code, none)
	}
}
