//go:build !unix

package command

import (
	"os/exec"

	"github.com/roundsman/roundsman/activities/command/processes"
)

// groupChild is a started program. Without process groups only the program itself can be ended, not its children.
type groupChild struct {
	command *exec.Cmd
	dead    chan struct{}
}

func (p program) startGroup(pipes *pipes) (child, error) {
	command, err := p.resolve()
	if err == nil {
		err = p.withoutShim()
	}
	if err != nil {
		return nil, err
	}
	command.Stdin, command.Stdout, command.Stderr = pipes.stdinRead, pipes.stdoutWrite, pipes.stderrWrite
	if err := command.Start(); err != nil {
		return nil, notFound(p.argv[0], err)
	}
	c := &groupChild{command: command, dead: make(chan struct{})}
	go func() {
		defer close(c.dead)
		_ = command.Wait()
	}()
	return c, nil
}

func (c *groupChild) exited() <-chan struct{}              { return c.dead }
func (c *groupChild) gone() <-chan struct{}                { return c.dead }
func (c *groupChild) family() ([]processes.Process, error) { return nil, processes.ErrNoTable }
func (c *groupChild) terminate()                           { _ = c.command.Process.Kill() }
func (c *groupChild) kill()                                { _ = c.command.Process.Kill() }
func (c *groupChild) abandon()                             {}

func (c *groupChild) reap() ended {
	<-c.dead
	return ended{code: c.command.ProcessState.ExitCode()}
}
