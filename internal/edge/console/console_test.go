package console

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func served(t *testing.T, files fstest.MapFS) *handler {
	t.Helper()
	pages, err := load(files)
	require.NoError(t, err)
	return &handler{pages}
}

func get(h http.Handler, path, encoding string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	request.Header.Set("Accept-Encoding", encoding)
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	return recorder
}

func TestPlaceholderWithoutNode(t *testing.T) {
	t.Parallel()
	h := served(t, fstest.MapFS{placeholder: {Data: []byte("install Node.js")}})
	answer := get(h, "/", "")
	assert.Equal(t, http.StatusOK, answer.Code)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	assert.Equal(t, "install Node.js", string(body))
	assert.Equal(t, http.StatusNotFound, get(h, "/assets/app.js", "").Code)
}

func TestServing(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("console ", 1000)
	h := served(t, fstest.MapFS{
		"assets/app/index.html": {Data: []byte("<html>")}, "assets/app/assets/index-abc.js": {Data: []byte(text)},
		"assets/app/assets/inter-abc.woff2": {Data: []byte("font")},
	})
	answer := get(h, "/", "")
	assert.Equal(t, "text/html; charset=utf-8", answer.Header().Get("Content-Type"))
	assert.Equal(t, "no-cache", answer.Header().Get("Cache-Control"), "a new binary has a new index")
	assert.Contains(t, answer.Header().Get("Content-Security-Policy"), "default-src 'none'")
	assert.NotContains(t, answer.Header().Get("Content-Security-Policy"), "unsafe")
	assert.Contains(t, answer.Header().Get("Content-Security-Policy"), "font-src 'self'")
	assert.Equal(t, "font/woff2", get(h, "/assets/inter-abc.woff2", "").Header().Get("Content-Type"))
	answer = get(h, "/assets/index-abc.js", "gzip, br")
	assert.Contains(t, answer.Header().Get("Cache-Control"), "immutable")
	assert.Equal(t, "gzip", answer.Header().Get("Content-Encoding"))
	reader, err := gzip.NewReader(answer.Body)
	require.NoError(t, err)
	body, err := io.ReadAll(reader)
	require.NoError(t, err)
	assert.Equal(t, text, string(body))
	assert.Equal(t, http.StatusNotFound, get(h, "/../console.go", "").Code)
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", http.NoBody))
	assert.Equal(t, http.StatusMethodNotAllowed, recorder.Code)
}

// A page that the binary has compressed only is read by every client.
func TestPackedPages(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("console ", 1000)
	zipped, err := zip([]byte(text))
	require.NoError(t, err)
	h := served(t, fstest.MapFS{"assets/app/index.html": {Data: []byte("<html>")}, "assets/app/assets/index-abc.js.gz": {Data: zipped}})
	answer := get(h, "/assets/index-abc.js", "gzip")
	assert.Equal(t, zipped, answer.Body.Bytes())
	assert.Contains(t, answer.Header().Get("Content-Type"), "javascript")
	assert.Contains(t, answer.Header().Get("Cache-Control"), "immutable")
	assert.Equal(t, text, get(h, "/assets/index-abc.js", "").Body.String())
	assert.Equal(t, http.StatusNotFound, get(h, "/assets/index-abc.js.gz", "gzip").Code)
}

// TestHandler: a binary built with or without Node.js serves a page.
func TestHandler(t *testing.T) {
	t.Parallel()
	assert.Equal(t, http.StatusOK, get(Handler(), "/", "").Code)
	t.Logf("built with the console: %t", Built())
}
