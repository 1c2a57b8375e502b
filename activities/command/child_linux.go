package command

import (
	"context"
	"encoding/gob"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/roundsman/roundsman/activities/command/processes"
	"github.com/roundsman/roundsman/activities/command/shim"
)

const shims = true

// shimLost is the signal in the outcome of a program whose shim was killed.
const shimLost = "its roundsman-shim was killed"

type shimChild struct {
	shim    *exec.Cmd
	socket  *os.File
	orders  *gob.Encoder
	note    *note
	outcome ended // valid after dead is closed
	dead    chan struct{}
	done    chan struct{}
}

// shimGrace bounds the wait for the first report of a shim. A stopped shim sends none.
const shimGrace = 30 * time.Second

// startShimmed notes the shim before it starts the program: a killed worker leaves no unnoted program.
func (p program) startShimmed(ctx context.Context, pipes *pipes) (child, error) {
	command, err := p.resolve()
	if err != nil {
		return nil, err
	}
	noted := p.enter(command)
	c, err := p.openShim(pipes)
	if err != nil {
		noted.strike()
		return nil, &startError{err: err, shim: true}
	}
	c.note = noted
	group, limitErr := p.cgroups.Create(noted.Mark, p.launch.Limits)
	noted.shimmed(c.shim.Process.Pid, group)
	if limitErr != nil {
		c.dismiss(reapGrace)
		noted.strike()
		return nil, &startError{err: limitErr}
	}
	messages := gob.NewDecoder(c.socket)
	first, err := c.begin(ctx, messages, shim.Order{
		Path: command.Path, Argv: command.Args, Dir: command.Dir, Env: command.Environ(), Grace: p.killGrace, Cgroup: group,
		Bounded: p.cgroups.Rest(p.launch.Limits) != p.launch.Limits, Setup: p.setup(),
	})
	if err != nil || first.PID == 0 {
		c.dismiss(p.killGrace + reapGrace)
		return nil, c.notStarted(p.argv[0], first, err)
	}
	go c.listen(messages)
	return c, nil
}

func (c *shimChild) begin(ctx context.Context, messages *gob.Decoder, o shim.Order) (first shim.Report, err error) {
	_ = c.socket.SetDeadline(time.Now().Add(shimGrace))
	still := context.AfterFunc(ctx, func() { _ = c.socket.SetDeadline(time.Unix(1, 0)) })
	if err = c.orders.Encode(o); err == nil {
		err = messages.Decode(&first)
	}
	if !still() {
		return first, errors.Join(context.Cause(ctx), err)
	}
	return first, errors.Join(err, c.socket.SetDeadline(time.Time{}))
}

// dismiss closes the socket, at which a shim ends all its processes and itself, and kills a shim that does not end.
func (c *shimChild) dismiss(within time.Duration) {
	_ = c.socket.Close()
	gone := make(chan struct{})
	go func() { defer close(gone); _ = c.shim.Wait() }()
	if !waitFor(gone, within) {
		_ = c.shim.Process.Kill()
		<-gone
	}
}

// A shim that was killed before its report may have started a program.
func (c *shimChild) notStarted(name string, first shim.Report, lost error) error {
	if lost == nil {
		c.note.strike()
		return failureOf(first, name)
	}
	failed := &startError{shim: true, begun: true, err: errors.New(shimLost + " before it reported the start of the program")}
	if c.note.endNow() {
		c.note.strike()
	} else {
		failed.err = errors.Join(failed.err, errNotDead)
	}
	return failed
}

func (p program) openShim(pipes *pipes) (*shimChild, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	_ = syscall.SetNonblock(pair[0], true) // for Close to interrupt Read
	own, its := os.NewFile(uintptr(pair[0]), "shim"), os.NewFile(uintptr(pair[1]), "worker")
	defer func() { _ = its.Close() }()
	//nolint:noctx // it must outlive whatever context the job has
	shim := exec.Command(p.shim[0], p.shim[1:]...)
	shim.Env = append(os.Environ(), "GOMAXPROCS=1")
	shim.ExtraFiles = []*os.File{its, pipes.stdinRead, pipes.stdoutWrite, pipes.stderrWrite}
	shim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := shim.Start(); err != nil {
		_ = own.Close()
		return nil, err
	}
	return &shimChild{
		shim: shim, socket: own, orders: gob.NewEncoder(own),
		dead: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

func failureOf(r shim.Report, name string) error {
	if r.Setup {
		errno := syscall.Errno(r.Errno) //nolint:gosec // it was one
		failed := &startError{err: errors.New(r.Error), permanent: !passing(errno)}
		if r.Folder || !failed.permanent {
			failed.err = &setupError{r.Error, errno} // Another node may have the directory, or the resources.
		}
		return failed
	}
	if r.Errno != 0 {
		return startFailure(name, syscall.Errno(r.Errno)) //nolint:gosec // it was one
	}
	return &startError{err: errors.New(r.Error)}
}

type setupError struct {
	text  string
	errno syscall.Errno
}

func (e *setupError) Error() string { return e.text }
func (e *setupError) Unwrap() error { return e.errno }

func passing(errno syscall.Errno) bool {
	return errno.Temporary() || errno == syscall.ENOMEM
}

func (c *shimChild) listen(messages *gob.Decoder) {
	ended, gone := false, false
	for {
		var next shim.Report
		if messages.Decode(&next) != nil {
			break
		}
		if next.Ended && !ended {
			ended, c.outcome = true, outcomeOf(next)
			close(c.dead)
		}
		gone = gone || next.Gone
	}
	c.close()
	if !gone {
		// The shim was killed, or the processes were given up.
		gone = c.note.endNow()
	}
	if !ended {
		c.outcome = outcomeOf(shim.Report{Code: -1, Signal: shimLost})
		close(c.dead)
	}
	if gone {
		c.note.strike()
		close(c.done)
	}
}

func outcomeOf(r shim.Report) ended { return ended{code: r.Code, signal: r.Signal} }

func (c *shimChild) exited() <-chan struct{} { return c.dead }
func (c *shimChild) gone() <-chan struct{}   { return c.done }

func (c *shimChild) family() ([]processes.Process, error) {
	table, enough := processes.Offspring([]int{c.shim.Process.Pid})
	if !enough {
		var err error
		if table, err = processes.Table(); err != nil {
			return nil, err
		}
	}
	return processes.Descendants(table, c.shim.Process.Pid), nil
}

func (c *shimChild) terminate() { c.request(shim.Request{}) }
func (c *shimChild) kill()      { c.request(shim.Request{Kill: true}) }

// request is lost if the shim is dead, which listen notices.
func (c *shimChild) request(message shim.Request) {
	_ = c.orders.Encode(message)
}

func (c *shimChild) reap() ended {
	<-c.dead
	return c.outcome
}

func (c *shimChild) abandon() { c.note.abandon() }

func (c *shimChild) close() {
	_ = c.socket.Close()
	_ = c.shim.Wait()
}
