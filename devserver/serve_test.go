package devserver_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/devserver"
)

func TestServesUntilToldToStop(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ready.json")
			p, r := start(t, "--ready-file", file, "--namespace", "maintenance")

			assert.Equal(t, "maintenance", r.Namespace)
			assert.Equal(t, devserver.StoreMemory, r.Store)
			assert.Equal(t, p.cmd.Process.Pid, r.PID)
			assert.Equal(t, &r, readReadyFile(t, file), "file and line say the same")
			assert.Equal(t, http.StatusOK, get(t, r.UIURL))

			p.signal(sig)
			assert.Zero(t, p.wait())
			assert.Nil(t, readReadyFile(t, file), "the ready file goes with the server")
			assert.Empty(t, p.lines, "stdout carries nothing but the ready line")
			assert.Empty(t, p.stderr.String(), "a quiet life leaves no log")
		})
	}
}

func TestStopsWithItsParent(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "--exit-on-stdin-eof", "--headless")
	require.NoError(t, p.stdin.Close())
	code := p.wait()
	assert.Zero(t, code)
}

func TestStdinDoesNotMatterByDefault(t *testing.T) {
	t.Parallel()
	p, r := start(t, "--headless")
	require.NoError(t, p.stdin.Close())
	_, err := dial(t, r).CheckHealth(t.Context(), &client.CheckHealthRequest{})
	require.NoError(t, err)
	p.stop()
}

func TestHeadlessHasNoUI(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--headless"}, {"--ui-port", "-1"}} {
		p := launch(t, append([]string{"--port", "0"}, args...)...)
		assert.Empty(t, p.ready().UIURL)
		p.stop()
	}
}

// The server needs no credentials, so it must not be reachable from outside.
func TestListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	p, r := start(t)
	addresses := listeners(t, r.PID)
	assert.GreaterOrEqual(t, len(addresses), 5, "four services and the Web UI: %v", addresses)
	for _, address := range addresses {
		assert.True(t, address.IP.IsLoopback(), "%s is reachable from outside", address)
	}
	p.stop()
}

func TestSearchAttributesAreUsable(t *testing.T) {
	t.Parallel()
	_, r := start(t, "--headless")
	requireSearchAttributes(t, dial(t, r))
}

// requireSearchAttributes starts a workflow with both attributes and finds it by
// each of them.
func requireSearchAttributes(t *testing.T, c client.Client) {
	t.Helper()
	jobType := temporal.NewSearchAttributeKeyKeyword(devserver.SearchAttributeJobType)
	outcome := temporal.NewSearchAttributeKeyKeyword(devserver.SearchAttributeOutcome)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		TaskQueue:             "nobody",
		TypedSearchAttributes: temporal.NewSearchAttributes(jobType.ValueSet("scrub"), outcome.ValueSet("partial")),
	}, "any")
	require.NoError(t, err)
	for _, query := range []string{`RoundsmanJobType = "scrub"`, `RoundsmanOutcome IN ("partial", "failed")`} {
		require.EventuallyWithT(t, func(tick *assert.CollectT) {
			found, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
			require.NoError(tick, err)
			require.Len(tick, found.GetExecutions(), 1)
			assert.Equal(tick, run.GetID(), found.GetExecutions()[0].GetExecution().GetWorkflowId())
		}, patience, 50*time.Millisecond, query)
	}
}

// Clients learn the capabilities beyond a stock server on which Roundsman relies.
func TestAnnouncesCapabilities(t *testing.T) {
	t.Parallel()
	_, r := start(t, "--headless")
	resp, err := dial(t, r).WorkflowService().DescribeNamespace(t.Context(),
		&workflowservice.DescribeNamespaceRequest{Namespace: r.Namespace})
	require.NoError(t, err)
	has := resp.GetNamespaceInfo().GetCapabilities()
	assert.True(t, has.GetWorkerHeartbeats(), "worker heartbeats: liveness")
	assert.True(t, has.GetWorkerCommands(), "worker commands: cancellation within milliseconds")
	assert.False(t, has.GetWorkflowPause(), "a workflow of Roundsman is paused by `runs pause`")
	assert.True(t, has.GetSyncUpdate(), "updates")
	assert.True(t, has.GetAsyncUpdate(), "updates")
	assert.Equal(t, 72*time.Hour, resp.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())

	_, err = dial(t, r).WorkflowService().ListWorkers(t.Context(),
		&workflowservice.ListWorkersRequest{Namespace: r.Namespace})
	assert.NoError(t, err)
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, taken.Close()) })
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"--port", []string{"--port", port, "--ui-port", "0"}},
		{"--ui-port", []string{"--port", "0", "--ui-port", port}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			message := launch(t, c.args...).fails(1)
			assert.Contains(t, message, "port "+port+" on 127.0.0.1 is in use")
			assert.Contains(t, message, "choose another with "+c.name+" ")
		})
	}
}

func get(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	resp, err := (&http.Client{}).Do(req)
	require.NoError(t, err)
	defer func() { assert.NoError(t, resp.Body.Close()) }()
	return resp.StatusCode
}

// listeners are the addresses a process listens on.
func listeners(t *testing.T, pid int) []net.TCPAddr {
	t.Helper()
	owned := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil {
			owned[target] = true
		}
	}
	var found []net.TCPAddr
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		require.NoError(t, err)
		for _, line := range strings.Split(string(text), "\n")[1:] {
			const local, state, inode, listening = 1, 3, 9, "0A"
			fields := strings.Fields(line)
			if len(fields) > inode && fields[state] == listening && owned["socket:["+fields[inode]+"]"] {
				found = append(found, parseProcAddress(t, fields[local]))
			}
		}
	}
	return found
}

// parseProcAddress reads the kernel's "0100007F:1C41": bytes in host order of each 32-bit word, which is reversed on all
// supported machines.
func parseProcAddress(t *testing.T, text string) net.TCPAddr {
	t.Helper()
	host, port, ok := strings.Cut(text, ":")
	require.True(t, ok, text)
	number, err := strconv.ParseUint(port, 16, 16)
	require.NoError(t, err)
	ip := make(net.IP, len(host)/2)
	for i := range ip {
		b, err := strconv.ParseUint(host[2*i:2*i+2], 16, 8)
		require.NoError(t, err)
		ip[i/4*4+3-i%4] = byte(b)
	}
	return net.TCPAddr{IP: ip, Port: int(number)}
}
