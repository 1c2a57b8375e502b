//go:build unix

package command

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// child is a started program, the leader of its own process group.
type child struct {
	pid     int
	note    *note
	exited  chan struct{} // closed when the leader has exited and is not yet reaped
	release chan struct{} // closed by reap
	reaped  chan ended
}

// start starts the program in a goroutine that owns an operating system thread
// until the program ends: Linux sends the parent-death signal when the
// *thread* that forked dies, and the Go runtime ends idle threads.
func (p program) start(pipes *pipes) (*child, error) {
	command, err := p.resolve()
	if err != nil {
		return nil, err
	}
	command.Stdin, command.Stdout, command.Stderr = pipes.stdinRead, pipes.stdoutWrite, pipes.stderrWrite
	command.SysProcAttr = groupOfItsOwn()
	noted := p.enter(command)
	started := make(chan error, 1)
	c := &child{note: noted, exited: make(chan struct{}), release: make(chan struct{}), reaped: make(chan ended, 1)}
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

// attend waits for the exit without reaping, so that the group's id cannot be
// given to anybody else before the last signal to the group is sent.
func (c *child) attend(command *exec.Cmd) {
	awaitExit(command)
	close(c.exited)
	<-c.release
	err := command.Wait()
	c.reaped <- endOf(command.ProcessState, err)
}

// id is the leader's process id, and the group's.
func (c *child) id() int { return c.pid }

func (c *child) terminate() { c.signal(syscall.SIGTERM) }
func (c *child) kill()      { c.signal(syscall.SIGKILL) }

// signal goes to the whole group; that it is gone already is no fault.
func (c *child) signal(signal syscall.Signal) { _ = syscall.Kill(-c.pid, signal) }

// reap frees the process id and returns how the program ended.
func (c *child) reap() ended {
	close(c.release)
	outcome := <-c.reaped
	c.note.strike()
	return outcome
}

// endGroup signals a whole group, which may be gone already.
func endGroup(group int, kill bool) {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-group, signal)
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

// startFailure sorts the errors of fork and exec. No memory and no processes
// left pass by themselves; what is missing, forbidden or too long does not.
func startFailure(name string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.E2BIG):
		return notFound(name, err)
	}
	return &startError{err: err}
}
