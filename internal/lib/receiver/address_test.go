package receiver_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/receiver"
)

// An address in the file is checked before the first delivery, for webhooks and mail servers.
func TestAWrittenAddressIsJudged(t *testing.T) {
	t.Parallel()
	for host, refused := range map[string]bool{"10.0.0.7": true, "[::1]": true, "127.0.0.1": true, "mail.example.org": false, "192.0.2.1": false} {
		for _, allowed := range []bool{false, true} {
			mail := &receiver.SMTP{Server: host + ":587", From: "a@example.org", To: []string{"b@example.org"}, AllowPrivate: allowed}
			for _, to := range []receiver.Receiver{{Webhook: &receiver.Webhook{URL: "https://" + host + "/hook", AllowPrivate: allowed}}, {SMTP: mail}} {
				err := to.Validate()
				if refused && !allowed {
					assert.ErrorContains(t, err, "is private: the receiver needs allow_private: true", host)
				} else {
					assert.NoError(t, err, host)
				}
			}
		}
	}
	assert.ErrorContains(t, receiver.Receiver{Webhook: &receiver.Webhook{URL: "https://169.254.169.254/", AllowPrivate: true}}.Validate(), "link-local")
}

// The bounds of each range, also in IPv6 notation.
func TestRangesOfAddresses(t *testing.T) {
	t.Parallel()
	const public, private, never = 0, 1, 2
	for address, want := range map[string]int{
		"9.255.255.255": public, "10.0.0.0": private, "10.255.255.255": private, "11.0.0.0": public,
		"172.15.255.255": public, "172.16.0.0": private, "172.31.255.255": private, "172.32.0.0": public,
		"192.167.255.255": public, "192.168.0.0": private, "192.168.255.255": private, "192.169.0.0": public,
		"100.63.255.255": public, "100.64.0.0": private, "100.127.255.255": private, "100.128.0.0": public,
		"127.0.0.1": private, "127.255.255.255": private, "128.0.0.0": public,
		"169.253.255.255": public, "169.254.0.0": never, "169.254.169.254": never, "169.255.0.0": public,
		"223.255.255.255": public, "224.0.0.1": never, "239.255.255.255": never, "255.255.255.255": never, "0.0.0.0": never,
		"::": never, "::1": private, "2001:db8::1": public, "fbff::1": public, "fc00::1": private, "fdff::1": private, "fe80::1": never, "fe80::1%eth0": never, "ff02::1": never,
		"::ffff:10.0.0.1": private, "::ffff:127.0.0.1": private, "::ffff:100.64.0.1": private, "::ffff:169.254.169.254": never, "::ffff:255.255.255.255": never, "::ffff:8.8.8.8": public,
	} {
		at := netip.MustParseAddr(address)
		refused, allowed := receiver.CheckAddress(at, false), receiver.CheckAddress(at, true)
		assert.Equal(t, want != public, refused != nil, "%s: %v", address, refused)
		assert.Equal(t, want == never, allowed != nil, "%s: %v", address, allowed)
		if refused != nil {
			assert.ErrorContains(t, refused, "ADDRESS_REFUSED: "+at.Unmap().String())
		}
	}
}

// A name of this machine passes the check of the file, but not the check of the connection.
func TestAConnectionIsJudgedByItsAddress(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "::ffff:127.0.0.1"} {
		_, err = receiver.Dialer(false).DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		require.ErrorContains(t, err, "is private: the receiver needs allow_private: true", host)
		conn, err := receiver.Dialer(true).DialContext(t.Context(), "tcp4", net.JoinHostPort(host, port))
		require.NoError(t, err, host)
		require.NoError(t, conn.Close())
	}
	for _, address := range []string{"/run/socket", "mail.example.org:25", ""} {
		require.ErrorContains(t, receiver.Dialer(true).Control("tcp", address, nil), "cannot be judged", address)
	}
}
