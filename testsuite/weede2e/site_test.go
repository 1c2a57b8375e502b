package weede2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/fakeweed"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// roleEnv makes the test binary a roundsman, or a weed worker.
const roleEnv = "ROUNDSMAN_WEEDE2E"

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run()) //nolint:forbidigo // what TestMain is for
	}
	// No process outlives the tests, however they end.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3) //nolint:forbidigo // this is cmd/roundsman's main
	}()
	if role == "weed" {
		_ = fakeweed.Main(context.Background(), os.Args[1:], os.Stdout) // it is killed
		return
	}
	os.Exit(roundsman.Main()) //nolint:forbidigo // as above
}

// fleetConfig has the registry's thresholds in seconds instead of minutes.
const fleetConfig = "version: 1\nfleet: {heartbeat_interval: 1s, unreachable_after: 5s, offline_after: 10s, delete_after: 1h}\n"

// site is a server, a control plane, a gateway and weed workers.
type site struct {
	t             *testing.T
	dir           string
	server        *testsuite.Server
	client        *starter.Client
	control       *process
	gateway       *process
	admin, stream string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), admin: freeAddress(t), stream: freeAddress(t)}
	s.server = replay.StartServer(t, testsuite.WithFile(filepath.Join(s.dir, "temporal.db")))
	client, err := starter.Dial(t.Context(), starter.Options{Address: s.server.Address()})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	s.client = client
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "fleet.yaml"), []byte(fleetConfig+"job_types: {}\n"), 0o600))
	s.control = s.roundsman("server")
	s.startGateway()
	return s
}

func freeAddress(t *testing.T) string {
	t.Helper()
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (s *site) startGateway() {
	s.gateway = s.roundsman("gateway", "seaweedfs", "--listen", s.admin, "--grpc-listen", s.stream, "--data-dir", filepath.Join(s.dir, "gateway"))
}

func (s *site) roundsman(args ...string) *process {
	return s.run("roundsman", append(args, "--address", s.server.Address(), "--config", filepath.Join(s.dir, "fleet.yaml"))...)
}

// weed starts a weed worker.
func (s *site) weed(id string, args ...string) *process {
	return s.run("weed", append([]string{"-admin", s.admin, "-id", id, "-jobType", "vacuum,volume_balance"}, args...)...)
}

func (s *site) run(role string, args ...string) *process {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	p := &process{Cmd: exec.CommandContext(context.WithoutCancel(s.t.Context()), self, args...), done: make(chan struct{}), started: time.Now()}
	p.Dir, p.Stdout, p.Stderr, p.Env = s.dir, &p.stdout, &p.stderr, append(os.Environ(), roleEnv+"="+role, "NO_COLOR=1")
	stdin, err := p.StdinPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, p.Start())
	go func() {
		_ = p.Wait() // How it ended is read from ProcessState.
		close(p.done)
	}()
	s.t.Cleanup(func() {
		p.kill()
		_ = stdin.Close()
		if s.t.Failed() {
			s.t.Logf("%v said:\n%s\n%s", args, last(p.stdout.lines()), last(p.stderr.lines()))
		}
	})
	return p
}

// command runs a command line to its end and returns what it printed.
func (s *site) command(args ...string) string {
	s.t.Helper()
	p := s.roundsman(args...)
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		s.t.Fatalf("%v has not ended", args)
	}
	require.Equal(s.t, 0, p.ProcessState.ExitCode(), "%v: %s", args, last(p.stderr.lines()))
	return strings.Join(p.stdout.lines(), "\n")
}

// apply applies the job type vacuum, which is due only when a test says so.
func (s *site) apply(policy string) {
	s.t.Helper()
	s.applyText(fmt.Sprintf("%sjob_types:\n  vacuum:\n    handler: weed-vacuum\n    schedule: {every: 365d}\n    policy: {%s}\n", fleetConfig, policy))
}

func (s *site) applyText(text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, "jobs.yaml")
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
	p := s.run("roundsman", "apply", "--prune", "--config", path, "--address", s.server.Address(), "--allow-unregistered")
	<-p.done
	require.Equal(s.t, 0, p.ProcessState.ExitCode(), last(p.stderr.lines()))
}

func (s *site) begin() starter.RunRef {
	s.t.Helper()
	return s.beginOf("vacuum")
}

func (s *site) beginOf(jobType string) starter.RunRef {
	s.t.Helper()
	started, err := jobtypes.Of(s.client).RunNow(s.t.Context(), jobType)
	require.NoError(s.t, err)
	return started.RunRef
}

func (s *site) result(ref starter.RunRef) contract.JobGroupResult {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	result, err := s.client.Runs().Result(ctx, ref)
	require.NoError(s.t, err)
	return result
}

// awaitWorker waits until the registry sees the worker beat.
func (s *site) awaitWorker(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		testsuite.WaitFor(s.t, time.Minute, id+" to be fresh", func() bool {
			w, err := s.client.Workers().Get(s.t.Context(), id)
			return err == nil && w.State == contract.WorkerOnline && w.Fresh
		})
	}
}

// process is one started process.
type process struct {
	*exec.Cmd
	stdout, stderr output
	started        time.Time
	done           chan struct{}
}

// kill is kill -9, and waits until the process is gone.
func (p *process) kill() {
	_ = p.Process.Signal(syscall.SIGKILL)
	<-p.done
}

// awaitLines waits until the process has printed n lines that begin with prefix.
func (s *site) awaitLines(n int, prefix string, from ...*process) {
	s.t.Helper()
	testsuite.WaitFor(s.t, time.Minute, fmt.Sprintf("%d lines %q", n, prefix), func() bool {
		count := 0
		for _, p := range from {
			count += len(p.stdout.with(prefix))
		}
		return count >= n
	})
}

// output keeps lines with the time at which they came. It may be read while the process
// writes.
type output struct {
	mu   sync.Mutex
	rest string
	kept []line
}

type line struct {
	at   time.Time
	text string
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	parts := strings.Split(o.rest+string(p), "\n")
	for _, text := range parts[:len(parts)-1] {
		o.kept = append(o.kept, line{time.Now(), text})
	}
	o.rest = parts[len(parts)-1]
	return len(p), nil
}

func (o *output) with(prefix string) []line {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []line
	for _, each := range o.kept {
		if strings.HasPrefix(each.text, prefix) {
			found = append(found, each)
		}
	}
	return found
}

func (o *output) lines() []string {
	var all []string
	for _, each := range o.with("") {
		all = append(all, each.text)
	}
	return all
}

func last(lines []string) string { return strings.Join(lines[max(0, len(lines)-40):], "\n") }
