package nodee2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// cable is a connection to the server that can be cut without a notice to either end. Data sent meanwhile arrives when it
// is mended.
type cable struct {
	address string
	uncut   sync.RWMutex
}

func newCable(t *testing.T, server string) *cable {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cable{address: listener.Addr().String()}
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			near, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				connections.Go(func() { c.pipe(t.Context(), near, server) })
			}
		}
	})
	t.Cleanup(func() { _ = listener.Close(); connections.Wait() })
	return c
}

func (c *cable) pipe(ctx context.Context, near net.Conn, server string) {
	var dialer net.Dialer
	far, err := dialer.DialContext(ctx, "tcp", server)
	if err != nil {
		_ = near.Close()
		return
	}
	end := func() { _ = near.Close(); _ = far.Close() }
	stop := context.AfterFunc(ctx, end)
	defer stop()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			defer end()
			_, _ = io.Copy(cuttable{way[0], c}, way[1]) // However it ends, the connection is over.
		})
	}
	both.Wait()
}

// cuttable writes while the cable is whole.
type cuttable struct {
	to net.Conn
	*cable
}

func (c cuttable) Write(data []byte) (int, error) {
	c.uncut.RLock()
	defer c.uncut.RUnlock()
	return c.to.Write(data)
}

// cut cuts the cable, and returns the function that mends it.
func (c *cable) cut(t *testing.T) (mend func()) {
	t.Helper()
	c.uncut.Lock()
	mend = sync.OnceFunc(c.uncut.Unlock)
	t.Cleanup(mend)
	return mend
}

// TestCutOffWorkerStopsFirst: under on_disconnect: stop the handler on a node that is
// cut off has ended before its job starts elsewhere.
func TestCutOffWorkerStopsFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := newCable(t, s.Server.Address())
	s.hold("fenced")
	s.apply(group{"fenced", "steps", "heartbeat_timeout: 6s, on_disconnect: stop", 1, 30, 100})
	s.StartAt(c.address, "worker", "--id", "node-a", "--data-dir", filepath.Join(s.Dir, "node-a"))
	s.AwaitFresh("node-a")
	ref := s.Begin("fenced")
	s.awaitBook("it works", func(b book) bool { return len(b.of("step").on("node-a")) > 6 })
	s.worker("node-b")
	s.AwaitFresh("node-b")
	mend := c.cut(t)
	lost := time.Now()
	b := s.awaitBook("the job runs elsewhere", func(b book) bool { return len(b.of("start").on("node-b")) > 0 })
	stop, start := b.of("stop").on("node-a"), b.of("start").on("node-b")[0]
	require.Len(t, stop, 1)
	t.Logf("stopped %.1f s after the cut, placed elsewhere after %.1f s, from step %d", stop[0].at.Sub(lost).Seconds(), start.at.Sub(lost).Seconds(), start.done)
	assert.True(t, stop[0].at.Before(start.at), "two at once")
	mend()
	s.letGo()
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, 1, result.Counts.Completed)
}

// TestHungCommandIsFound: liveness: activity finds a program that hangs, and a
// detection that does, within stall_timeout and not at the end of their time.
func TestHungCommandIsFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	config := sites.Scaled + "job_types:\n" + `  hangs:
    handler: command
    lane: free
    schedule: {every: 365d, first_run: scheduled}
    policy: {liveness: activity, stall_timeout: 10s}
    detect: {command: [echo, one]}
    execute: {command: [sh, -c, "echo begun; sleep 1000"]}
  blind:
    handler: command
    lane: free
    schedule: {every: 365d, first_run: scheduled}
    policy: {liveness: activity, stall_timeout: 10s, detection_timeout: 10m}
    detect: {command: [sleep, "1000"]}
    execute: {command: ["true"]}
lanes: {free: {exclusive: false}}
`
	s.Apply(config)
	s.worker("node-a")
	s.AwaitFresh("node-a")
	hangs, blind := s.Begin("hangs"), s.Begin("blind")
	result := s.Result(hangs)
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.Equal(t, 1, result.Counts.Stale)
	require.Len(t, result.Errors, 1)
	assert.Contains(t, result.Errors[0].Message, "no report, output, CPU or I/O for 10s (stall_timeout)")
	result = s.Result(blind)
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.Contains(t, fmt.Sprint(result), "no report, output, CPU or I/O for 10s (stall_timeout)")
}
