package app

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/roundsman/roundsman/internal/lib/tail"
)

// child ends with its standard input, which the kernel closes even after kill -9 of this process.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	tail  *tail.Tail
	done  chan struct{}
	err   error
}

// runChild starts cmd with its standard error appended to logFile. lines reads its standard output to the end.
//
// The child has its own process group: the terminal's Ctrl-C would stop the server before the workers have drained.
func runChild(cmd *exec.Cmd, logFile string, lines func(io.Reader)) (*child, error) {
	log, err := OpenLog(logFile)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, tail: tail.New(keptTail), done: make(chan struct{})}
	kept := lossy{log}
	cmd.Stderr = io.MultiWriter(c.tail, kept)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, stdinErr := cmd.StdinPipe()
	stdout, stdoutErr := cmd.StdoutPipe()
	if err := errors.Join(stdinErr, stdoutErr); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	c.stdin = stdin
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", cmd.Path, err), log.Close())
	}
	go func() {
		defer close(c.done)
		if lines != nil {
			lines(stdout)
		}
		// Draining lets the child write on, whether or not lines has read everything.
		_, copyErr := io.Copy(kept, stdout)
		c.err = errors.Join(cmd.Wait(), copyErr, log.Close())
	}()
	return c, nil
}

func (c *child) stop(budget time.Duration) {
	_ = c.stdin.Close() // The signal to stop. A second close has no effect.
	timer := time.NewTimer(budget)
	defer timer.Stop()
	select {
	case <-c.done:
		return
	case <-timer.C:
	}
	// The whole group, since a wrapper may have started the server.
	if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL); err == nil || errors.Is(err, syscall.ESRCH) {
		<-c.done
	}
}

func (c *child) describe() string {
	how := "exit code 0"
	if c.cmd.ProcessState != nil {
		how = c.cmd.ProcessState.String()
	}
	if words := c.lastLine(); words != "" {
		how += ": " + words
	}
	return how
}

// lossy drops text that a full disk refuses. exec.Cmd closes the pipe after an error, and the child would end with SIGPIPE.
type lossy struct{ to io.Writer }

func (l lossy) Write(text []byte) (int, error) {
	_, _ = l.to.Write(text)
	return len(text), nil
}

const keptTail = 4 << 10

func (c *child) lastLine() string {
	lines := strings.Split(strings.TrimSpace(c.tail.Text()), "\n")
	if n := len(lines); n > 1 && strings.HasPrefix(lines[n-1], "See ") {
		lines = lines[:n-1]
	}
	return lines[len(lines)-1]
}
