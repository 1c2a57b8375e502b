package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

// lone is a program that must never run twice: it takes a lock and reports if that is
// taken. $1 is its directory; $2 is how long it runs.
const lone = `umask 0
exec 9>>"$1/lock"
flock -n 9 || { echo "two at once" >> "$1/overlaps"; exit 9; }
: > "$1/started"
exec sleep "$2"
`

// nobody is the ID of an unprivileged user on every Linux.
const nobody = 65534

// site is a directory for all users, with lone and this test binary in it.
type site struct {
	t   *testing.T
	dir string
	uid int
	// cgroup is that of the workers; empty: that of the test.
	cgroup string
	// keys are further keys of the blocks, capabilities the ambient ones of the workers.
	keys         block
	capabilities []uintptr
	// stops is the part of that name.
	stops time.Duration
}

// state is the data directory of the workers. Its name would be another one as a pattern.
func (s *site) state() string { return filepath.Join(s.dir, "state [1]") }

func newSite(t *testing.T, uid int) *site {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can start a worker as another user and run su and runuser")
	}
	// t.TempDir is below a directory that only root may enter.
	dir, err := os.MkdirTemp("", "survivors") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777))                                             //nolint:gosec // for all users, see site
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lone.sh"), []byte(lone), 0o755)) //nolint:gosec // as above
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600))
	require.NoError(t, os.Chmod(filepath.Join(dir, "lock"), 0o666)) //nolint:gosec // as above
	s := &site{t: t, dir: dir, uid: uid}
	t.Cleanup(func() {
		for _, pid := range s.holders() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	copyOfExecutable(t, fmt.Sprintf("/proc/%d/exe", os.Getpid()), filepath.Join(dir, "worker"))
	return s
}

// copyOfExecutable leaves the copy to another process: a file that this one writes is "text file busy" while another test
// starts a program.
func copyOfExecutable(t *testing.T, from, to string) {
	t.Helper()
	output, err := exec.Command("cp", from, to).CombinedOutput() //nolint:gosec // the test's own paths
	require.NoError(t, err, string(output))
	require.NoError(t, os.Chmod(to, 0o755)) //nolint:gosec // all users start it
}

// worker starts a worker process that runs script.
func (s *site) worker(attempt int, script string) (*exec.Cmd, *bytes.Buffer) {
	s.t.Helper()
	attributes := &syscall.SysProcAttr{AmbientCaps: s.capabilities, Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}} //nolint:gosec // a user id
	if s.cgroup != "" {
		directory, err := os.Open(s.cgroup)
		require.NoError(s.t, err)
		defer func() { _ = directory.Close() }()
		attributes.UseCgroupFD, attributes.CgroupFD = true, int(directory.Fd())
	}
	role, err := json.Marshal(part{Dir: s.state(), Script: script, Attempt: attempt, Keys: s.keys, Stops: s.stops})
	require.NoError(s.t, err)
	worker := exec.Command(filepath.Join(s.dir, "worker"))
	worker.Env = []string{"PATH=" + os.Getenv("PATH"), workerRole + "=" + string(role)}
	worker.Dir = "/"
	var stderr bytes.Buffer
	worker.Stderr = &stderr
	worker.SysProcAttr = attributes
	// A copy that another test's fork still holds open for writing cannot be started yet.
	require.Eventually(s.t, func() bool {
		if err := worker.Start(); err != nil {
			worker = &exec.Cmd{Path: worker.Path, Args: worker.Args, Env: worker.Env, Dir: worker.Dir, Stderr: worker.Stderr, SysProcAttr: worker.SysProcAttr}
			return false
		}
		return true
	}, time.Minute, 10*time.Millisecond)
	s.t.Cleanup(func() { _ = worker.Process.Kill() })
	return worker, &stderr
}

func (s *site) lone(seconds int) string {
	return fmt.Sprintf("sh %s/lone.sh %s %d", s.dir, s.dir, seconds)
}

// holders are the living processes that have the lock file open.
func (s *site) holders() []int {
	return processesWith(func(folder string) bool {
		target, err := os.Readlink(folder + "/fd/9")
		return err == nil && target == filepath.Join(s.dir, "lock")
	})
}

// awaitHolder waits until the program has the lock, which flock takes in a process of its own, and, if noted is set, until
// the worker has noted its process.
func (s *site) awaitHolder(noted bool) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		_, err := os.Stat(filepath.Join(s.dir, "started"))
		pids := s.holders()
		if err != nil || len(pids) != 1 || !noted {
			return err == nil && len(pids) == 1
		}
		notes, _ := os.ReadDir(s.state())
		for _, note := range notes {
			if text, err := os.ReadFile(filepath.Join(s.state(), note.Name())); strings.HasSuffix(note.Name(), ".json") && err == nil && strings.Contains(string(text), fmt.Sprintf(`{"pid":%d,`, pids[0])) {
				return true
			}
		}
		return false
	}, time.Minute, 50*time.Millisecond)
}

