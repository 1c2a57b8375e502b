package api_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/engine/access"
)

// pipes is a listener with connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, open := <-p; open {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p <- far
	return near, nil
}

// A read timeout ends neither a long operation nor later ones on its connection.
func TestLongOperations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := api.New(api.Options{Auth: callers(), Extra: []func(*api.API){func(a *api.API) {
			api.Add(a, api.Operation{ID: "act", Method: http.MethodPost, Path: "/things/{name}/act", May: access.Permission{Verb: access.Work, Kind: access.Workers}, Reach: api.Named, Summary: "Act"},
				func(ctx context.Context, _ *api.Call, in *place) (struct{}, error) {
					select {
					case <-ctx.Done():
						return struct{}{}, ctx.Err()
					case <-time.After(time.Duration(in.Body.N) * time.Second):
						return struct{}{}, nil
					}
				})
		}}}).Handler()
		listener := make(pipes)
		server := &http.Server{Handler: handler, ReadTimeout: 30 * time.Second}
		go func() { _ = server.Serve(listener) }()
		dials := 0
		transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return listener.dial(ctx, network, address)
		}}
		for _, body := range []string{`{"n":60}`, `{"n":1}`, `{"n":60}`} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+api.Prefix+"/things/scrub/act", strings.NewReader(body))
			require.NoError(t, err)
			request.Header = http.Header{"Who": {"worker"}, "Content-Type": {"application/json"}, "Idempotency-Key": {body}}
			answer, err := transport.RoundTrip(request)
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, answer.StatusCode)
			_, err = io.Copy(io.Discard, answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			synctest.Wait() // The connection is idle.
		}
		assert.Equal(t, 1, dials, "all on one connection")
		transport.CloseIdleConnections()
		close(listener)
		require.NoError(t, server.Close())
	})
}
