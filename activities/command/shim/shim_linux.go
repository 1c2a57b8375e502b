package shim

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/roundsman/roundsman/activities/command/processes"
	"github.com/roundsman/roundsman/internal/lib/cgroup"
)

// File descriptors that a worker gives to a shim.
const (
	shimSocket = 3
	shimStdin  = 4
	shimStdout = 5
	shimStderr = 6
)

// Pauses between two rounds of SIGKILL.
const (
	firstKillPause = 2 * time.Millisecond
	maxKillPause   = 500 * time.Millisecond
)

// shim is the process between a worker and one program. As the child subreaper it adopts every process that the
// program starts, in any session. So the program has ended exactly when the shim has no children.
type shim struct {
	order  Order
	worker *gob.Encoder
	gone   chan struct{}

	// mu keeps children from being reaped while they are signaled.
	mu     sync.Mutex
	leader int
}

func run() int {
	runtime.LockOSThread() // The parent-death signal of the program is that of this thread.
	if len(os.Args) > 2 && os.Args[2] == stageArgument {
		return stage()
	}
	for fd := shimSocket; fd <= shimStderr; fd++ {
		unix.CloseOnExec(fd)
	}
	socket := os.NewFile(shimSocket, "worker")
	messages := gob.NewDecoder(socket)
	s := &shim{worker: gob.NewEncoder(socket), gone: make(chan struct{})}
	if err := messages.Decode(&s.order); err != nil {
		fmt.Fprintln(os.Stderr, Argument+" is started by a worker only:", err)
		return 3
	}
	if err := s.begin(); err != nil {
		s.send(notStarted(err))
		cgroup.Remove(s.order.Cgroup)
		return 1
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	s.send(Report{PID: s.leader})
	go s.reap()
	requests := make(chan Request)
	go receive(messages, requests)
	s.serve(requests, stop)
	cgroup.Remove(s.order.Cgroup)
	s.send(Report{Gone: true})
	return 0
}

func (s *shim) send(message Report) {
	_ = s.worker.Encode(message)
}

func notStarted(err error) Report {
	if failed, ok := errors.AsType[*stageError](err); ok {
		return failed.Report
	}
	message := Report{Error: err.Error()}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		message.Errno = int(errno)
	}
	return message
}

func (s *shim) begin() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the child subreaper of the program: %w", err)
	}
	_ = os.WriteFile("/proc/self/comm", []byte("roundsman-shim"), 0) // for readers of ps
	attributes := &syscall.ProcAttr{
		Dir: s.order.Dir, Env: s.order.Env, Files: []uintptr{shimStdin, shimStdout, shimStderr},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM},
	}
	var err error
	if s.order.Setup == nil {
		dropSwitching()
		s.leader, err = s.fork(s.order.Path, s.order.Argv, attributes)
	} else {
		s.leader, err = s.forkStage(attributes)
	}
	if err != nil {
		return err
	}
	for fd := shimStdin; fd <= shimStderr; fd++ {
		_ = unix.Close(fd)
	}
	return nil
}

// If a kernel or container refuses the cgroup, the shim is enough for a program without limits.
func (s *shim) fork(path string, argv []string, attributes *syscall.ProcAttr) (int, error) {
	if s.order.Cgroup != "" {
		if directory, err := os.Open(s.order.Cgroup); err == nil {
			attributes.Sys.UseCgroupFD, attributes.Sys.CgroupFD = true, int(directory.Fd()) //nolint:gosec // a file descriptor
			pid, err := syscall.ForkExec(path, argv, attributes)
			_ = directory.Close()
			attributes.Sys.UseCgroupFD = false
			if err == nil || s.order.Bounded {
				return pid, err
			}
		} else if s.order.Bounded {
			return 0, err
		}
	}
	return syscall.ForkExec(path, argv, attributes)
}

func receive(messages *gob.Decoder, requests chan<- Request) {
	defer close(requests)
	for {
		var next Request
		if messages.Decode(&next) != nil {
			return
		}
		requests <- next
	}
}

// Without a worker the shim ends the program by itself.
func (s *shim) serve(requests <-chan Request, stop <-chan os.Signal) {
	killing := false
	kill := func() {
		if !killing {
			killing = true
			go s.kill()
		}
	}
	var grace <-chan time.Time
	terminate := func() {
		if grace == nil && !killing {
			s.signal(syscall.SIGTERM)
			grace = time.After(s.order.Grace)
		}
	}
	for {
		select {
		case <-s.gone:
			return
		case next, open := <-requests:
			switch {
			case !open:
				requests = nil
				terminate()
			case next.Kill:
				kill()
			default:
				s.signal(syscall.SIGTERM)
			}
		case <-stop:
			terminate()
		case <-grace:
			kill()
		}
	}
}

func (s *shim) reap() {
	defer close(s.gone)
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		s.reapEnded()
	}
}

func (s *shim) reapEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if pid == s.leader {
			s.leader = 0
			message := Report{Ended: true, Code: status.ExitStatus()}
			if status.Signaled() {
				message.Code, message.Signal = -1, status.Signal().String()
			}
			s.send(message)
		}
	}
}

// signal signals the process group of the program as a whole, other descendants one by one.
func (s *shim) signal(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	table, err := processes.Table()
	if s.leader > 0 {
		_ = syscall.Kill(-s.leader, signal)
	}
	if err != nil {
		return
	}
	for _, p := range processes.Descendants(table, os.Getpid()) {
		if s.leader == 0 || p.Group != s.leader {
			p.Signal(signal)
		}
	}
}

// kill repeats: a process that was being forked may miss a round.
func (s *shim) kill() {
	for pause := firstKillPause; ; pause = min(2*pause, maxKillPause) {
		cgroup.Kill(s.order.Cgroup)
		s.signal(syscall.SIGKILL)
		select {
		case <-s.gone:
			return
		case <-time.After(pause):
		}
	}
}
