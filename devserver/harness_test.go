package devserver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/devserver"
)

// patience bounds every wait: long enough for a loaded machine under the race
// detector, so that only a real hang reaches it.
const patience = 2 * time.Minute

// process is one roundsman-devserver process.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.Closer
	lines  chan string
	stderr *buffer
	exited chan struct{}
}

// buffer collects stderr while the process still writes it.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// launch starts a process with exactly these arguments. It is killed at the end
// of the test if it still runs.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, stderr: &buffer{}, lines: make(chan string, 16), exited: make(chan struct{})}
	p.cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	p.cmd.Env = append(os.Environ(), asServer+"=1")
	p.cmd.Stderr = p.stderr
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.stdin, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go p.follow(stdout)
	t.Cleanup(func() {
		<-p.exited
		if t.Failed() {
			t.Logf("stderr of %v:\n%s", args, p.stderr)
		}
	})
	return p
}

// follow hands on the lines of stdout and notes the end.
func (p *process) follow(stdout io.Reader) {
	defer close(p.exited)
	defer close(p.lines)
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		p.lines <- scanner.Text()
	}
	// Its exit code is read from ProcessState.
	_ = p.cmd.Wait()
}

// start launches a server on free ports and waits until it is ready.
func start(t *testing.T, args ...string) (*process, devserver.Ready) {
	t.Helper()
	p := launch(t, append([]string{"--port", "0", "--ui-port", "0"}, args...)...)
	return p, p.ready()
}

// ready reads the ready line.
func (p *process) ready() devserver.Ready {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		require.True(p.t, ok, "the server ended before it was ready: %s", p.stderr)
		var r devserver.Ready
		require.NoError(p.t, json.Unmarshal([]byte(line), &r))
		return r
	case <-time.After(patience):
		require.Fail(p.t, "the server did not become ready", p.stderr.String())
		return devserver.Ready{}
	}
}

// signal sends a signal; the process must be running.
func (p *process) signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// kill is kill -9, and waits for the end.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.wait()
}

// wait returns the exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		require.Fail(p.t, "the process did not end", p.stderr.String())
		return 0
	}
}

// fails expects the process to end with this code and returns its stderr.
func (p *process) fails(code int) string {
	p.t.Helper()
	require.Equal(p.t, code, p.wait(), p.stderr.String())
	return p.stderr.String()
}

// stop ends a server politely.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	code := p.wait()
	require.Zero(p.t, code, p.stderr.String())
}

// dial connects a client to a server.
func dial(t *testing.T, r devserver.Ready) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: r.Address, Namespace: r.Namespace, Logger: silent{}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// readReadyFile returns nil when there is none.
func readReadyFile(t *testing.T, path string) *devserver.Ready {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	r := &devserver.Ready{}
	require.NoError(t, json.Unmarshal(text, r))
	return r
}

// silent drops the SDK's log.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
