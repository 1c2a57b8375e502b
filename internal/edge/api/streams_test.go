package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/engine/access"
)

// addressed authenticates any caller by the name in the request, without a log-in.
type addressed struct{}

func (addressed) Authenticate(r *http.Request) (Caller, error) {
	var p access.Policy
	return Caller{Name: r.Header.Get("Who"), Auth: AuthNone, Rights: p.Grant(access.Viewer, nil, nil)}, nil
}

func TestACallerHasSoManyStreams(t *testing.T) {
	t.Parallel()
	a := New(Options{Auth: addressed{}})
	handler := a.Handler()
	// watch opens a stream whose client disconnects at once.
	watch := func(who, address string) *httptest.ResponseRecorder {
		ctx, gone := context.WithCancel(t.Context())
		gone()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/events?topic=/runs", http.NoBody)
		r.Host, r.RemoteAddr = "localhost", address+":1"
		r.Header.Set("Who", who)
		recorded := httptest.NewRecorder()
		handler.ServeHTTP(recorded, r)
		return recorded
	}
	var last func()
	for range MaxStreams {
		leave, err := a.streams.enter(Caller{Name: "ann", Auth: AuthNone, Address: "192.0.2.1", Via: "api"})
		require.NoError(t, err)
		last = leave
	}
	refused := watch("ann", "192.0.2.1")
	assert.Equal(t, http.StatusTooManyRequests, refused.Code)
	assert.Contains(t, refused.Body.String(), "TOO_MANY_STREAMS")
	assert.Contains(t, refused.Body.String(), "close unused streams")
	assert.Equal(t, http.StatusOK, watch("bob", "192.0.2.1").Code, "each caller has as many")
	assert.Equal(t, http.StatusOK, watch("ann", "192.0.2.2").Code, "without a log-in many have that name")
	last()
	last()
	for range 3 {
		assert.Equal(t, http.StatusOK, watch("ann", "192.0.2.1").Code, "a stream that has ended does not count")
	}
	assert.Len(t, a.streams.open, 1, "who has none is forgotten")
}
