package starter

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDialWithoutServerSaysHowToStartOne(t *testing.T) {
	t.Parallel()
	_, err := Dial(t.Context(), Options{Address: closedPort(t)})
	var unreachable *UnreachableError
	require.ErrorAs(t, err, &unreachable)
	assert.ErrorContains(t, err, "roundsman dev")
	assert.ErrorContains(t, err, "--address")
}

func TestDialGivesUpOnASilentServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	patient := make(chan error, 1)
	go func() {
		_, err := Dial(ctx, Options{Address: listener.Addr().String(), DialTimeout: time.Hour})
		patient <- err
	}()
	_, err = Dial(t.Context(), Options{Address: listener.Addr().String(), DialTimeout: 100 * time.Millisecond})
	var unreachable *UnreachableError
	require.ErrorAs(t, err, &unreachable)
	assert.Empty(t, patient, "each waits as long as its own DialTimeout")
	cancel()
	require.Error(t, <-patient)
}

func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	return address
}
