package sites

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// Scaled begins a configuration with the registry's thresholds in seconds instead of minutes.
const Scaled = "version: 1\nfleet: {heartbeat_interval: 1s, unreachable_after: 5s, offline_after: 10s, delete_after: 1h}\n"

// Patient is [Scaled] for tests of workers that stay silent but must not become OFFLINE.
const Patient = "version: 1\nfleet: {heartbeat_interval: 1s, unreachable_after: 5s, offline_after: 30m, delete_after: 2h}\n"

// Site is a server with a client and processes.
type Site struct {
	T      *testing.T
	Dir    string
	Server *testsuite.Server
	Client *starter.Client
	// All started processes, the newest last.
	Processes []*Process
}

// Bare starts a server for processes with these settings, without a client.
func Bare(t *testing.T, settings string) *Site {
	t.Helper()
	s := &Site{T: t, Dir: t.TempDir()}
	s.Server = replay.StartServer(t, testsuite.WithFile(filepath.Join(s.Dir, "temporal.db")))
	require.NoError(t, os.WriteFile(s.File(), []byte(settings), 0o600))
	return s
}

// New starts a server for processes with settings that are [Scaled].
func New(t *testing.T) *Site {
	t.Helper()
	return With(t, Scaled+"job_types: {}\n")
}

// With is [Bare] with a client.
func With(t *testing.T, settings string) *Site {
	t.Helper()
	s := Bare(t, settings)
	s.Dial(starter.Options{})
	return s
}

// Dial creates the client.
func (s *Site) Dial(options starter.Options) {
	s.T.Helper()
	options.Address = s.Server.Address()
	client, err := starter.Dial(s.T.Context(), options)
	require.NoError(s.T, err)
	s.T.Cleanup(client.Close)
	s.Client = client
}

// File returns the configuration file of the processes.
func (s *Site) File() string { return filepath.Join(s.Dir, "fleet.yaml") }

// Play starts a process of this test binary in a role.
func (s *Site) Play(role string, args ...string) *Process {
	s.T.Helper()
	return s.run([]string{roleEnv + "=" + role}, nil, append([]string{Self(s.T)}, args...)...)
}

// Start starts a roundsman process.
func (s *Site) Start(args ...string) *Process {
	s.T.Helper()
	return s.StartAt(s.Server.Address(), args...)
}

// StartAt starts a roundsman process for the server at address.
func (s *Site) StartAt(address string, args ...string) *Process {
	s.T.Helper()
	return s.Play(role, append(args, "--address", address, "--config", s.File())...)
}

// Program starts another program in its own process group, with additional environment variables. Processes of this test
// binary that it starts are roundsman processes.
func (s *Site) Program(environ []string, line ...string) *Process {
	s.T.Helper()
	return s.run(append(environ, roleEnv+"="+role), &syscall.SysProcAttr{Setpgid: true}, line...)
}

// Self is the path of this test binary.
func Self(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return self
}

// Command runs a command line to its end and returns its output.
func (s *Site) Command(args ...string) string {
	s.T.Helper()
	p := s.Start(args...)
	require.Equal(s.T, 0, p.Code(s.T, time.Minute), "%v: %s%s", args, p.Stdout.Last(), p.Stderr.Last())
	return p.Stdout.String()
}

// Apply applies a configuration.
func (s *Site) Apply(text string) {
	s.T.Helper()
	path := filepath.Join(s.Dir, "jobs.yaml")
	require.NoError(s.T, os.WriteFile(path, []byte(text), 0o600))
	p := s.Play(role, "apply", "--prune", "--config", path, "--address", s.Server.Address(), "--allow-unregistered")
	require.Equal(s.T, 0, p.Code(s.T, time.Minute), p.Stderr.Last())
}

// Begin runs a job type now.
func (s *Site) Begin(name string) starter.RunRef {
	s.T.Helper()
	started, err := jobtypes.Of(s.Client).RunNow(s.T.Context(), name)
	require.NoError(s.T, err)
	return started.RunRef
}

// Result waits at most four minutes for the end of a run.
func (s *Site) Result(ref starter.RunRef) contract.JobGroupResult {
	s.T.Helper()
	ctx, cancel := testsuite.Within(s.T, 4*time.Minute)
	defer cancel()
	result, err := s.Client.Runs().Result(ctx, ref)
	require.NoError(s.T, err, "%v", context.Cause(ctx))
	return result
}

// Await waits until is returns true for a worker, and returns the worker.
func (s *Site) Await(id, what string, is func(contract.WorkerDetail) bool) (seen contract.WorkerDetail) {
	s.T.Helper()
	testsuite.WaitFor(s.T, time.Minute, fmt.Sprintf("%s is %s", id, what), func() bool {
		w, err := s.Client.Workers().Get(s.T.Context(), id)
		seen = w
		return err == nil && is(w)
	})
	return seen
}

// AwaitFresh waits until the registry has fresh heartbeats of these workers.
func (s *Site) AwaitFresh(ids ...string) {
	s.T.Helper()
	for _, id := range ids {
		s.Await(id, "fresh", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOnline && w.Fresh })
	}
}

// taken holds the addresses returned by this process.
var taken sync.Map //nolint:gochecknoglobals // of the process, as its id is

// FreeAddress returns an address to listen on, any number of times. No other call returns it. Its host is in 127.0.0.0/8
// and used by this process only, so that no other process takes the port. If only 127.0.0.1 exists, the host is that.
func FreeAddress(t testing.TB) string {
	t.Helper()
	id := os.Getpid()
	for _, host := range []string{fmt.Sprintf("127.%d.%d.1", 1+id>>8%250, id%256), "127.0.0.1"} {
		for range 10 {
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
			if err != nil {
				break
			}
			address := listener.Addr().String()
			require.NoError(t, listener.Close())
			if _, given := taken.LoadOrStore(address, true); !given {
				return address
			}
		}
	}
	t.Fatal("no loopback address is free")
	return ""
}
