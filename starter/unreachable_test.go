package starter_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/starter"
)

// gRPC's texts for an absent server become advice for an operator.
func TestUnreachableSaysWhy(t *testing.T) {
	t.Parallel()
	for cause, want := range map[string]string{
		`failed reaching server: connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`: "dial tcp 127.0.0.1:1: connect: connection refused",
		`failed reaching server: no children to pick from`: "the host name cannot be resolved",
		`failed reaching server: connection error: desc = "transport: authentication handshake failed: tls: first record does not look like a TLS handshake"`: "TLS: tls: first record does not look like a TLS handshake",
		`failed reaching server: write tcp 127.0.0.1:46202->127.0.0.1:44705: write: connection reset by peer`:                                                 "it closes the connection at once: it is another program, requires TLS, or is stopping",
		`something new`: "something new",
	} {
		got := (&starter.UnreachableError{Cause: errors.New(cause)}).Why()
		assert.Equal(t, want, got)
	}
	assert.Equal(t, "it did not answer in time", (&starter.UnreachableError{Cause: fmt.Errorf("dial: %w", context.DeadlineExceeded)}).Why())
	silent := serviceerror.NewDeadlineExceeded("context deadline exceeded")
	assert.Equal(t, "it did not answer in time", (&starter.UnreachableError{Cause: fmt.Errorf("failed reaching server: %w", silent)}).Why())
	assert.NotEmpty(t, (&starter.UnreachableError{}).Error())
}

// Another program behind the port is reported as such.
func TestDialStranger(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			stranger, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = stranger.Write([]byte("220 mail ESMTP\r\n"))
			// Closing with unread data would reset the connection.
			_, _ = io.Copy(io.Discard, stranger)
			_ = stranger.Close()
		}
	}()
	_, err = starter.Dial(t.Context(), starter.Options{Address: listener.Addr().String(), DialTimeout: 2 * time.Second})
	var unreachable *starter.UnreachableError
	require.ErrorAs(t, err, &unreachable)
	assert.Contains(t, unreachable.Why(), "does not speak gRPC")
}

// A frontend that hangs accepts connections and requests, and answers nothing.
func TestDialOfAServerThatHangs(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	hangs := make(chan struct{}) // It does not see the deadline of a call either.
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		<-hangs
		return nil
	}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		close(hangs)
		server.Stop()
	})
	_, err = starter.Dial(t.Context(), starter.Options{Address: listener.Addr().String(), DialTimeout: 300 * time.Millisecond})
	var unreachable *starter.UnreachableError
	require.ErrorAs(t, err, &unreachable)
	assert.Equal(t, "it did not answer in time", unreachable.Why())
}