// shimsOf are the shims of a worker.
func shimsOf(worker int) []int {
	return processesWith(func(folder string) bool {
		text, err := os.ReadFile(folder + "/stat")
		return err == nil && strings.Contains(string(text), " (roundsman-shim) S "+strconv.Itoa(worker)+" ")
	})
}

// processesWith returns the processes whose folder in /proc matches. A pattern of more than one level would list every folder.
func processesWith(matches func(folder string) bool) (pids []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		if matches(folder) {
			pid, _ := strconv.Atoi(filepath.Base(folder))
			pids = append(pids, pid)
		}
	}
	return pids
}

// sessions are programs that leave the process group of their job: %s is the command
// line of lone.
func sessions() map[string]string {
	return map[string]string{
		"runuser -l": `runuser -l nobody -s /bin/sh -c "%s"`,
		"su -":       `su - nobody -s /bin/sh -c "%s"`,
		"setsid":     `setsid %s & wait`,
		"a daemon":   `(setsid %s > /dev/null 2>&1 < /dev/null &); sleep 1000`,
		"a daemon without environment that ignores SIGTERM": `(env -i PATH="$PATH" setsid sh -c "trap '' TERM; %s" > /dev/null 2>&1 < /dev/null &); sleep 1000`,
	}
}

// endings are the ways in which an attempt ends early.
func endings() map[string]func(t *testing.T, s *site, worker *exec.Cmd) {
	stopped := func(with syscall.Signal) func(t *testing.T, s *site, worker *exec.Cmd) {
		return func(t *testing.T, s *site, worker *exec.Cmd) {
			t.Helper()
			require.NoError(t, worker.Process.Signal(with))
			_ = worker.Wait()
			assert.Empty(t, s.holders(), "gone when the attempt has ended")
		}
	}
	return map[string]func(t *testing.T, s *site, worker *exec.Cmd){
		"cancel":   stopped(syscall.SIGUSR1),
		"time-out": stopped(syscall.SIGUSR2),
		"kill -9 of the worker": func(t *testing.T, _ *site, worker *exec.Cmd) {
			t.Helper()
			require.NoError(t, worker.Process.Kill())
			_ = worker.Wait()
		},
		"kill -9 of the worker and the shim": func(t *testing.T, _ *site, worker *exec.Cmd) {
			t.Helper()
			shims := shimsOf(worker.Process.Pid)
			require.Len(t, shims, 1)
			require.NoError(t, worker.Process.Signal(syscall.SIGSTOP))
			require.NoError(t, syscall.Kill(shims[0], syscall.SIGKILL))
			require.NoError(t, worker.Process.Kill())
			_ = worker.Wait()
		},
	}
}

// A program ends with its attempt, in any session, and the next attempt never runs next to it.
func TestNoProgramSurvivesItsAttempt(t *testing.T) {
	t.Parallel()
	for user, uid := range map[string]int{"root": 0, "an ordinary user": nobody} {
		for session, script := range sessions() {
			if uid != 0 && strings.HasPrefix(script, "runuser") || uid != 0 && strings.HasPrefix(script, "su ") {
				continue // They are for root, or need a password.
			}
			for end, stop := range endings() {
				t.Run(user+"/"+session+"/"+end, func(t *testing.T) {
					t.Parallel()
					s := newSite(t, uid)
					first, _ := s.worker(1, fmt.Sprintf(script, s.lone(1000)))
					s.awaitHolder(strings.Contains(end, "shim"))
					stop(t, s, first)
					second, stderr := s.worker(2, s.lone(0))
					require.NoError(t, second.Wait(), stderr.String())
					assert.Empty(t, s.holders())
					assert.NoFileExists(t, filepath.Join(s.dir, "overlaps"))
					left, err := os.ReadDir(s.state())
					require.NoError(t, err)
					assert.Empty(t, left, "no notes are left")
				})
			}
		}
	}
}

// A program that ends by itself ends with its children.
func TestDaemonsEndWithTheirProgram(t *testing.T) {
	t.Parallel()
	for code, ok := range map[int]bool{0: true, 1: false} {
		s := newSite(t, 0)
		worker, stderr := s.worker(1, fmt.Sprintf("(setsid %s > /dev/null 2>&1 < /dev/null &); while [ ! -e %s/started ]; do :; done; exit %d", s.lone(1000), s.dir, code))
		assert.Equal(t, ok, worker.Wait() == nil, stderr.String())
		assert.Empty(t, s.holders())
	}
}

// drainedAt is the context of a worker that drains when a file appears.
func drainedAt(t *testing.T, file string) context.Context {
	t.Helper()
	ctx, drain := context.WithCancelCause(t.Context())
	t.Cleanup(func() { drain(nil) })
	go func() {
		for _, err := os.Stat(file); err != nil; _, err = os.Stat(file) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		drain(jobtype.ErrDraining)
	}()
	return ctx
}

