//go:build unix

package command

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/roundsman/roundsman/activities/command/processes"
)

// groupChild is a program without a shim, the leader of its own process group. A process that leaves the group is out
// of reach.
type groupChild struct {
	pid     int
	note    *note
	dead    chan struct{} // closed when the leader has exited and is not yet reaped
	release chan struct{} // closed by reap
	reaped  chan ended
}

// startGroup uses a goroutine with its own operating system thread: Linux sends the parent-death signal when the
// *thread* that forked dies, and the Go runtime ends idle threads.
func (p program) startGroup(pipes *pipes) (child, error) {
	command, err := p.resolve()
	if err == nil {
		err = p.withoutShim()
	}
	if err != nil {
		return nil, err
	}
	command.Stdin, command.Stdout, command.Stderr = pipes.stdinRead, pipes.stdoutWrite, pipes.stderrWrite
	command.SysProcAttr = groupOfItsOwn()
	noted := p.enter(command)
	noted.starting()
	started := make(chan error, 1)
	c := &groupChild{note: noted, dead: make(chan struct{}), release: make(chan struct{}), reaped: make(chan ended, 1)}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := command.Start(); err != nil {
			started <- err
			return
		}
		c.pid = command.Process.Pid
		noted.started(c.pid)
		started <- nil
		c.attend(command)
	}()
	if err := <-started; err != nil {
		noted.strike()
		return nil, startFailure(p.argv[0], err)
	}
	return c, nil
}

// attend waits without reaping, so that the group's id stays reserved until the last signal is sent.
func (c *groupChild) attend(command *exec.Cmd) {
	awaitExit(command)
	close(c.dead)
	<-c.release
	err := command.Wait()
	c.reaped <- endOf(command.ProcessState, err)
}

func (c *groupChild) exited() <-chan struct{} { return c.dead }
func (c *groupChild) gone() <-chan struct{}   { return c.dead }

// Descendants that left the group count: the program may wait for them.
func (c *groupChild) family() ([]processes.Process, error) {
	table, err := processes.Table()
	return processes.Closure(table, func(p processes.Process) bool { return p.Group == c.pid || p.PID == c.pid }), err
}

func (c *groupChild) terminate() { c.signal(syscall.SIGTERM) }
func (c *groupChild) kill()      { c.signal(syscall.SIGKILL) }

func (c *groupChild) signal(signal syscall.Signal) { _ = syscall.Kill(-c.pid, signal) }

func (c *groupChild) reap() ended {
	c.kill() // The leader is not reaped yet, so the group's id is still its own.
	close(c.release)
	outcome := <-c.reaped
	c.note.strike()
	return outcome
}

func (c *groupChild) abandon() {
	c.note.abandon()
	go c.reap()
}

func endOf(state *os.ProcessState, err error) ended {
	if state == nil {
		return ended{code: -1, signal: err.Error()}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return ended{code: -1, signal: status.Signal().String()}
	}
	return ended{code: state.ExitCode()}
}

// A lack of memory or processes passes by itself; a missing or forbidden program, or a too long command line, does not.
func startFailure(name string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.E2BIG):
		return notFound(name, err)
	}
	return &startError{err: err}
}
