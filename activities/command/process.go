package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/roundsman/roundsman/activities/command/processes"
	"github.com/roundsman/roundsman/internal/lib/bash"
	"github.com/roundsman/roundsman/internal/lib/cgroup"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/mask"
	"github.com/roundsman/roundsman/internal/lib/tail"
)

type program struct {
	argv           []string
	launch         launch.Spec
	inherited, own []string
	stdin          []byte
	account        *account
	configured     []string
	mask           *mask.Masker
	killGrace      time.Duration
	outputGrace    time.Duration
	watcher        *watcher
	ledger         *ledger
	owner          owner
	shim           []string
	cgroups        *cgroup.Tree
	// stdout and stderr read their input to its end. An error of stdout stops the program.
	stdout func(io.Reader) error
	stderr func(io.Reader) error
}

// A process that hangs in the kernel (a dead NFS server) does not die, and must not hold its job.
const reapGrace = 5 * time.Second

var errNotDead = errors.New("the program did not die after SIGKILL, it probably waits for a disk or a network file system; check the node")

type ended struct {
	code   int
	signal string
	mask   *mask.Masker
}

// text returns the kept output. The secrets are masked once more, because one with other control characters in it was not found before.
func (e ended) text(kept *tail.Tail) string { return e.mask.Text(kept.Text()) }

type child interface {
	signs
	signaled
	reap() ended
}

type signs interface {
	exited() <-chan struct{}
	gone() <-chan struct{}
	// family returns the program and its descendants.
	family() ([]processes.Process, error)
}

type signaled interface {
	terminate()
	kill()
	// abandon gives up on processes that do not die. They stay noted.
	abandon()
}

func (p program) start(ctx context.Context, pipes *pipes) (child, error) {
	if len(p.shim) > 0 && shims {
		return p.startShimmed(ctx, pipes)
	}
	return p.startGroup(pipes)
}

// run returns when the program and its process group are gone. The error is a *startError, the cause of ctx, or the
// error of stdout. A program that ended by itself is no error, with any code.
func (p program) run(ctx context.Context) (ended, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var err error
	if p.account, err = accountOf(ctx, p.launch); err != nil {
		return ended{}, unstarted(ctx, err)
	}
	if p.configured, p.mask, err = p.resolveEnv(ctx); err != nil {
		return ended{}, unstarted(ctx, err)
	}
	pipes, err := openPipes(p.outputGrace)
	if err != nil {
		return ended{}, &startError{err: err}
	}
	if p.stdin, err = p.input(pipes); err != nil {
		pipes.closeAll()
		return ended{}, err
	}
	child, err := p.start(ctx, pipes)
	if err != nil {
		pipes.closeAll()
		return ended{}, unstarted(ctx, err)
	}
	pipes.closeChildSide()
	unwatch := p.watcher.follow(child)
	outcome, err := p.supervise(ctx, child, pipes, p.attach(pipes, stop))
	unwatch()
	pipes.closeAll()
	outcome.mask = p.mask
	return outcome, err
}

func unstarted(ctx context.Context, err error) error {
	stopped := context.Cause(ctx)
	start, ok := errors.AsType[*startError](err)
	switch {
	case stopped == nil:
		return err
	case ok && start.begun && errors.Is(err, errNotDead):
		return errors.Join(stopped, errNotDead)
	case ok && start.begun:
		return stopped
	}
	return &startError{err: stopped}
}

// err may be read after done is closed.
type readers struct {
	done chan struct{}
	err  error
}

func (p program) attach(pipes *pipes, stop context.CancelCauseFunc) *readers {
	go func() {
		// A program may leave its stdin unread: EPIPE.
		_, _ = pipes.stdinWrite.Write(p.stdin)
		_ = pipes.stdinWrite.Close()
	}()
	read := func(consume func(io.Reader) error, from io.Reader) error {
		err := consume(from)
		if err != nil {
			stop(err)
			_, _ = io.Copy(io.Discard, from)
		}
		return err
	}
	stderr := make(chan error, 1)
	go func() { stderr <- read(p.stderr, p.mask.Reader(p.watcher.output(pipes.stderr))) }()
	both := &readers{done: make(chan struct{})}
	go func() {
		defer close(both.done)
		both.err = errors.Join(read(p.stdout, p.mask.Reader(p.watcher.output(pipes.stdout))), <-stderr)
	}()
	return both
}

func (p program) supervise(ctx context.Context, child child, pipes *pipes, output *readers) (ended, error) {
	select {
	case <-child.exited():
	case <-ctx.Done():
	}
	if closed(child.exited()) {
		return p.close(ctx, child, pipes, output)
	}
	stopped := context.Cause(ctx)
	if !p.end(child) {
		child.abandon()
		return ended{}, errors.Join(stopped, errNotDead)
	}
	pipes.finish()
	if !waitFor(output.done, max(p.killGrace, p.outputGrace)) {
		child.kill()
		pipes.closeAll()
		<-output.done
	}
	return child.reap(), stopped
}

