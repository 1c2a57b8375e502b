package doctor

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// A server on loopback is reachable for others if another address of the machine answers at its port. A
// server on another address always is.
func TestWhereAFrontendIsReached(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	other, silent := []netip.Addr{netip.MustParseAddr("127.0.0.1")}, []netip.Addr{netip.MustParseAddr("127.0.0.2")}
	for _, host := range []string{"localhost", "127.0.0.1", "::1"} {
		assert.Equal(t, "127.0.0.1:"+port, reachedFrom(t.Context(), net.JoinHostPort(host, port), other), host)
		assert.Empty(t, reachedFrom(t.Context(), net.JoinHostPort(host, port), silent), host)
	}
	for _, address := range []string{"192.0.2.7:7233", "temporal.example:7233", "[2001:db8::1]:7233"} {
		assert.Equal(t, address, reachedFrom(t.Context(), address, nil))
	}
}

// The server of the tests listens on loopback and needs no credentials.
func TestDoctorOnAnonymousCalls(t *testing.T) {
	t.Parallel()
	c, err := starter.Dial(t.Context(), starter.Options{Address: testsuite.StartServer(t).Address(), HeartbeatInterval: -1})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	assert.NotEmpty(t, c.Connection().Address)
	checks := checkFrontend(t.Context(), c)
	require.Len(t, checks, 1)
	assert.Equal(t, VerdictOK, checks[0].Verdict)
	assert.Empty(t, checkFrontend(t.Context(), starter.New(nil, "", nil)), "a client that did not dial")
	for _, row := range []struct {
		credentials bool
		reached     string
		want        Verdict
	}{{false, "", VerdictOK}, {false, "192.0.2.7:7233", VerdictWarn}, {true, "192.0.2.7:7233", VerdictOK}} {
		check := judgeFrontend(starter.Connection{Address: "x", Credentials: row.credentials}, row.reached)
		assert.Equal(t, row.want, check.Verdict, row)
		assert.Equal(t, row.want == VerdictWarn, check.Fix != "")
	}
}
