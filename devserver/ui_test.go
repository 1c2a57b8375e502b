package devserver_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUIRefusesForeignHosts: a page whose name is rebound to loopback must not
// reach the Web UI.
func TestUIRefusesForeignHosts(t *testing.T) {
	t.Parallel()
	_, ready := start(t)
	for host, want := range map[string]int{
		"":               http.StatusOK,
		"localhost:8233": http.StatusOK,
		"127.0.0.1":      http.StatusOK,
		"[::1]:8233":     http.StatusOK,
		"evil.example":   http.StatusForbidden,
		"127.0.0.1.evil": http.StatusForbidden,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ready.UIURL+"/api/v1/settings", http.NoBody)
		require.NoError(t, err)
		request.Host = host
		answer, err := (&http.Client{}).Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, want, answer.StatusCode, host)
	}
}
