package gateway

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/session"
)

const (
	// DefaultMaxWorkers is the default bound of streams.
	DefaultMaxWorkers = 1000
	// maxMessage bounds one message, above the 64 MiB that a page of proposals may have.
	maxMessage = 128 << 20
	// grpcOffset is the difference between the gRPC port and the HTTP port of -admin.
	grpcOffset = 10_000
	maxPort    = 65_535
)

// Options are the options of [New].
type Options struct {
	// Listen is the HTTP address for the workers' -admin flag.
	Listen string
	// GRPCListen is the address of the gRPC stream; if empty, the HTTP port + 10000.
	GRPCListen string
	// TLS secures the gRPC stream; nil means plaintext, the default of workers.
	TLS        *tls.Config
	MaxWorkers int
	Session    session.Settings
	Fleet      Fleet
	Lease      Lease
	Logger     *slog.Logger
}

// WithDefaults fills empty fields.
func (o Options) WithDefaults() Options {
	o.MaxWorkers = cmp.Or(o.MaxWorkers, DefaultMaxWorkers)
	if o.Session == (session.Settings{}) {
		o.Session = session.Defaults()
	}
	if o.Lease == nil {
		o.Lease = NoLease{}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// Validate reports every fault at once. It expects the defaults filled in.
func (o Options) Validate() error {
	var faults []error
	if _, err := GRPCAddress(o.Listen, o.GRPCListen); err != nil {
		faults = append(faults, err)
	}
	if o.MaxWorkers < 1 {
		faults = append(faults, fmt.Errorf("max workers must be at least 1, not %d", o.MaxWorkers))
	}
	if o.Fleet == nil {
		faults = append(faults, errors.New("no fleet to join workers to"))
	}
	return errors.Join(faults...)
}

// GRPCAddress returns the address of the stream: own, or 10000 ports above listen.
func GRPCAddress(listen, own string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("listen %q: write HOST:PORT", listen)
	}
	if own != "" {
		if _, _, err := net.SplitHostPort(own); err != nil {
			return "", fmt.Errorf("gRPC listen %q: write HOST:PORT", own)
		}
		return own, nil
	}
	number, err := strconv.Atoi(port)
	switch {
	case err != nil || number < 0:
		return "", fmt.Errorf("listen %q: the port must be a number", listen)
	case number == 0:
		return listen, nil
	case number+grpcOffset > maxPort:
		return "", fmt.Errorf("listen %q: the gRPC port would be %d: choose a port below %d, or give the gRPC address", listen, number+grpcOffset, maxPort-grpcOffset)
	}
	return net.JoinHostPort(host, strconv.Itoa(number+grpcOffset)), nil
}
