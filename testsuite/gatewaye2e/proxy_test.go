package gatewaye2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// showing is a proxy that serves a server at /rm. It buffers answers until they are complete, unless they
// forbid it.
func showing(t *testing.T, address string, strip, encrypted bool) *httptest.Server {
	t.Helper()
	target := &url.URL{Scheme: "http", Host: address}
	var handler http.Handler = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.SetXForwarded()
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Header.Get("X-Accel-Buffering") == "no" {
				return nil
			}
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			return err
		},
	}
	if strip {
		handler = http.StripPrefix("/rm", handler)
	}
	start := httptest.NewServer
	if encrypted {
		start = httptest.NewTLSServer
	}
	server := start(handler)
	t.Cleanup(server.CloseClientConnections)
	return server
}

// TestBehindAProxy: the console and the API work behind a proxy with and without path removal, TLS and
// buffering.
func TestBehindAProxy(t *testing.T) {
	t.Parallel()
	s := &site{sites.Bare(t, sites.Scaled+"access: {base_path: /rm, proxies: [127.0.0.0/8], hosts: [ops.example]}\njob_types: {}\n")}
	address := sites.FreeAddress(t)
	s.serve(address, "server", "--http", address)
	s.apply(jobType("tidy", "tidy", ""))
	for _, way := range []struct{ strip, encrypted bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		server := showing(t, address, way.strip, way.encrypted)
		scheme := map[bool]string{true: "https", false: "http"}[way.encrypted]
		ask := func(method, path, origin, body string) (int, io.Reader) {
			request, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/rm"+path, strings.NewReader(body))
			require.NoError(t, err)
			request.Host = "ops.example"
			request.Header.Set("Content-Type", "application/json")
			if origin != "" {
				request.Header.Set("Origin", origin)
			}
			answered, err := server.Client().Do(request)
			require.NoError(t, err)
			t.Cleanup(func() { _ = answered.Body.Close() })
			return answered.StatusCode, answered.Body
		}
		status := func(method, path, origin, body string) int {
			status, _ := ask(method, path, origin, body)
			return status
		}
		assert.Equal(t, http.StatusOK, status("GET", "/api/v1/me", "", ""), "%+v", way)
		assert.Equal(t, http.StatusOK, status("GET", "/", "", ""), "the console, %+v", way)
		assert.Equal(t, http.StatusOK, status("POST", "/api/v1/job-types/tidy/pause", scheme+"://ops.example", `{"note":"x"}`), "%+v", way)
		assert.Equal(t, http.StatusForbidden, status("POST", "/api/v1/job-types/tidy/pause", scheme+"://evil.example", `{}`), "%+v", way)
		code, events := ask("GET", "/api/v1/events?topic=job-types", "", "")
		require.Equal(t, http.StatusOK, code)
		read := make(chan string, 1)
		go func() {
			text, part := "", make([]byte, 4096)
			for !strings.Contains(text, "event: snapshot") {
				n, err := events.Read(part)
				text += string(part[:n])
				if err != nil {
					break
				}
			}
			read <- text
		}()
		testsuite.WaitFor(t, 20*time.Second, fmt.Sprintf("an event, %+v", way), func() bool { return len(read) == 1 })
		assert.Contains(t, <-read, "event: snapshot", "%+v", way)
	}
}
