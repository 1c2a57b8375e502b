package testsuite

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// keptLog bounds the server's output kept for a failed test.
const keptLog = 64 << 10

// process is a started server binary.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *tail
	ready chan ready
	// done is closed after the end of the process and Wait.
	done chan struct{}
	err  error
}

// startProcess runs binary. Its standard input stays open while this process lives, so the server ends even if the
// tests are killed.
func startProcess(binary string, args []string) (*process, error) {
	cmd := exec.CommandContext(context.Background(), binary, args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stdin: stdin, out: &tail{}, ready: make(chan ready, 1), done: make(chan struct{})}
	cmd.Stderr = p.out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: run `make build`", err)
	}
	go p.follow(stdout)
	return p, nil
}

// follow reads standard output to its end, which exec requires before Wait.
func (p *process) follow(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var line ready
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Address != "" {
			select {
			case p.ready <- line:
			default:
			}
		}
		_, _ = p.out.Write(append(lines.Bytes(), '\n'))
	}
	p.err = p.cmd.Wait()
	close(p.done)
}

func (p *process) awaitReady(limit time.Duration) (ready, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case line := <-p.ready:
		return line, nil
	case <-p.done:
		return ready{}, fmt.Errorf("the server ended before it was ready: %w", p.err)
	case <-timer.C:
		return ready{}, fmt.Errorf("the server was not ready after %s", limit)
	}
}

func (p *process) signal(sig os.Signal) error {
	if p == nil {
		return errNotRunning
	}
	return p.cmd.Process.Signal(sig)
}

func (p *process) kill() {
	if p == nil {
		return
	}
	// A process that has ended cannot be killed.
	_ = p.cmd.Process.Kill()
	<-p.done
}

func (p *process) stop(limit time.Duration) {
	if p == nil {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.stdin.Close()
	select {
	case <-p.done:
	case <-timer.C:
		p.kill()
	}
}

// cpu returns the CPU time of a process that has ended.
func (p *process) cpu() time.Duration {
	if p == nil {
		return 0
	}
	state := p.cmd.ProcessState
	return state.UserTime() + state.SystemTime()
}

func (p *process) log() string {
	if p == nil {
		return ""
	}
	return p.out.String()
}

func portOf(address string) (int, error) {
	if address == "" {
		return 0, nil
	}
	if strings.Contains(address, "://") {
		parsed, err := url.Parse(address)
		if err != nil {
			return 0, err
		}
		address = parsed.Host
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	number, err := strconv.Atoi(port)
	if err != nil || number <= 0 {
		return 0, errors.Join(err, fmt.Errorf("address %q has no port", address))
	}
	return number, nil
}

// failedTask is the server's log message for workflow code that could not continue: it panicked or differed from
// its history. The server repeats the workflow task forever.
const failedTask = `"msg":"workflow task failed"`

// tail keeps the end of the output, and every message of the server about failed workflow code.
type tail struct {
	mu     sync.Mutex
	text   []byte
	line   []byte // the unfinished line
	failed []string
}

// Write implements io.Writer and never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	for part := range bytes.Lines(p) {
		if t.line = append(t.line, part...); bytes.HasSuffix(part, []byte("\n")) {
			if bytes.Contains(t.line, []byte(failedTask)) {
				t.failed = append(t.failed, string(t.line))
			}
			t.line = t.line[:0]
		}
	}
	if surplus := len(t.text) - keptLog; surplus > 0 {
		t.text = append(t.text[:0], t.text[surplus:]...)
	}
	return len(p), nil
}

// failures returns the messages about failed workflow code.
func (t *tail) failures() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.failed)
}

// String returns the kept output.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
