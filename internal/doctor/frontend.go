package doctor

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/roundsman/roundsman/starter"
)

const reachWithin = time.Second

// checkFrontend warns if the frontend accepts calls of any client that can connect, since the API's permissions then
// bind no one. It does not check a client made with [starter.New].
func checkFrontend(ctx context.Context, c *starter.Client) []Check {
	connection := c.Connection()
	if connection.Address == "" {
		return nil
	}
	return []Check{judgeFrontend(connection, reachedFrom(ctx, connection.Address, machineAddresses()))}
}

func judgeFrontend(connection starter.Connection, reached string) Check {
	check := Check{Name: "frontend", Verdict: VerdictOK}
	switch {
	case connection.Credentials:
		check.Found = "it is queried with a certificate or a key"
	case reached == "":
		check.Found = "it takes calls without a certificate or a key, from this machine alone"
	default:
		check.Verdict = VerdictWarn
		check.Found = "it takes calls without a certificate or a key at " + reached + ": who reaches that can do everything"
		check.Help(hinted("give it TLS with client certificates, or let it listen on loopback: docs/access.md, \"Temporal's own port\""))
	}
	return check
}

// A server on loopback may listen on every address of its machine.
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
