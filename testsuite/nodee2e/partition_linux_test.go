package nodee2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// island is a network namespace that reaches the server through a cable of its own, which can be cut without a notice to
// either side.
type island struct {
	t           *testing.T
	name, cable string
	address     string
}

// newIsland makes one, and skips the test where that is not permitted.
func newIsland(t *testing.T, server string) *island {
	t.Helper()
	unique := os.Getpid() % 60000
	i := &island{t: t, name: fmt.Sprintf("rm%d", unique), cable: fmt.Sprintf("rm%dv", unique)}
	if out, err := i.ip("netns", "add", i.name); err != nil {
		t.Skipf("network namespaces are not permitted here, so nothing can be cut off: %v: %s", err, out)
	}
	t.Cleanup(func() {
		_, _ = i.ip("link", "del", i.cable) // It ends with the namespace as well.
		_, _ = i.ip("netns", "del", i.name)
	})
	// A /30 of the range that is reserved for benchmarks of networks.
	here, there := fmt.Sprintf("198.18.%d.%d", unique/250%250, unique%62*4+1), fmt.Sprintf("198.18.%d.%d", unique/250%250, unique%62*4+2)
	for _, line := range []string{
		fmt.Sprintf("link add %s type veth peer name cable netns %s", i.cable, i.name),
		fmt.Sprintf("addr add %s/30 dev %s", here, i.cable),
		fmt.Sprintf("link set %s up", i.cable),
		fmt.Sprintf("-n %s addr add %s/30 dev cable", i.name, there),
		fmt.Sprintf("-n %s link set cable up", i.name),
		fmt.Sprintf("-n %s link set lo up", i.name),
	} {
		if out, err := i.ip(strings.Fields(line)...); err != nil {
			t.Skipf("no virtual cable can be laid here: ip %s: %v: %s", line, err, out)
		}
	}
	i.address = i.forward(here, server)
	return i
}

func (i *island) ip(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(i.t.Context()), 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	return string(out), err
}

// forward lets the island reach the server, which listens on loopback only.
func (i *island) forward(here, server string) string {
	i.t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(i.t.Context(), "tcp", here+":0")
	require.NoError(i.t, err)
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			near, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				connections.Go(func() { pipe(i.t.Context(), near, server) })
			}
		}
	})
	i.t.Cleanup(func() { _ = listener.Close(); connections.Wait() })
	return listener.Addr().String()
}

// pipe copies both ways until one side ends or ctx does.
func pipe(ctx context.Context, near net.Conn, server string) {
	var dialer net.Dialer
	far, err := dialer.DialContext(ctx, "tcp", server)
	if err != nil {
		_ = near.Close()
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = near.Close(); _ = far.Close() })
	defer stop()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // However it ends, the connection is over.
			_ = near.Close()
			_ = far.Close()
		})
	}
	both.Wait()
}

func (i *island) cut() {
	_, err := i.ip("link", "set", i.cable, "down")
	require.NoError(i.t, err)
}

func (i *island) heal() {
	_, err := i.ip("link", "set", i.cable, "up")
	require.NoError(i.t, err)
}

// TestPartition cuts a worker off while it works. Its job goes elsewhere, and its late outcome does not count twice. Then
// it works again.
func TestPartition(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	i := newIsland(t, s.Server.Address())
	s.apply(group{"cut", "steps", "heartbeat_timeout: 5s, global_execution_concurrency: 1", 2, 60, 250})
	s.Program(nil, "ip", "netns", "exec", i.name, sites.Self(t), "worker", "--id", "node-a", "--data-dir", filepath.Join(s.Dir, "node-a"),
		"--address", i.address, "--config", filepath.Join(s.Dir, "fleet.yaml"))
	s.AwaitFresh("node-a")
	ref := s.Begin("cut")
	s.awaitBook("it works on the island", func(b book) bool { return len(b.of("step").on("node-a")) > 6 })
	s.worker("node-b")
	s.AwaitFresh("node-b")
	i.cut()
	lost := time.Now()
	b := s.awaitBook("the job runs elsewhere", func(b book) bool { return len(b.of("start").on("node-b")) > 0 })
	start := b.of("start").on("node-b")[0]
	t.Logf("placed elsewhere %.1f s after the cut, from step %d", start.at.Sub(lost).Seconds(), start.done)
	assert.Positive(t, start.done)
	s.Await("node-a", "UNREACHABLE, or OFFLINE by now", func(w contract.WorkerDetail) bool {
		return w.State == contract.WorkerUnreachable || w.State == contract.WorkerOffline
	})
	i.heal()
	s.AwaitFresh("node-a")
	s.awaitBook("the island's handler ends, one way or the other", func(b book) bool {
		return len(b.on("node-a").of("stop"))+len(b.on("node-a").of("end")) > 0
	})
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, 2, result.Counts.Completed, "the late result does not count twice")
	assert.Equal(t, 1, result.Counts.Replacements)
	assert.Zero(t, result.Counts.Retries)
}
