package testsuite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/starter"
)

// ReportEnv is the environment variable with the path of a file. [StartServer] appends the CPU seconds of each server
// to it, with the name of its test.
const ReportEnv = "ROUNDSMAN_TEST_REPORT"

// Server is one running development server. Its methods are safe for concurrent use; Kill, Stop and Restart are
// serialized.
type Server struct {
	Namespace string

	settings settings
	mu       sync.Mutex
	process  *process
	ready    ready
	// Messages about failed workflow code from earlier processes, and the CPU time of these processes.
	failed []string
	used   time.Duration
}

// ready is the line that the server prints when it is ready.
type ready struct {
	Address   string `json:"address"`
	UIURL     string `json:"ui_url"`
	Namespace string `json:"namespace"`
	PID       int    `json:"pid"`
}

// StartServer starts a server for the duration of the test. A missing binary fails the test. Workflow code that
// panics or is not deterministic also fails it.
func StartServer(t testing.TB, options ...Option) *Server {
	t.Helper()
	server, err := Launch(options...)
	if err != nil {
		t.Fatalf("start the development server: %v", err)
	}
	t.Cleanup(func() {
		log := server.Log()
		server.Kill() // An orderly stop takes seconds, and nobody reads its state any more.
		if err := server.reportCPU(t.Name()); err != nil {
			t.Errorf("%s: %v", ReportEnv, err)
		}
		for _, line := range server.FailedTasks() {
			t.Errorf("workflow code could not continue: %s", line)
		}
		if t.Failed() && log != "" {
			t.Logf("last output of the development server:\n%s", log)
		}
	})
	return server
}

// Launch starts a server for a caller without a testing.TB, usually TestMain. The caller stops it.
func Launch(options ...Option) (*Server, error) {
	s := newSettings(options)
	if s.binary == "" {
		path, err := FindServer()
		if err != nil {
			return nil, err
		}
		s.binary = path
	}
	server := &Server{Namespace: s.namespace, settings: s}
	return server, server.start(0, 0)
}

// start runs the binary. Port 0 means a free port.
func (s *Server) start(port, uiPort int) error {
	args := append(s.arguments(port, uiPort), s.settings.extra...)
	started, err := startProcess(s.settings.binary, args)
	if err != nil {
		return err
	}
	line, err := started.awaitReady(startTimeout)
	if err != nil {
		started.kill()
		return fmt.Errorf("%w\n%s", err, started.log())
	}
	s.process, s.ready = started, line
	return nil
}

func (s *Server) arguments(port, uiPort int) []string {
	args := []string{"--exit-on-stdin-eof", "--namespace", s.settings.namespace, "--port", strconv.Itoa(port)}
	if s.settings.ui {
		args = append(args, "--ui-port", strconv.Itoa(uiPort))
	} else {
		args = append(args, "--headless")
	}
	if s.settings.file != "" {
		args = append(args, "--db-filename", s.settings.file)
	}
	return args
}

// Address returns host:port of the frontend, which stays the same after a restart.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready.Address
}

// UIURL returns the Web UI's address; "" without [WithUI].
func (s *Server) UIURL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready.UIURL
}

// Log returns the last output of the server process.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.log()
}

// Kill ends the server with SIGKILL and returns when the process has ended. It does nothing if no server runs.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process.kill()
}

// reportCPU appends the CPU time of an ended server to the file of ReportEnv. One write is one line, also among processes.
func (s *Server) reportCPU(test string) error {
	path := os.Getenv(ReportEnv)
	if path == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "server %.1f %s\n", (s.used + s.process.cpu()).Seconds(), test)
	return errors.Join(err, file.Close())
}

// Stop ends the server in order. It does nothing if no server runs.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process.stop(stopTimeout)
}

// Suspend freezes the server (SIGSTOP), so that it accepts connections and answers nothing. resume ends this.
func (s *Server) Suspend() (resume func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	frozen := s.process
	if err := frozen.signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	return func() error { return frozen.signal(syscall.SIGCONT) }, nil
}

