package receiver

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// sharedSpace is the address space of carriers, RFC 6598.
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10") //nolint:gochecknoglobals // constant

// CheckAddress refuses addresses without a single host, and private ones unless they are allowed.
func CheckAddress(at netip.Addr, allowPrivate bool) error {
	at = at.Unmap()
	switch {
	case at.IsLinkLocalUnicast(), at.IsMulticast(), at.IsUnspecified(), at == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return fmt.Errorf("ADDRESS_REFUSED: %s is link-local, multicast or unspecified", at)
	case (at.IsLoopback() || at.IsPrivate() || sharedSpace.Contains(at)) && !allowPrivate:
		return fmt.Errorf("ADDRESS_REFUSED: %s is private: the receiver needs allow_private: true", at)
	}
	return nil
}

// checkHost is [CheckAddress] for a host written as an address. A name is resolved at the delivery.
func checkHost(host string, allowPrivate bool) error {
	at, err := netip.ParseAddr(host)
	if err != nil {
		return nil //nolint:nilerr // a name
	}
	return CheckAddress(at, allowPrivate)
}

// Dialer checks addresses after the resolution, so no name can bypass the check.
func Dialer(allowPrivate bool) *net.Dialer {
	return &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("the address %s cannot be judged", address)
		}
		return CheckAddress(target.Addr(), allowPrivate)
	}}
}
