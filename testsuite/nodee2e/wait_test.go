package nodee2e

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// slowDoor takes connections and answers nothing until it is opened to a server.
type slowDoor struct {
	listener net.Listener
	server   string
	open     atomic.Bool
}

func (d *slowDoor) serve() {
	var silent []net.Conn // The runtime closes a connection without references.
	defer func() {
		for _, taken := range silent {
			_ = taken.Close()
		}
	}()
	for {
		taken, err := d.listener.Accept()
		if err != nil {
			return
		}
		if !d.open.Load() {
			silent = append(silent, taken)
			continue
		}
		go func() {
			defer taken.Close()
			onward, err := (&net.Dialer{}).Dial("tcp", d.server)
			if err != nil {
				return
			}
			defer onward.Close()
			go func() { _, _ = io.Copy(onward, taken) }()
			_, _ = io.Copy(taken, onward)
		}()
	}
}

// TestASlowServerIsWaitedFor: a worker and a control plane name the server that does not
// answer, and serve once it does.
func TestASlowServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := &site{Site: sites.New(t)}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	door := &slowDoor{listener: listener, server: s.Server.Address()}
	go door.serve()
	address := listener.Addr().String()
	processes := []*sites.Process{s.StartAt(address, "server"), s.StartAt(address, "worker", "--id", "node-a", "--data-dir", s.Dir)}
	for _, p := range processes {
		testsuite.WaitFor(t, time.Minute, "it waits for the server", func() bool {
			return strings.Contains(p.Stderr.String(), "waiting for the Temporal server\" address="+address)
		})
		assert.NotContains(t, p.Stderr.String(), "does not speak gRPC")
	}
	door.open.Store(true)
	s.AwaitFresh("node-a")
}
