package etag

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type answerHead struct {
	StatusCode int
	Header     http.Header
}

// served sends a request to a real server whose only operation returns body. It returns the answer
// as sent.
func served(t *testing.T, body, method string, header map[string]string) (answerHead, []byte) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Serve(w, r, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL, http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Accept-Encoding", "identity")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := server.Client().Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	sent, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answerHead{response.StatusCode, response.Header}, sent
}

func TestAnswersAreCompressedForThoseWhoTakeIt(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", compressFrom)
	for accepted, zipped := range map[string]bool{
		"gzip": true, "deflate, GZIP;q=0.5": true, "gzip;q=1.0": true, "gzip;q=0": false, "gzip;Q=0.0": false, "br": false,
	} {
		response, sent := served(t, large, http.MethodGet, map[string]string{"Accept-Encoding": accepted})
		assert.Equal(t, "Accept-Encoding", response.Header.Get("Vary"), accepted)
		if !zipped {
			assert.Equal(t, large, string(sent), accepted)
			continue
		}
		assert.Equal(t, "gzip", response.Header.Get("Content-Encoding"), accepted)
		reader, err := gzip.NewReader(strings.NewReader(string(sent)))
		require.NoError(t, err, accepted)
		text, err := io.ReadAll(reader)
		require.NoError(t, err)
		assert.Equal(t, large, string(text))
	}
	response, _ := served(t, large[1:], http.MethodGet, map[string]string{"Accept-Encoding": "gzip"})
	assert.Empty(t, response.Header.Get("Content-Encoding"), "it is too small")
}

// A HEAD has the headers of the GET. A 304 has them without those of a body.
func TestHeadersOfAnswersWithoutBody(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", compressFrom)
	gzipped := map[string]string{"Accept-Encoding": "gzip"}
	get, _ := served(t, large, http.MethodGet, gzipped)
	head, sent := served(t, large, http.MethodHead, gzipped)
	assert.Empty(t, sent)
	for _, name := range []string{"ETag", "Vary", "Cache-Control", "Content-Encoding"} {
		assert.NotEmpty(t, get.Header.Get(name), name)
		assert.Equal(t, get.Header.Get(name), head.Header.Get(name), name)
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		again, sent := served(t, large, method, map[string]string{"Accept-Encoding": "gzip", "If-None-Match": get.Header.Get("ETag")})
		assert.Equal(t, http.StatusNotModified, again.StatusCode)
		assert.Empty(t, sent)
		assert.Equal(t, "Accept-Encoding", again.Header.Get("Vary"))
		assert.Empty(t, again.Header.Get("Content-Encoding"))
	}
}
