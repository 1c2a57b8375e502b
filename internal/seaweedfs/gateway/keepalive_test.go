package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// one is a listener with one connection.
type one chan net.Conn

func (o one) Accept() (net.Conn, error) {
	connection, ok := <-o
	if !ok {
		return nil, net.ErrClosed
	}
	return connection, nil
}

func (o one) Close() error { close(o); return nil }

func (o one) Addr() net.Addr { return &net.TCPAddr{} }

type noFleet struct{}

func (noFleet) Join(context.Context, Worker) (Member, error) { return nil, errors.ErrUnsupported }

// TestAWorkerMayAnswerAPingLate: a worker on a busy node keeps its stream. SeaweedFS's own servers wait 20 s for the answer.
func TestAWorkerMayAnswerAPingLate(t *testing.T) {
	t.Parallel()
	const settings, ping, ack = 4, 6, 1
	frame := func(kind, flags byte, payload ...byte) []byte {
		return append([]byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, 0}, payload...)
	}
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Options{Listen: "127.0.0.1:0", Fleet: noFleet{}})
		require.NoError(t, err)
		server, worker := net.Pipe()
		listener := make(one, 1)
		listener <- server
		go func() { _ = g.grpc.Serve(listener) }() // until Stop
		defer g.grpc.Stop()
		// A pipe has no buffer, and both sides write first.
		sent := make(chan []byte, 10)
		defer close(sent)
		go func() {
			for bytes := range sent {
				_, _ = worker.Write(bytes) // The reads below notice a closed stream.
			}
		}()
		sent <- append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(settings, 0)...)
		for answered := 0; answered < 2; {
			head := make([]byte, 9)
			_, err := io.ReadFull(worker, head)
			require.NoError(t, err, "the stream is open")
			payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
			_, err = io.ReadFull(worker, payload)
			require.NoError(t, err)
			switch kind, flags := head[3], head[4]; {
			case flags&ack != 0:
			case kind == settings:
				sent <- frame(settings, ack)
			case kind == ping:
				time.Sleep(19 * time.Second)
				sent <- frame(ping, ack, payload...)
				answered++
			}
		}
	})
}
