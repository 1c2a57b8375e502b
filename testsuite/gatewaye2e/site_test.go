package gatewaye2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/gateway"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// roleEnv makes the test binary a roundsman.
const roleEnv = "ROUNDSMAN_GATEWAYE2E"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "" {
		os.Exit(m.Run()) //nolint:forbidigo // what TestMain is for
	}
	// No process outlives the tests, however they end.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3) //nolint:forbidigo // this is cmd/roundsman's main
	}()
	os.Exit(roundsman.Main()) //nolint:forbidigo // as above
}

// scaled are the registry's thresholds in seconds instead of minutes.
const scaled = "version: 1\nfleet: {heartbeat_interval: 1s, unreachable_after: 5s, offline_after: 10s, delete_after: 1h}\n"

// site is a server and a control plane.
type site struct {
	t      *testing.T
	dir    string
	server *testsuite.Server
	client *starter.Client
	// processes are all that were started, the newest last.
	processes []*process
}

// processOf is the newest process whose last argument is the worker's id.
func (s *site) processOf(id string) *process {
	for _, p := range slices.Backward(s.processes) {
		if p.Args[len(p.Args)-1] == id {
			return p
		}
	}
	s.t.Fatalf("no process of %s", id)
	return nil
}

// command runs a command line to its end and returns what it printed.
func (s *site) command(args ...string) string {
	s.t.Helper()
	p := s.start(args...)
	require.Equal(s.t, 0, p.code(s.t, time.Minute), "%v: %s%s", args, p.stdout.last(), p.stderr.last())
	return p.stdout.String()
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	s.server = replay.StartServer(t, testsuite.WithFile(filepath.Join(s.dir, "temporal.db")))
	client, err := starter.Dial(t.Context(), starter.Options{Address: s.server.Address()})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	s.client = client
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "fleet.yaml"), []byte(scaled+"job_types: {}\n"), 0o600))
	s.start("server")
	return s
}

// core is a gateway in this process, without HTTP.
func (s *site) core() *gateway.Gateway {
	s.t.Helper()
	secret, err := gateway.SharedSecret(s.t.Context(), s.client.Temporal())
	require.NoError(s.t, err)
	g, err := gateway.New(gateway.Options{
		Client: s.client.Temporal(), Namespace: s.client.Namespace(), Converter: starter.DataConverter(), Secret: secret,
	})
	require.NoError(s.t, err)
	return g
}

func (s *site) start(args ...string) *process {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	return s.run(append([]string{self}, append(args, "--address", s.server.Address(), "--config", filepath.Join(s.dir, "fleet.yaml"))...)...)
}

func (s *site) run(line ...string) *process {
	s.t.Helper()
	return s.runWith(nil, line...)
}

// runWith runs a program with more environment until the test ends.
func (s *site) runWith(environ []string, line ...string) *process {
	s.t.Helper()
	p := &process{Cmd: exec.CommandContext(context.WithoutCancel(s.t.Context()), line[0], line[1:]...), done: make(chan struct{})}
	p.Dir, p.Stdout, p.Stderr = s.dir, &p.stdout, &p.stderr
	p.Env = append(append(os.Environ(), roleEnv+"=1", "NO_COLOR=1"), environ...)
	p.ownGroup()
	stdin, err := p.StdinPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, p.Start())
	s.processes = append(s.processes, p)
	go func() {
		_ = p.Wait() // How it ended is read from ProcessState.
		close(p.done)
	}()
	s.t.Cleanup(func() {
		p.kill()
		_ = stdin.Close()
		if s.t.Failed() {
			s.t.Logf("%s said:\n%s%s", strings.Join(line[1:], " "), p.stdout.last(), p.stderr.last())
		}
	})
	return p
}

// process is one started process.
type process struct {
	*exec.Cmd
	stdout, stderr output
	done           chan struct{}
}

// output may be read while the process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) last() string {
	const keep = 3000
	text := o.String()
	return text[max(0, len(text)-keep):]
}

// code waits for the end of the process and returns its exit code.
func (p *process) code(t *testing.T, limit time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
		return p.ProcessState.ExitCode()
	case <-time.After(limit):
		t.Fatalf("%v has not ended after %s:\n%s%s", p.Args[1:], limit, p.stdout.last(), p.stderr.last())
		return -1
	}
}

// apply applies job types, which are due only when a test begins them.
func (s *site) apply(jobTypes string) {
	s.t.Helper()
	path := filepath.Join(s.dir, "jobs.yaml")
	require.NoError(s.t, os.WriteFile(path, []byte(scaled+"lanes: {free: {exclusive: false}}\njob_types:\n"+jobTypes), 0o600))
	self, err := os.Executable()
	require.NoError(s.t, err)
	p := s.run(self, "apply", "--prune", "--config", path, "--address", s.server.Address(), "--allow-unregistered")
	require.Equal(s.t, 0, p.code(s.t, time.Minute), p.stderr.last())
}

// jobType is one for apply.
func jobType(name, handler, policy string) string {
	return fmt.Sprintf("  %s:\n    handler: %s\n    lane: free\n    schedule: {every: 365d}\n    policy: {%s}\n", name, handler, policy)
}

// begin starts a job type now.
func (s *site) begin(name string) starter.RunRef {
	s.t.Helper()
	started, err := jobtypes.Of(s.client).RunNow(s.t.Context(), name)
	require.NoError(s.t, err)
	return started.RunRef
}

// result waits for the end of a run.
func (s *site) result(ref starter.RunRef) contract.JobGroupResult {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 4*time.Minute)
	defer cancel()
	result, err := s.client.Runs().Result(ctx, ref)
	require.NoError(s.t, err)
	return result
}

func (s *site) await(id, what string, is func(contract.WorkerDetail) bool) (seen contract.WorkerDetail) {
	s.t.Helper()
	testsuite.WaitFor(s.t, time.Minute, fmt.Sprintf("%s is %s", id, what), func() bool {
		w, err := s.client.Workers().Get(s.t.Context(), id)
		seen = w
		return err == nil && is(w)
	})
	return seen
}
