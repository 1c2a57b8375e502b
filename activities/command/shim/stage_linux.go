package shim

import (
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/roundsman/roundsman/internal/lib/rlimit"
)

const stageArgument = "stage"

// File descriptors that a shim gives to a stage, besides the standard streams.
const (
	stageOrder  = 3
	stageReport = 4
)

// A stage changes itself by the setup and becomes the program. The shim stays as it is, so it can still end the program.
func (s *shim) forkStage(attributes *syscall.ProcAttr) (int, error) {
	var in, out [2]int
	if err := errors.Join(unix.Pipe2(in[:], unix.O_CLOEXEC), unix.Pipe2(out[:], unix.O_CLOEXEC)); err != nil {
		return 0, fmt.Errorf("no pipes for the start of the program: %w", err)
	}
	toStage, fromStage := os.NewFile(uintptr(in[1]), "order"), os.NewFile(uintptr(out[0]), "report")
	defer func() { _ = fromStage.Close() }()
	attributes.Files = append(attributes.Files, uintptr(in[0]), uintptr(out[1]))
	attributes.Dir, attributes.Env = "/", []string{"GOMAXPROCS=1", "GOGC=off"} // Each thread counts against limits.pids.
	pid, err := s.fork("/proc/self/exe", []string{"roundsman-shim", Argument, stageArgument}, attributes)
	_, _ = unix.Close(in[0]), unix.Close(out[1])
	if err == nil {
		err = gob.NewEncoder(toStage).Encode(s.order)
	}
	_ = toStage.Close()
	if err != nil && pid == 0 {
		return 0, err
	}
	var failed Report
	if gob.NewDecoder(fromStage).Decode(&failed) != nil && err == nil {
		return pid, nil // The end of the pipe is the start of the program.
	}
	_, _ = syscall.Wait4(pid, nil, 0, nil)
	if err != nil {
		return 0, err
	}
	return 0, &stageError{failed}
}

type stageError struct{ Report }

func (e *stageError) Error() string { return e.Report.Error }

func stage() int {
	unix.CloseOnExec(stageOrder)
	unix.CloseOnExec(stageReport)
	var o Order
	if err := gob.NewDecoder(os.NewFile(stageOrder, "order")).Decode(&o); err != nil {
		fmt.Fprintln(os.Stderr, stageArgument+" is started by a shim only:", err)
		return 3
	}
	err := o.prepare()
	setup := err != nil
	if !setup {
		// The late limits may be below the needs of a Go program, so nothing but the exec follows.
		if err = rlimit.Lower(o.Setup.Limits); err != nil {
			setup = true
		}
	}
	if !setup {
		err = syscall.Exec(o.Path, o.Argv, o.Env) //nolint:gosec // the configuration names the program
	}
	message := notStarted(err)
	message.Setup, message.Folder = setup, errors.Is(err, errFolder)
	_ = gob.NewEncoder(os.NewFile(stageReport, "report")).Encode(message)
	return 1
}

var errFolder = errors.New("working directory")

func (o Order) prepare() error {
	parent := os.Getppid()
	if err := o.Setup.apply(); err != nil {
		return err
	}
	// The kernel forgets the parent-death signal when the user changes.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		return fmt.Errorf("set the parent-death signal: %w", err)
	}
	if os.Getppid() != parent {
		return errors.New("the shim has died")
	}
	if o.Dir != "" {
		if err := os.Chdir(o.Dir); err != nil {
			return fmt.Errorf("%w: %w", errFolder, err)
		}
	}
	return nil
}

func (s *Setup) apply() error {
	if err := cmp.Or(s.limitable(), s.prioritize(), rlimit.Raise(s.Limits)); err != nil {
		return err
	}
	return s.switchUser()
}

// prioritize changes the calling thread, which becomes the program.
func (s *Setup) prioritize() error {
	if s.Umask != nil {
		unix.Umask(*s.Umask)
	}
	if s.Nice != nil {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, *s.Nice); err != nil {
			return fmt.Errorf("nice %d: %w", *s.Nice, err)
		}
	}
	if s.IOClass != 0 {
		const ofThread, shift = 1, 13 // IOPRIO_WHO_PROCESS, IOPRIO_CLASS_SHIFT
		priority := uintptr(s.IOClass<<shift | s.IOLevel)
		if _, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, ofThread, 0, priority); errno != 0 {
			return fmt.Errorf("ionice class %d level %d: %w", s.IOClass, s.IOLevel, errno)
		}
	}
	return nil
}

func (s *Setup) switchUser() error {
	if !s.Switch {
		dropSwitching()
		return nil
	}
	// The program gets none of the capabilities that let the worker switch.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	giveStreams(s.UID, s.GID)
	if err := syscall.Setgroups(s.Groups); err != nil {
		return fmt.Errorf("set the groups %s: %w", strings.Trim(fmt.Sprint(s.Groups), "[]"), err)
	}
	if err := syscall.Setresgid(s.GID, s.GID, s.GID); err != nil {
		return fmt.Errorf("set group %d: %w", s.GID, err)
	}
	if err := syscall.Setresuid(s.UID, s.UID, s.UID); err != nil {
		return fmt.Errorf("set user %d: %w", s.UID, err)
	}
	return nil
}

// The program must not become another user by itself.
func dropSwitching() {
	for _, capability := range []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL} {
		_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_LOWER, capability, 0, 0)
	}
}

// giveStreams lets the program open /dev/stderr. A worker without the permission starts it anyway.
func giveStreams(uid, gid int) {
	for fd := range 3 {
		var is unix.Stat_t
		if unix.Fstat(fd, &is) == nil && is.Mode&unix.S_IFMT == unix.S_IFIFO {
			_ = unix.Fchown(fd, uid, gid)
		}
	}
}
