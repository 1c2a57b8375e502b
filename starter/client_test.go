package starter

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDialWithoutServerSaysHowToStartOne(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	_, err := Dial(t.Context(), Options{Address: closedPort(t)})
	var unreachable *UnreachableError
	require.ErrorAs(t, err, &unreachable)
	assert.ErrorContains(t, err, "roundsman dev")
	assert.ErrorContains(t, err, "--address")
	assert.Less(t, time.Since(begin), 30*time.Second)
}

func TestDialGivesUpOnASilentServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	begin := time.Now()
	_, err = Dial(t.Context(), Options{Address: listener.Addr().String(), DialTimeout: 100 * time.Millisecond})
	var unreachable *UnreachableError
	require.ErrorAs(t, err, &unreachable)
	assert.Less(t, time.Since(begin), DialTimeout, "as long as it was told to wait")
}

// closedPort is an address at which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	return address
}