// The program has ended by itself, although its child ignores SIGTERM until the worker drains.
func TestADrainAfterTheEndOfAProgramIsNoStop(t *testing.T) {
	t.Parallel()
	for name, streams := range map[string]string{"silent": "> /dev/null 2>&1 < /dev/null", "with the output open": ""} {
		for range 6 {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				ctx := drainedAt(t, filepath.Join(dir, "asked"))
				script := `(setsid sh -c 'trap "touch $1/asked" TERM; touch $1/trap; while :; do sleep 0.1; done' sh "$1" ` + streams + ` &); while [ ! -e "$1/trap" ]; do sleep 0.01; done; echo done`
				got := jobtypetest.Execute(ctx, newHandler(300*time.Millisecond), jobtype.Job{Settings: raw(t, shell(script, dir).with(block{"kill_grace": "500ms"}))})
				require.NoError(t, got.Err)
				assert.Equal(t, map[string]any{"exit_code": 0}, got.Result.Data)
				assert.Equal(t, "done\n", got.Result.Output)
			})
		}
	}
}

// Without a shim the child of an ended program cannot be ended. It prints until the drain, so a detection may lack lines.
func TestADrainOnlyCutsTheOutputOfAnEndedProgram(t *testing.T) {
	t.Parallel()
	script := `sh -c 'trap "touch $1/asked" TERM; touch $1/trap; while :; do echo; done' sh "$1" & while [ ! -e "$1/trap" ]; do sleep 0.01; done; `
	for end, want := range map[string]string{"exit 0": "", "exit 3": "exited with status 3", "detect": jobtype.ErrDraining.Error()} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx := drainedAt(t, filepath.Join(dir, "asked"))
			handler := command.New(command.Options{OutputGrace: 300 * time.Millisecond})
			if end == "detect" {
				require.ErrorIs(t, jobtypetest.Detect(ctx, handler, jobtype.DetectInput{Settings: raw(t, shell(script, dir))}).Err, jobtype.ErrDraining)
				return
			}
			progress := &settling{settled: make(chan error, 1)}
			_, err := handler.Execute(ctx, jobtype.Job{Settings: raw(t, shell(script+end, dir))}, progress)
			require.Len(t, progress.settled, 1)
			require.Equal(t, err, <-progress.settled)
			if want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// The program is killed at once, and its reader is slow.
func TestLastWordsAreReadWithoutKillGrace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	reached := func(file string) bool {
		_, err := os.Stat(filepath.Join(dir, file))
		return err == nil
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var ended atomic.Bool
	recorder := &jobtypetest.Recorder{OnReport: func(int, jobtypetest.Report) {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, "reported"), nil, 0o600))
		assert.Eventually(t, func() bool { return reached("said") }, time.Minute, 10*time.Millisecond)
		cancel(jobtype.ErrCanceled)
		assert.Eventually(t, func() bool { return !lives(readPID(t, filepath.Join(dir, "pid"))) }, time.Minute, 10*time.Millisecond)
		assert.Never(t, ended.Load, 100*time.Millisecond, 10*time.Millisecond, "the attempt waits for its reader")
	}}
	script := `echo $$ > pid; echo '::progress 1 ready'; while [ ! -e reported ]; do sleep 0.01; done; echo last words; touch said; exec sleep 1000`
	job := jobtype.Job{Settings: raw(t, shell(script).with(block{"dir": dir, "kill_grace": "0s"}))}
	result, err := newHandler(time.Minute).Execute(ctx, job, recorder)
	ended.Store(true)
	require.ErrorIs(t, err, jobtype.ErrCanceled)
	assert.Equal(t, "last words\n", result.Output)
}

// A shim that is killed while its worker lives leaves nothing behind either.
func TestAKilledShimLeavesNothing(t *testing.T) {
	t.Parallel()
	for session, script := range sessions() {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 0)
			worker, stderr := s.worker(1, fmt.Sprintf(script, s.lone(1000)))
			s.awaitHolder(true)
			shims := shimsOf(worker.Process.Pid)
			require.Len(t, shims, 1)
			require.NoError(t, syscall.Kill(shims[0], syscall.SIGKILL))
			require.Error(t, worker.Wait())
			assert.Contains(t, stderr.String(), "roundsman-shim was killed")
			assert.Empty(t, s.holders())
		})
	}
}