func (p program) end(child child) bool {
	child.terminate()
	if waitFor(child.gone(), p.killGrace) {
		return true
	}
	child.kill()
	return waitFor(child.gone(), reapGrace)
}

// The program has ended by itself: the end of ctx only cuts the reading. Processes that do not die keep their note, and are
// no fault of the program.
func (p program) close(ctx context.Context, child child, pipes *pipes, output *readers) (ended, error) {
	pipes.finish()
	if inTime := waitFor(output.done, p.outputGrace); (!inTime || !closed(child.gone())) && !p.end(child) {
		child.abandon()
		pipes.closeAll()
	}
	if !waitFor(output.done, p.outputGrace) {
		select {
		case <-output.done:
		case <-ctx.Done():
			pipes.closeAll()
			<-output.done
		}
	}
	return child.reap(), output.err
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func waitFor(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// The pipes of os/exec hang in Wait while any grandchild holds one.
type pipes struct {
	stdinRead, stdoutWrite, stderrWrite *os.File // the child's
	stdinWrite                          *os.File
	stdout, stderr                      *pipeReader
}

func openPipes(grace time.Duration) (*pipes, error) {
	var files [6]*os.File
	for i := 0; i < len(files); i += 2 {
		read, write, err := os.Pipe()
		if err != nil {
			for _, file := range files[:i] {
				_ = file.Close()
			}
			return nil, fmt.Errorf("no pipes for the program: %w", err)
		}
		files[i], files[i+1] = read, write
	}
	return &pipes{
		stdinRead: files[0], stdinWrite: files[1],
		stdout: &pipeReader{file: files[2], grace: grace}, stdoutWrite: files[3],
		stderr: &pipeReader{file: files[4], grace: grace}, stderrWrite: files[5],
	}, nil
}

func (p *pipes) closeChildSide() {
	for _, file := range []*os.File{p.stdinRead, p.stdoutWrite, p.stderrWrite} {
		_ = file.Close()
	}
}

func (p *pipes) closeAll() {
	p.closeChildSide()
	for _, file := range []*os.File{p.stdinWrite, p.stdout.file, p.stderr.file} {
		_ = file.Close()
	}
}

func (p *pipes) finish() {
	p.stdout.finish()
	p.stderr.finish()
}

// pipeReader reads a pipe to its end. After the program has ended, a silence of grace counts as the end: a process
// that left the group holds the pipe. Each read measures the silence again, so a slow reader loses nothing.
type pipeReader struct {
	file  *os.File
	grace time.Duration
	ended atomic.Bool
}

// Read implements io.Reader.
func (r *pipeReader) Read(buffer []byte) (int, error) {
	if r.ended.Load() {
		_ = r.file.SetReadDeadline(time.Now().Add(r.grace))
	}
	n, err := r.file.Read(buffer)
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
		return n, io.EOF
	}
	return n, err
}

func (r *pipeReader) finish() {
	r.ended.Store(true)
	_ = r.file.SetReadDeadline(time.Now().Add(r.grace))
}

type startError struct {
	err       error
	permanent bool
	// shim: the failed process is not the program itself. begun: the program may have begun all the same.
	shim, begun bool
}

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// resolve finds certain start failures: the kernel's message does not name the missing one of two paths.
func (p program) resolve() (*exec.Cmd, error) {
	dir := p.account.home(p.launch.Dir)
	if dir != "" && p.account == nil {
		if info, err := os.Stat(dir); err != nil {
			return nil, &startError{err: fmt.Errorf("working directory: %w", err), permanent: errors.Is(err, os.ErrNotExist)}
		} else if !info.IsDir() {
			return nil, &startError{err: fmt.Errorf("working directory: %s is %w", dir, errNoDirectory), permanent: true}
		}
	}
	//nolint:noctx // the context is watched by supervise, which ends the whole process group and not only its leader
	command := exec.Command(p.argv[0], p.argv[1:]...)
	if command.Err != nil {
		return nil, p.notFound(command.Err)
	}
	command.Dir, command.Env = dir, p.environment()
	return command, nil
}

func (p program) withoutShim() error {
	if p.setup() == nil {
		return nil
	}
	return &startError{permanent: true, err: errors.New("UNSUPPORTED: user, umask, nice, ionice and limits need a worker on Linux: restrict the job type by labels")}
}

func (p program) enter(command *exec.Cmd) *note {
	noted := p.ledger.enter(p.argv[0], p.killGrace, p.owner)
	command.Env = append(command.Env, noted.variable())
	return noted
}

// notFound blames the node, which may lack bash.
func (p program) notFound(err error) error {
	if bash.Is(p.argv) {
		return &startError{permanent: true, err: noBash(err)}
	}
	return notFound(p.argv[0], err)
}

func noBash(err error) error {
	return fmt.Errorf("NO_BASH: shell needs bash on this node: %w; install it there, or write command: [sh, -c, …]", err)
}

func notFound(name string, err error) error {
	return &startError{permanent: true, err: fmt.Errorf("command %q cannot be started on this worker: %w; install it there, or write its path", name, err)}
}
