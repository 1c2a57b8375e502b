package gateway

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

// Bounds of the log of refused connections: a worker connects again every 5 s.
const (
	refusalEvery = time.Minute
	maxRefusals  = 1000
)

// refusals logs the cause of a failed handshake, which gRPC itself drops, once a minute per host.
type refusals struct {
	credentials.TransportCredentials
	logger *slog.Logger
	log    *refusalLog
}

type refusalLog struct {
	mu   sync.Mutex
	last map[string]time.Time // by host
}

func newRefusals(of credentials.TransportCredentials, logger *slog.Logger) refusals {
	return refusals{of, logger, &refusalLog{last: map[string]time.Time{}}}
}

// ServerHandshake implements [credentials.TransportCredentials].
func (r refusals) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := r.TransportCredentials.ServerHandshake(conn)
	if err != nil && !errors.Is(err, io.EOF) && r.log.due(conn.RemoteAddr().String(), time.Now()) {
		r.logger.Warn("TLS_REFUSED: a worker's connection was refused; check its security.toml against --tls-client-ca",
			"from", conn.RemoteAddr().String(), "cause", err.Error())
	}
	return secured, info, err
}

// Clone implements [credentials.TransportCredentials].
func (r refusals) Clone() credentials.TransportCredentials {
	return refusals{r.TransportCredentials.Clone(), r.logger, r.log}
}

func (l *refusalLog) due(address string, now time.Time) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.last[host]) < refusalEvery {
		return false
	}
	if len(l.last) >= maxRefusals {
		clear(l.last)
	}
	l.last[host] = now
	return true
}