// The children of a shim end even if the shim dies before the worker has noted it.
func TestAShimThatDiesAtTheStartLeavesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pid")
	handler := command.New(command.Options{Shim: []string{"/proc/self/exe", dyingShimArgument, path}})
	got := jobtypetest.Execute(t.Context(), handler, jobtype.Job{Settings: raw(t, shell("true"))})
	assert.ErrorContains(t, got.Err, "its roundsman-shim was killed before it reported the start of the program")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(text))
	require.NoError(t, err)
	t.Cleanup(func() {
		if lives(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	assert.False(t, lives(pid))
}

// A shim that never reports, such as a stopped one, does not keep a canceled job.
func TestAShimThatHangsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pid")
	handler := command.New(command.Options{Shim: []string{"/bin/sh", "-c", "echo $$ >" + path + ".new; mv " + path + ".new " + path + "; kill -STOP $$"}})
	ctx, cancel := context.WithCancelCause(t.Context())
	canceled := errors.New("the job was canceled")
	go func() {
		assert.Eventually(t, func() bool {
			_, err := os.Stat(path)
			return err == nil
		}, time.Minute, 10*time.Millisecond)
		cancel(canceled)
	}()
	settings := shell("true")
	settings["kill_grace"] = "100ms"
	got := jobtypetest.Execute(ctx, handler, jobtype.Job{Settings: raw(t, settings)})
	assert.ErrorIs(t, got.Err, canceled)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	assert.False(t, lives(pid))
}

// rooted makes a program that becomes root for any caller, and returns its command line in front of lone: an ordinary
// user cannot signal it.
func (s *site) rooted() string {
	s.t.Helper()
	setpriv, err := exec.LookPath("setpriv")
	require.NoError(s.t, err)
	path := filepath.Join(s.dir, "become-root")
	copyOfExecutable(s.t, setpriv, path)
	require.NoError(s.t, os.Chmod(path, 0o755|os.ModeSetuid))
	return path + " --reuid 0 --clear-groups " + s.lone(1000)
}

// A program that the worker may not signal is never joined by a second one, not even after a restart of the worker. The
// next attempt reports its wait.
func TestNoRetryBesideAProgramThatCannotBeEnded(t *testing.T) {
	t.Parallel()
	s := newSite(t, nobody)
	first, stderr := s.worker(1, "exec "+s.rooted())
	s.awaitHolder(false)
	left := s.holders()
	require.NoError(t, first.Process.Signal(syscall.SIGUSR1))
	require.Error(t, first.Wait())
	assert.Contains(t, stderr.String(), "did not die after SIGKILL")

	second, stderr := s.worker(2, s.lone(0))
	require.Error(t, second.Wait())
	assert.Contains(t, stderr.String(), fmt.Sprintf("no room for the job: NOT_ENDED: sh of attempt 1 still runs here as process %d and cannot be ended; end it on worker node-a", left[0]))
	assert.Equal(t, left, s.holders())

	require.NoError(t, syscall.Kill(left[0], syscall.SIGKILL))
	third, stderr := s.worker(3, s.lone(0))
	require.NoError(t, third.Wait(), stderr.String())
	assert.NoFileExists(t, filepath.Join(s.dir, "overlaps"))
}

// delegate makes a cgroup for an ordinary user, as systemd does for Delegate=yes.
func (s *site) delegate() {
	s.t.Helper()
	mounts, err := os.ReadFile("/proc/mounts")
	require.NoError(s.t, err)
	found := regexp.MustCompile(`(?m)^\S+ (\S+) cgroup2 `).FindSubmatch(mounts)
	if found == nil {
		s.t.Skip("no cgroup v2 is mounted here: programs end by their shims alone")
	}
	s.cgroup = filepath.Join(string(found[1]), filepath.Base(s.dir))
	if err := os.Mkdir(s.cgroup, 0o755); err != nil { //nolint:gosec // as systemd does
		s.t.Skipf("this machine gives root no cgroup: %v", err)
	}
	s.t.Cleanup(func() { assert.NoError(s.t, os.Remove(s.cgroup)) })
	s.t.Cleanup(func() { _ = os.Remove(filepath.Join(s.cgroup, "worker")) })
	require.NoError(s.t, unix.Setxattr(s.cgroup, "trusted.delegate", []byte("1"), 0))
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		require.NoError(s.t, os.Chown(filepath.Join(s.cgroup, name), s.uid, s.uid))
	}
}

// In a cgroup of its own a program of any user ends.
func TestADelegatedCgroupEndsProgramsOfOtherUsers(t *testing.T) {
	t.Parallel()
	for end, stop := range endings() {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nobody)
			s.delegate()
			first, _ := s.worker(1, "(setsid "+s.rooted()+" > /dev/null 2>&1 < /dev/null &); sleep 1000")
			s.awaitHolder(false)
			stop(t, s, first)
			second, stderr := s.worker(2, s.lone(0))
			require.NoError(t, second.Wait(), stderr.String())
			assert.Empty(t, s.holders())
			assert.NoFileExists(t, filepath.Join(s.dir, "overlaps"))
		})
	}
}
