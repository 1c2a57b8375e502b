package weed

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// grpcOffset is the default distance from the HTTP port of a SeaweedFS server to its gRPC port.
const grpcOffset = 10_000

// ParseAddress reads host:http or host:http.grpc and returns the address for gRPC.
func ParseAddress(address string) (target string, err error) {
	host, ports, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return "", fmt.Errorf("%q is no address: write host:port, or host:port.grpc", address)
	}
	if strings.ContainsAny(host, " /@?#\t\r\n") {
		return "", fmt.Errorf("%q is no address: %q is no host", address, host)
	}
	http, grpc, dotted := strings.Cut(ports, ".")
	first, err := port(http)
	if err != nil {
		return "", fmt.Errorf("%q: %w", address, err)
	}
	second := first + grpcOffset
	if dotted {
		if second, err = port(grpc); err != nil {
			return "", fmt.Errorf("%q: %w", address, err)
		}
	}
	if second > 65535 {
		return "", fmt.Errorf("%q: the gRPC port would be %d: name it, as in host:port.grpc", address, second)
	}
	return net.JoinHostPort(host, strconv.Itoa(second)), nil
}

func port(text string) (int, error) {
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return 0, errors.New("a port is a number from 1 to 65535")
	}
	return int(number), nil
}

// formAddress returns the address of a server in calls. It includes the gRPC port unless it is the default.
func formAddress(address, id string, grpcPort uint32) string {
	address = cmp.Or(address, id)
	_, http, err := net.SplitHostPort(address)
	if err != nil || grpcPort == 0 || strings.Contains(http, ".") {
		return address
	}
	if number, err := port(http); err == nil && number+grpcOffset == int(grpcPort) {
		return address
	}
	return address + "." + strconv.FormatUint(uint64(grpcPort), 10)
}
