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

// Server is one running development server. Its methods may be called from
// several goroutines; Kill, Stop and Restart are serialised.
type Server struct {
	// Namespace exists and is ready to use.
	Namespace string

	settings settings
	mu       sync.Mutex
	process  *process
	ready    ready
	// failed is what the processes before this one complained about.
	failed []string
}

// ready is the line that the server prints once clients can use it.
type ready struct {
	Address   string `json:"address"`
	UIURL     string `json:"ui_url"`
	Namespace string `json:"namespace"`
	PID       int    `json:"pid"`
}

// StartServer starts a server for the length of the test. A missing binary
// fails the test: a test that needs the server must not pass without it. So does
// workflow code that panics or is not deterministic, whatever the test looks at.
func StartServer(t testing.TB, options ...Option) *Server {
	t.Helper()
	server, err := Launch(options...)
	if err != nil {
		t.Fatalf("start the development server: %v", err)
	}
	t.Cleanup(func() {
		log := server.Log()
		server.Stop()
		for _, line := range server.FailedTasks() {
			t.Errorf("workflow code could not continue: %s", line)
		}
		if t.Failed() && log != "" {
			t.Logf("last output of the development server:\n%s", log)
		}
	})
	return server
}

// Launch starts a server for a caller that has no testing.TB, usually
// TestMain. The caller stops it.
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

// start runs the binary; port 0 takes a free one.
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

// Address is the frontend's host:port, the same after a restart.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready.Address
}

// UIURL is the Web UI's address; empty without [WithUI].
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

// Kill ends the server with SIGKILL, as a crash does, and returns when the
// process is gone. Killing a server that does not run does nothing.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process.kill()
}

// Stop ends the server in order. Stopping a server that does not run does
// nothing.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process.stop(stopTimeout)
}

// Suspend freezes the server (SIGSTOP) and returns what lets it continue: to its
// clients it is a server that accepts connections and answers nothing.
func (s *Server) Suspend() (resume func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	frozen := s.process
	if err := frozen.signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	return func() error { return frozen.signal(syscall.SIGCONT) }, nil
}

// Restart starts the server again on the same ports and file; a running one is
// stopped first. Without [WithFile] it comes back empty.
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

// Client dials the server for the length of the test, with the options that
// edit changes.
func (s *Server) Client(t testing.TB, edit ...func(*client.Options)) client.Client {
	t.Helper()
	dialed, err := s.Dial(edit...)
	if err != nil {
		t.Fatalf("connect to the development server: %v", err)
	}
	t.Cleanup(dialed.Close)
	return dialed
}

// Dial connects like [Server.Client]; the caller closes the client. It is the
// connection that Roundsman itself uses: codec, backoff and heartbeats of
// starter.Dial.
func (s *Server) Dial(edit ...func(*client.Options)) (client.Client, error) {
	options := starter.Options{Address: s.Address(), Namespace: s.Namespace}.WithDefaults().ClientOptions()
	for _, change := range edit {
		change(&options)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return client.DialContext(ctx, options)
}

// WaitFor polls until done answers true. A condition that has not come a minute after the limit,
// by [Patience], fails the test. It is for conditions that only the server can answer.
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
	return min(max(waited/10, patienceTick), 250*time.Millisecond)
}

// Of a machine that keeps up, an answer takes far less than promptAnswer. On one
// that does not, what leads to the end takes longer as well: some ten steps, each
// about as slow as an answer.
const (
	promptAnswer  = 100 * time.Millisecond
	stepsToTheEnd = 10
)

// GoneWithin asks again and again whether something is still there, and fails the
// test if it is to a question that was asked after the limit, counted from since.
// How long an answer takes does not count; if it shows that the machine is
// overloaded, the limit grows. It returns when it was gone.
func GoneWithin(t testing.TB, since time.Time, limit time.Duration, what string, there func() bool) time.Time {
	t.Helper()
	last, slowest := since, promptAnswer
	WaitFor(t, limit, what+" to be gone", func() bool {
		asked := time.Now()
		is := there()
		if is {
			last = asked
		}
		slowest = max(slowest, time.Since(asked))
		return !is
	})
	limit += stepsToTheEnd * (slowest - promptAnswer)
	if told := last.Sub(since); told > limit {
		t.Errorf("%s was still there after %s, the limit is %s", what, told.Round(time.Millisecond), limit.Round(time.Millisecond))
	}
	return time.Now()
}

// TempFile returns a path for [WithFile] in the test's own directory.
func TempFile(t testing.TB) string {
	t.Helper()
	return t.TempDir() + string(os.PathSeparator) + "temporal.db"
}

var errNotRunning = errors.New("the server is not running")

// FailedTasks returns what the server said about workflow code that panicked or
// was not deterministic.
func (s *Server) FailedTasks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(slices.Clone(s.failed), s.process.out.failures()...)
}

// PID is the process id of the server that runs now.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready.PID
}
