package command_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/internal/lib/hook"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

// logged replaces the log of the process during the test.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func newLog(t *testing.T) *logged {
	t.Helper()
	l, before := &logged{}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(l, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return l
}

// Write implements io.Writer.
func (l *logged) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *logged) has(part string) func() bool {
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Contains(l.text.String(), part)
	}
}

// owe leaves the hooks of a lost attempt, as a killed worker does. Each has limit to start, and then limit to run.
func owe(t *testing.T, limit time.Duration, dir, state string, spec launch.Spec, onFailure ...string) {
	t.Helper()
	timeout := jobtype.Duration(limit)
	spec.Hooks = launch.Hooks{OnFailure: onFailure, Finally: []string{"sh", "-c", "echo $ROUNDSMAN_HOOK >> " + dir + "/book"}, Timeout: &timeout}
	owed := &hook.Owed{Job: "group/g/job-1", Attempt: 1, Launch: spec, Outcome: hook.Outcome{Kind: hook.Lost, Code: -1}, Pending: spec.Hooks.All()}
	require.NoError(t, owed.Open(state, "mark"))
}

// This test reads the process-wide log, so it is not parallel.
func TestAnOwedHookIsTriedUntilItStarts(t *testing.T) { //nolint:paralleltest // see above
	log, dir, state, handler := newLog(t), t.TempDir(), t.TempDir(), newHandler(0)
	owe(t, 5*time.Second, dir, state, launch.Spec{EnvFile: []string{filepath.Join(dir, "later")}})
	require.NoError(t, handler.PrepareNode(t.Context(), "node-a", state))
	job := jobtype.Job{WorkerID: "node-a", GroupID: "group/g", ID: "job-1", Attempt: 2, Settings: raw(t, shell("true"))}
	got := jobtypetest.Execute(t.Context(), handler, job)
	require.ErrorIs(t, got.Err, jobtype.ErrAtCapacity, "nothing of the same job starts before")
	require.ErrorContains(t, got.Err, "NOT_ENDED: an owed hook of attempt 1 runs here, or is tried until it starts; see the log of worker node-a")
	stopped := jobtypetest.Execute(t.Context(), handler, job, jobtypetest.CancelAtReport(1, jobtype.ErrCanceled))
	require.ErrorIs(t, stopped.Err, jobtype.ErrAtCapacity, "it only waited")
	require.ErrorIs(t, stopped.Err, jobtype.ErrCanceled)
	assert.Eventually(t, log.has("is tried again"), time.Minute, 10*time.Millisecond)
	assert.True(t, log.has("file="+filepath.Join(state, "mark.hooks.json"))())
	assert.True(t, log.has("ENV_FILE: "+filepath.Join(dir, "later")+": no such file")())
	assert.Equal(t, []string{"mark.hooks.json"}, owedIn(t, state))
	assert.Empty(t, book(dir))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "later"), nil, 0o600))
	require.Eventually(t, log.has("have run"), time.Minute, 10*time.Millisecond)
	assert.Equal(t, "finally\n", book(dir))
	assert.Empty(t, owedIn(t, state))
	assert.NoError(t, jobtypetest.Execute(t.Context(), handler, job).Err)
}

// Owed hooks run without a restart of the worker once the node has file descriptors again. The limit is process-wide, so
// this test is not parallel.
func TestOwedHooksRunOnceTheirFileCanBeRead(t *testing.T) { //nolint:paralleltest // see above
	log, dir, state := newLog(t), t.TempDir(), t.TempDir()
	owe(t, time.Minute, dir, state, launch.Spec{})
	var limit unix.Rlimit
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &limit))
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: limit.Max}, nil))
	prepared := make(chan error, 1)
	go func() { prepared <- newHandler(0).PrepareNode(context.WithoutCancel(t.Context()), "node-a", state) }()
	waits := assert.Eventually(t, log.has("too many open files"), 10*time.Second, 10*time.Millisecond)
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &limit, nil))
	require.NoError(t, <-prepared)
	require.True(t, waits)
	require.Eventually(t, log.has("have run"), time.Minute, 10*time.Millisecond)
	assert.Equal(t, "finally\n", book(dir))
	assert.Empty(t, owedIn(t, state))
}

