package gatewaye2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCalendarsAreCheapToReadAgain: a client with the current forecast or ledger gets 304. A first answer has a
// limit, and every large answer is compressed.
func TestCalendarsAreCheapToReadAgain(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.key("boss", "--role", "admin")
	g.apply("  often:\n    handler: tidy\n    lane: free\n    schedule: {every: 10s}\n  paused:\n    handler: tidy\n    lane: free\n    enabled: false\n    schedule: {every: 365d, first_run: scheduled}\n")
	require.Equal(t, http.StatusOK, g.as("boss").post("/job-types/often/pause", object{"note": "quiet"}).status)
	ask := func(path, have string) (status int, tag string, body []byte) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.address+"/api/v1"+path, http.NoBody)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+g.keys["boss"])
		request.Header.Set("Accept-Encoding", "gzip") // The transport decompresses only if it set the header itself.
		if have != "" {
			request.Header.Set("If-None-Match", have)
		}
		response, err := clients().Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err = io.ReadAll(response.Body)
		require.NoError(t, err)
		if response.Header.Get("Content-Encoding") == "gzip" {
			reader, err := gzip.NewReader(bytes.NewReader(body))
			require.NoError(t, err)
			body, err = io.ReadAll(reader)
			require.NoError(t, err)
		} else {
			assert.Less(t, len(body), 1<<10, "%s is not compressed", path)
		}
		return response.StatusCode, response.Header.Get("ETag"), body
	}
	for _, path := range []string{"/forecast?job_type=paused", "/ledger?job_type=paused"} {
		status, tag, body := ask(path, "")
		require.Equal(t, http.StatusOK, status, "%s", body)
		status, _, _ = ask(path, tag)
		assert.Equal(t, http.StatusNotModified, status, path)
	}
	_, _, body := ask("/forecast", "")
	var found struct {
		Ticks []any
		More  int
	}
	require.NoError(t, json.Unmarshal(body, &found))
	assert.Len(t, found.Ticks, 1000)
	assert.Positive(t, found.More, "the answer says that it was cut")
	_, _, body = ask("/forecast?limit=7", "")
	require.NoError(t, json.Unmarshal(body, &found))
	assert.Len(t, found.Ticks, 7)
	_, _, body = ask("/handlers", "")
	assert.True(t, json.Valid(body))
}
