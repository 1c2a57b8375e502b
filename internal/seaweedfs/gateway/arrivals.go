package gateway

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// part is the number of received bytes that are a sign of life: a frame of a message. The pings of an hour have less.
const part = 16 << 10

// arrivals counts the bytes of each connection, because gRPC reports only whole messages: 64 MiB take minutes on a
// slow link. A wrapper of the listener would hide the socket, on which gRPC sets TCP_USER_TIMEOUT.
type arrivals struct {
	credentials.TransportCredentials
}

// ServerHandshake implements [credentials.TransportCredentials].
func (a arrivals) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := a.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		return secured, info, err
	}
	c := &counted{Conn: secured, AuthInfo: info}
	return c, c, nil
}

// Clone implements [credentials.TransportCredentials].
func (a arrivals) Clone() credentials.TransportCredentials {
	return arrivals{a.TransportCredentials.Clone()}
}

// counted is a connection, and its own entry in the contexts of its streams.
type counted struct {
	net.Conn
	credentials.AuthInfo

	rest int // Bytes since the last part; only the reader uses it.
	last atomic.Pointer[time.Time]
}

// Read implements [net.Conn].
func (c *counted) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if c.rest += n; c.rest >= part {
		now := time.Now()
		c.rest = 0
		c.last.Store(&now)
	}
	return n, err
}

// lastPart returns the arrival of the last part on the connection of a stream; zero for none.
func lastPart(stream context.Context) (at time.Time) {
	if from, known := peer.FromContext(stream); known {
		if c, ours := from.AuthInfo.(*counted); ours && c.last.Load() != nil {
			at = *c.last.Load()
		}
	}
	return at
}
