package telemetry

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Profiles contain memory and command lines, metrics the names of job types. Only this machine gets them,
// and no page in one of its browsers.
func TestLoopbackIsForThisMachine(t *testing.T) {
	t.Parallel()
	fine := func() error { return nil }
	server, err := New("v1").Listen(t.Context(), "127.0.0.1:0", Checks{Alive: fine, Ready: fine})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close(t.Context())) }()
	for host, want := range map[string]int{
		"": http.StatusOK, "localhost": http.StatusOK, "[::1]:9464": http.StatusOK, "127.0.0.1": http.StatusOK,
		"evil.example": http.StatusForbidden, "evil.example:9464": http.StatusForbidden, "192.0.2.1": http.StatusForbidden,
	} {
		for _, path := range []string{"/debug/pprof/goroutine?debug=1", "/metrics", "/healthz"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.Addr()+path, http.NoBody)
			require.NoError(t, err)
			request.Host = host
			response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, want, response.StatusCode, "%s of %s", path, host)
		}
	}
	assert.True(t, local(&net.TCPAddr{IP: net.IPv6loopback}))
	for _, public := range []net.Addr{&net.TCPAddr{IP: net.IPv4zero}, &net.TCPAddr{IP: net.IPv6unspecified}, &net.TCPAddr{IP: net.ParseIP("192.0.2.1")}, &net.UnixAddr{}} {
		assert.False(t, local(public), public)
	}
}
