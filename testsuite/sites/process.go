package sites

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite"
)

// stacksWithin bounds the time to write the stacks of a process.
const stacksWithin = 5 * time.Second

// Process is a started process. It is killed at the end of its test.
type Process struct {
	*exec.Cmd
	Stdout, Stderr Output
	Started        time.Time
	done           chan struct{}
}

// run runs a program with additional environment variables until the end of the test.
func (s *Site) run(environ []string, attributes *syscall.SysProcAttr, line ...string) *Process {
	s.T.Helper()
	p := &Process{Cmd: exec.CommandContext(context.WithoutCancel(s.T.Context()), line[0], line[1:]...), done: make(chan struct{}), Started: time.Now()}
	p.Dir, p.SysProcAttr = s.Dir, attributes
	p.Cmd.Stdout, p.Cmd.Stderr = &p.Stdout, &p.Stderr
	p.Env = append(append(os.Environ(), "NO_COLOR=1"), environ...)
	stdin, err := p.StdinPipe()
	require.NoError(s.T, err)
	require.NoError(s.T, p.Start())
	s.Processes = append(s.Processes, p)
	go func() {
		_ = p.Wait() // ProcessState has the result.
		close(p.done)
	}()
	s.T.Cleanup(func() {
		p.Kill()
		_ = stdin.Close()
		if s.T.Failed() {
			s.T.Logf("%s said:\n%s%s", strings.Join(line[1:], " "), p.Stdout.Last(), p.Stderr.Last())
		}
	})
	return p
}

// Kill sends SIGKILL and waits for the end of the process. It also kills programs started by [Site.Program].
func (p *Process) Kill() {
	id := p.Process.Pid
	if p.SysProcAttr != nil {
		id = -id
	}
	_ = syscall.Kill(id, syscall.SIGKILL) // A process that has ended cannot be killed.
	<-p.done
}

// Signal sends a signal.
func (p *Process) Signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	require.NoError(t, p.Process.Signal(sig))
}

// Stop sends SIGTERM. The process must exit with code 0 within a minute.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	p.Signal(t, syscall.SIGTERM)
	require.Equal(t, 0, p.Code(t, time.Minute), p.Stderr.Last())
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Code waits for the end of the process, as [testsuite.WaitFor] does, and returns its exit code. A
// process that does not end in time writes its stacks first.
func (p *Process) Code(t testing.TB, limit time.Duration) int {
	t.Helper()
	patience, tick := testsuite.NewPatience(limit), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return p.ProcessState.ExitCode()
		case now := <-tick.C:
			if !patience.Over(now) {
				continue
			}
		}
		_ = p.Process.Signal(syscall.SIGQUIT) // It may have ended just now.
		select {
		case <-p.done:
		case <-time.After(stacksWithin):
		}
		t.Fatalf("%v has not ended after %s:\n%s%s", p.Args[1:], limit, p.Stdout.Last(), p.Stderr.String())
	}
}

// Output is the output of a process so far.
type Output struct {
	mu   sync.Mutex
	text []byte
	// lines are the complete lines of the text, rest is the start of the unfinished one.
	lines []Line
	rest  int
}

// Line is one line with its time.
type Line struct {
	At   time.Time
	Text string
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	for {
		line, _, whole := strings.Cut(string(o.text[o.rest:]), "\n")
		if !whole {
			return len(p), nil
		}
		o.lines, o.rest = append(o.lines, Line{time.Now(), line}), o.rest+len(line)+1
	}
}

// String returns the whole output.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// Last returns the end of the output, for a message.
func (o *Output) Last() string {
	const keep = 4000
	text := o.String()
	return text[max(0, len(text)-keep):]
}

// With returns the lines that begin with prefix.
func (o *Output) With(prefix string) []Line {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []Line
	for _, each := range o.lines {
		if strings.HasPrefix(each.Text, prefix) {
			found = append(found, each)
		}
	}
	return found
}
