package doctor

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/roundsman/roundsman/starter"
)

// reachWithin bounds one connection to an address of this machine.
const reachWithin = time.Second

// checkFrontend warns if the frontend takes calls of everybody who reaches its port: then
// the rights that the API gives bind nobody. That it does is seen from this client, which
// shows no certificate and no key and is answered; from where it is reached, by connecting
// to it. Clients that did not dial themselves are not checked.
func checkFrontend(ctx context.Context, c *starter.Client) []Check {
	connection := c.Connection()
	if connection.Address == "" {
		return nil
	}
	return []Check{judgeFrontend(connection, reachedFrom(ctx, connection.Address, machineAddresses()))}
}

// judgeFrontend judges a frontend that other machines reach at an address; empty: none do.
func judgeFrontend(connection starter.Connection, reached string) Check {
	check := Check{Name: "frontend", Verdict: VerdictOK}
	switch {
	case connection.Credentials:
		check.Found = "it is asked with a certificate or a key"
	case reached == "":
		check.Found = "it takes calls without a certificate or a key, from this machine alone"
	default:
		check.Verdict = VerdictWarn
		check.Found = "it takes calls without a certificate or a key at " + reached + ": who reaches that can do everything"
		check.Fix = "give it TLS with client certificates, or let it listen on loopback: docs/access.md, \"Temporal's own port\""
	}
	return check
}

// reachedFrom is the address at which other machines may reach what is at address; empty:
// at none. A server on loopback may listen on every address of its machine.
func reachedFrom(ctx context.Context, address string, own []netip.Addr) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return address
	}
	for _, ip := range own {
		other := net.JoinHostPort(ip.String(), port)
		if connects(ctx, other) {
			return other
		}
	}
	return ""
}

func connects(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: reachWithin}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	return err == nil && connection.Close() == nil
}

// machineAddresses are those by which other machines reach this one.
func machineAddresses() (list []netip.Addr) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, each := range all {
		prefix, err := netip.ParsePrefix(each.String())
		if ip := prefix.Addr(); err == nil && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
			list = append(list, ip)
		}
	}
	return list
}
