//go:build !unix

package command

import "os/exec"

// child is a started program. Without process groups only the program itself
// can be ended, not what it started.
type child struct {
	command *exec.Cmd
	exited  chan struct{}
}

func (p program) start(pipes *pipes) (*child, error) {
	command, err := p.resolve()
	if err != nil {
		return nil, err
	}
	command.Stdin, command.Stdout, command.Stderr = pipes.stdinRead, pipes.stdoutWrite, pipes.stderrWrite
	if err := command.Start(); err != nil {
		return nil, notFound(p.argv[0], err)
	}
	c := &child{command: command, exited: make(chan struct{})}
	go func() {
		defer close(c.exited)
		_ = command.Wait()
	}()
	return c, nil
}

func (c *child) id() int    { return c.command.Process.Pid }
func (c *child) terminate() { _ = c.command.Process.Kill() }
func (c *child) kill()      { _ = c.command.Process.Kill() }

func endGroup(int, bool) {}

func (c *child) reap() ended {
	<-c.exited
	return ended{code: c.command.ProcessState.ExitCode()}
}
