package nodee2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// roleEnv makes the test binary a roundsman with the handlers of these tests.
const roleEnv = "ROUNDSMAN_NODEE2E"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "" {
		os.Exit(m.Run()) //nolint:forbidigo // what TestMain is for
	}
	// No process outlives the tests, however they end.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3) //nolint:forbidigo // this is cmd/roundsman's main with other handlers
	}()
	os.Exit(roundsman.Main(handlers()...)) //nolint:forbidigo // as above
}

func handlers() []jobtype.Handler {
	return []jobtype.Handler{steps{name: "steps"}, steps{name: "capped", cap: 3}}
}

// scaled are the registry's thresholds in seconds instead of minutes.
const scaled = "version: 1\nfleet: {heartbeat_interval: 1s, unreachable_after: 5s, offline_after: 10s, delete_after: 1h}\njob_types: {}\n"

// site is a server, a control plane and workers, each a process.
type site struct {
	t      *testing.T
	dir    string
	server *testsuite.Server
	client *starter.Client
	// control is the control plane that newSite started.
	control *process
	// held are the job types whose jobs do not take their last step before letGo.
	held []string
}

func newSite(t *testing.T, workers ...string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	s.server = replay.StartServer(t, testsuite.WithFile(filepath.Join(s.dir, "temporal.db")))
	client, err := starter.Dial(t.Context(), starter.Options{Address: s.server.Address()})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	s.client = client
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "fleet.yaml"), []byte(scaled), 0o600))
	s.control = s.start("server")
	for _, id := range workers {
		s.worker(id)
	}
	s.awaitFresh(workers...)
	return s
}

// worker starts a worker process with its own data directory.
func (s *site) worker(id string, extra ...string) *process {
	s.t.Helper()
	return s.start(append([]string{"worker", "--id", id, "--data-dir", filepath.Join(s.dir, id)}, extra...)...)
}

func (s *site) start(args ...string) *process {
	s.t.Helper()
	return s.startAt(s.server.Address(), args...)
}

// startAt starts a process that finds the server at address; prefix words may
// come first.
func (s *site) startAt(address string, args ...string) *process {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	return s.run(append([]string{self}, append(args, "--address", address, "--config", filepath.Join(s.dir, "fleet.yaml"))...)...)
}

func (s *site) run(line ...string) *process {
	s.t.Helper()
	p := &process{Cmd: exec.CommandContext(context.WithoutCancel(s.t.Context()), line[0], line[1:]...), done: make(chan struct{})}
	p.Dir, p.Stdout, p.Stderr = s.dir, &p.stdout, &p.stderr
	p.Env = append(os.Environ(), roleEnv+"=1", "NO_COLOR=1")
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

func (p *process) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	require.NoError(t, p.Process.Signal(sig))
}

// kill is kill -9, and waits until the process is gone.
func (p *process) kill() {
	_ = p.Process.Signal(syscall.SIGKILL)
	<-p.done
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

// stop is what a service manager does.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	require.Equal(t, 0, p.code(t, time.Minute), p.stderr.last())
}

// command runs a command line to its end and returns what it printed.
func (s *site) command(args ...string) string {
	s.t.Helper()
	p := s.start(args...)
	require.Equal(s.t, 0, p.code(s.t, time.Minute), "%v: %s%s", args, p.stdout.last(), p.stderr.last())
	return p.stdout.String()
}

// awaitFresh waits until the registry sees these workers beat.
func (s *site) awaitFresh(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		s.await(id, "fresh", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOnline && w.Fresh })
	}
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

// group is a job type of these tests.
type group struct {
	name    string
	handler string
	policy  string
	jobs    int
	steps   int
	ms      int
}

func (s *site) bookPath() string { return filepath.Join(s.dir, "book") }

// hold is for a test that must have come somewhere before these jobs end. It comes
// before apply.
func (s *site) hold(jobTypes ...string) { s.held = jobTypes }

// goPath is the file for which jobs that are held wait.
func (s *site) goPath() string { return filepath.Join(s.dir, "go") }

func (s *site) letGo() {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(s.goPath(), nil, 0o600))
}

// holdAgain holds back whose last step is still to come.
func (s *site) holdAgain() {
	s.t.Helper()
	require.NoError(s.t, os.Remove(s.goPath()))
}

// apply applies the job types. None is due by itself, unless its policy says so.
func (s *site) apply(groups ...group) {
	s.t.Helper()
	// The default lane is exclusive; these groups run beside each other.
	text := strings.Replace(scaled, "job_types: {}\n", "lanes: {free: {exclusive: false}}\njob_types:\n", 1)
	for _, g := range groups {
		until := ""
		if slices.Contains(s.held, g.name) {
			until = s.goPath()
		}
		text += fmt.Sprintf("  %s:\n    handler: %s\n    lane: free\n    schedule: {every: 365d}\n    policy: {%s}\n    params: {book: %q, jobs: %d, steps: %d, ms: %d, go: %q}\n",
			g.name, g.handler, g.policy, s.bookPath(), g.jobs, g.steps, g.ms, until)
	}
	path := filepath.Join(s.dir, "jobs.yaml")
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
	self, err := os.Executable()
	require.NoError(s.t, err)
	p := s.run(self, "apply", "--prune", "--config", path, "--address", s.server.Address(), "--allow-unregistered")
	require.Equal(s.t, 0, p.code(s.t, time.Minute), p.stderr.last())
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
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	result, err := s.client.Runs().Result(ctx, ref)
	if errors.Is(err, context.DeadlineExceeded) {
		s.t.Fatalf("%s has not ended; the book:\n%+v", ref.WorkflowID, s.book())
	}
	require.NoError(s.t, err)
	return result
}

func (s *site) book() book {
	s.t.Helper()
	read, err := readBook(s.bookPath())
	require.NoError(s.t, err)
	return read
}

// awaitBook waits until the book is so, and returns it.
func (s *site) awaitBook(what string, is func(book) bool) (read book) {
	s.t.Helper()
	testsuite.WaitFor(s.t, time.Minute, what, func() bool {
		read = s.book()
		return is(read)
	})
	return read
}