// Restart starts the server again on the same ports and file, after stopping a running one. Without [WithFile] it
// is empty.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.Relaunch(); err != nil {
		t.Fatalf("restart the development server: %v", err)
	}
}

// Relaunch is [Server.Restart] for goroutines that must not end a test.
func (s *Server) Relaunch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process.stop(stopTimeout)
	s.failed = append(s.failed, s.process.out.failures()...)
	s.used += s.process.cpu()
	port, err := portOf(s.ready.Address)
	if err != nil {
		return err
	}
	uiPort, err := portOf(s.ready.UIURL)
	if err != nil {
		return err
	}
	return s.start(port, uiPort)
}

// Client dials the server for the time of the test. edit changes the options.
func (s *Server) Client(t testing.TB, edit ...func(*client.Options)) client.Client {
	t.Helper()
	dialed, err := s.Dial(edit...)
	if err != nil {
		t.Fatalf("connect to the development server: %v", err)
	}
	t.Cleanup(dialed.Close)
	return dialed
}

// Dial connects like [Server.Client]; the caller closes the client. The connection has Roundsman's codec, backoff
// and heartbeats.
func (s *Server) Dial(edit ...func(*client.Options)) (client.Client, error) {
	options := starter.Options{Address: s.Address(), Namespace: s.Namespace}.WithDefaults().ClientOptions()
	for _, change := range edit {
		change(&options)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return client.DialContext(ctx, options)
}

// WaitFor polls until done returns true. It fails the test a minute after the limit, by [Patience]. It is for
// conditions that only the server can show.
func WaitFor(t testing.TB, limit time.Duration, what string, done func() bool) {
	t.Helper()
	patience, began := NewPatience(limit), time.Now()
	for !done() {
		if now := <-time.After(pollAfter(time.Since(began))); patience.Over(now) {
			t.Fatalf("waited %s in vain: %s", patience.limit, what)
		}
	}
}

// pollAfter returns the pause before the next question of a wait. Fifty questions a second, each with its
// queries and workflow tasks, took most of the CPU of the end-to-end tests.
func pollAfter(waited time.Duration) time.Duration {
	return min(max(waited/10, patienceTick), 500*time.Millisecond)
}

// On an idle machine an answer takes far less than promptAnswer. On a busy machine each of the steps to the end,
// about ten, takes as long as an answer.
const (
	promptAnswer  = 100 * time.Millisecond
	stepsToTheEnd = 10
)

// GoneWithin polls until there returns false. It fails the test if there returns true for a call that began after
// the limit, counted from since. The duration of a call does not count. Slow calls show a busy machine, so they
// extend the limit, and time counts as in [Patience]. It returns the time at which the thing was gone.
func GoneWithin(t testing.TB, since time.Time, limit time.Duration, what string, there func() bool) time.Time {
	t.Helper()
	return goneWithin(t, &Patience{at: since, Load: Load}, limit, what, there)
}

func goneWithin(t testing.TB, counted *Patience, limit time.Duration, what string, there func() bool) time.Time {
	t.Helper()
	told, slowest := time.Duration(0), promptAnswer
	WaitFor(t, limit, what+" to be gone", func() bool {
		asked := time.Now()
		is := there()
		counted.Over(asked)
		if is {
			told = -counted.left
		}
		slowest = max(slowest, time.Since(asked))
		return !is
	})
	limit += stepsToTheEnd * (slowest - promptAnswer)
	if told > limit {
		t.Errorf("%s was still there after %s, the limit is %s", what, told.Round(time.Millisecond), limit.Round(time.Millisecond))
	}
	return time.Now()
}

// TempFile returns a path for [WithFile] in the test's directory.
func TempFile(t testing.TB) string {
	t.Helper()
	return t.TempDir() + string(os.PathSeparator) + "temporal.db"
}

var errNotRunning = errors.New("the server is not running")

// FailedTasks returns the server's messages about workflow code that panicked or was not deterministic.
func (s *Server) FailedTasks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(slices.Clone(s.failed), s.process.out.failures()...)
}

// PID returns the process id of the running server.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready.PID
}