// The program of the hooks may be the one whose note cannot be read.
func TestOwedHooksWaitForAnUnreadableNote(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	note := filepath.Join(s.state(), "x.group.json")
	require.NoError(t, os.MkdirAll(note, 0o700))
	owe(t, time.Minute, s.dir, s.state(), launch.Spec{})
	worker, stderr := s.worker(2, "true")
	require.Error(t, worker.Wait())
	assert.Contains(t, stderr.String(), note)
	assert.Contains(t, stderr.String(), "NOT_ENDED: an owed hook of attempt 1 waits here until the worker starts again; see the log of worker node-a")
	assert.Empty(t, book(s.dir))
	assert.Len(t, s.owed(), 1)

	require.NoError(t, os.Remove(note))
	s.keys = block{"hooks": block{"finally": []string{"true"}}} // A worker with hooks waits for longer.
	worker, stderr = s.worker(3, "true")
	require.NoError(t, worker.Wait(), stderr.String())
	assert.Equal(t, "finally\n", book(s.dir))
	assert.Empty(t, s.owed())
}

// This test reads the process-wide log, so it is not parallel.
func TestAnOwedHookThatCanNeverStartIsGivenUp(t *testing.T) { //nolint:paralleltest // see above
	log, dir, state := newLog(t), t.TempDir(), t.TempDir()
	owe(t, 5*time.Second, dir, state, launch.Spec{}, "no-such-program")
	require.NoError(t, newHandler(0).PrepareNode(t.Context(), "node-a", state))
	require.Eventually(t, log.has("could not be started"), time.Minute, 10*time.Millisecond)
	assert.True(t, log.has("no-such-program")())
	assert.False(t, log.has("have run")())
	assert.Equal(t, "finally\n", book(dir))
	assert.Empty(t, owedIn(t, state))
}

// The secret is there for the program, not for the first try of its hook.
func TestAHookOfAnAttemptIsTriedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := []string{"sh", "-c", `echo >> "$1/tries"; test "$(wc -l < "$1/tries")" -ne 2 && echo secret`, "sh", dir}
	keys := block{"env": block{"S": block{"command": secret}}, "hooks": block{"finally": []string{"sh", "-c", "echo $ROUNDSMAN_OUTCOME >> " + dir + "/book"}}}
	got := execute(t, shell("true").with(keys), jobtype.Job{ID: "j", GroupID: "g"})
	require.NoError(t, got.Err)
	assert.Empty(t, got.Result.Warning)
	assert.Equal(t, "success\n", book(dir))
}

// A shim that was killed before its report may have started the hook.
func TestAHookThatMayHaveBegunIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	dir, self := t.TempDir(), fmt.Sprintf("/proc/%d/exe", os.Getpid())
	shim := []string{"sh", "-c", `echo >> "$2/tries"; exec "$0" "$1" "$2/pid"`, self, dyingShimArgument, dir}
	keys := block{"hooks": block{"finally": []string{"true"}, "timeout": "10s"}}
	got := jobtypetest.Execute(t.Context(), command.New(command.Options{Shim: shim}), jobtype.Job{ID: "j", GroupID: "g", Settings: raw(t, shell("true").with(keys))})
	require.ErrorContains(t, got.Err, "(hook finally: start true: its roundsman-shim was killed before it reported the start of the program)")
	tries, err := os.ReadFile(filepath.Join(dir, "tries"))
	require.NoError(t, err)
	assert.Equal(t, "\n\n", string(tries), "one for the program, one for its hook")
}

// A worker that is stopped before the program of its predecessor has ended leaves the hooks to the next one.
func TestOwedHooksNeverRunBesideTheirProgram(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	finally := []string{"sh", "-c", `flock -n "$0/lock" true || echo beside >> "$0/book"; echo finally $ROUNDSMAN_OUTCOME >> "$0/book"`, s.dir}
	s.keys = block{"kill_grace": "10m", "hooks": block{"finally": finally}}
	first, _ := s.worker(1, "trap '' TERM; exec "+s.lone(1000))
	s.awaitHolder(true)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()

	hooked := s.keys
	s.stops, s.keys = 300*time.Millisecond, nil
	second, stderr := s.worker(2, "true")
	require.Error(t, second.Wait())
	assert.Contains(t, stderr.String(), "context deadline exceeded")
	assert.Contains(t, stderr.String(), "NOT_ENDED")
	require.Len(t, s.holders(), 1)
	assert.Empty(t, book(s.dir))
	assert.Len(t, s.owed(), 1)

	require.NoError(t, syscall.Kill(s.holders()[0], syscall.SIGKILL))
	s.stops, s.keys = 0, hooked
	third, stderr := s.worker(3, "true")
	require.NoError(t, third.Wait(), stderr.String())
	assert.Equal(t, "finally lost\nfinally success\n", book(s.dir))
	assert.Empty(t, s.owed())
}
