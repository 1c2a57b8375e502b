package app

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPortInUseIsLeftToItsOwner(t *testing.T) {
	t.Parallel()
	owner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer owner.Close()
	taken := owner.Addr().String()
	h := &HTTP{Address: taken, AnyPort: true}
	require.NoError(t, h.listen(t.Context()))
	defer h.listener.Close()
	require.ErrorIs(t, h.Moved, syscall.EADDRINUSE)
	assert.NotContains(t, h.URL(), taken)
	require.Error(t, (&HTTP{Address: taken}).listen(t.Context()))
	free := &HTTP{Address: "127.0.0.1:0", AnyPort: true}
	require.NoError(t, free.listen(t.Context()))
	defer free.listener.Close()
	require.NoError(t, free.Moved)
}
