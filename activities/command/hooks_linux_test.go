package command_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

// hooked returns the keys of a program whose hooks write a line each to the book.
func hooked(dir string) block {
	note := func(extra string) []string {
		return []string{"sh", "-c", `echo "$ROUNDSMAN_HOOK attempt=$ROUNDSMAN_ATTEMPT outcome=$ROUNDSMAN_OUTCOME code=$ROUNDSMAN_EXIT_CODE as=$(id -u) in=$PWD with=$X" >> ` + dir + `/book; echo said by $ROUNDSMAN_HOOK;` + extra}
	}
	return block{
		"dir": dir, "env": block{"X": "y"}, "kill_grace": "300ms",
		"hooks": block{"before": note("test ! -e fail-before || exit $(cat fail-before)"), "on_failure": note(""), "finally": note("test ! -e fail-finally || { echo busy >&2; exit 32; }"), "timeout": "5m"},
	}
}

func book(dir string) string {
	text, _ := os.ReadFile(filepath.Join(dir, "book"))
	return string(text)
}

func TestHooksSeeEachOutcome(t *testing.T) {
	t.Parallel()
	line := func(dir, hook, outcome, code string) string {
		return hook + " attempt=2 outcome=" + outcome + " code=" + code + " as=0 in=" + dir + " with=y\n"
	}
	asRoot(t)
	for name, c := range map[string]struct {
		script, failing, code string
		outcome, exit         string
		failed                bool
		want, warning         string
	}{
		"success":             {script: "exit 0", outcome: "success", exit: "0"},
		"warning":             {script: "exit 1", outcome: "warning", exit: "1", warning: "exited with status 1"},
		"failure":             {script: "exit 3", outcome: "failure", exit: "3", failed: true, want: "exited with status 3"},
		"permanent":           {script: "exit 4", outcome: "failure", exit: "4", failed: true, want: "permanent"},
		"deferred":            {script: "exit 75", outcome: "deferred", exit: "75", want: "deferred"},
		"signal":              {script: "kill -9 $$", outcome: "failure", failed: true, want: "killed by a signal"},
		"before fails":        {failing: "fail-before", code: "7", outcome: "failure", exit: "7", failed: true, want: "hook before: sh exited with status 7: said by before"},
		"before defers":       {failing: "fail-before", code: "75", outcome: "deferred", exit: "75", want: "deferred"},
		"before is permanent": {failing: "fail-before", code: "4", outcome: "failure", exit: "4", failed: true, want: "permanent"},
		"before warns not":    {failing: "fail-before", code: "1", outcome: "failure", exit: "1", failed: true, want: "hook before: sh exited with status 1"},
		"finally fails":       {script: "exit 0", failing: "fail-finally", code: "x", outcome: "success", exit: "0", warning: "hook finally: sh exited with status 32: busy"},
		"all fail":            {script: "exit 3", failing: "fail-finally", code: "x", outcome: "failure", exit: "3", failed: true, want: "exited with status 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if c.failing != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, c.failing), []byte(c.code), 0o600))
			}
			keys := hooked(dir)
			keys["exit_codes"] = block{"warning": []int{1}, "permanent": []int{4}, "defer": block{"75": "5m"}}
			got := execute(t, shell("echo program >> book; "+c.script).with(keys), jobtype.Job{ID: "j", GroupID: "g", Attempt: 2})
			want := "before attempt=2 outcome= code= as=0 in=" + dir + " with=y\n"
			if c.failing != "fail-before" {
				want += "program\n"
			}
			if c.failed {
				want += line(dir, "on_failure", c.outcome, c.exit)
			}
			assert.Equal(t, want+line(dir, "finally", c.outcome, c.exit), book(dir))
			switch {
			case c.want == "permanent":
				assert.True(t, jobtype.IsPermanent(got.Err), "%v", got.Err)
			case c.want == "deferred":
				require.NotNil(t, jobtype.AsDeferral(got.Err), "%v", got.Err)
				assert.Equal(t, 5*time.Minute, jobtype.AsDeferral(got.Err).After.Std())
			case c.want != "":
				require.ErrorContains(t, got.Err, c.want)
			default:
				require.NoError(t, got.Err)
				assert.Contains(t, got.Result.Warning, c.warning)
				assert.Equal(t, c.warning == "", got.Result.Warning == "")
			}
			if c.failing == "fail-finally" && c.failed {
				require.ErrorContains(t, got.Err, "(hook finally: sh exited with status 32: busy)")
			}
		})
	}
}

// A hook hangs and ignores SIGTERM; the hooks after it run all the same.
func TestAHookEndsWithItsTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := hooked(dir)
	hooks, _ := keys["hooks"].(block)
	hooks["timeout"] = "10s"
	hooks["on_failure"] = []string{"sh", "-c", "trap '' TERM; echo $$ > pid; sleep 1000 & wait; wait"}
	got := execute(t, shell("exit 3").with(keys), jobtype.Job{ID: "j", GroupID: "g"})
	require.ErrorContains(t, got.Err, "(hook on_failure: sh was stopped: it is over hooks.timeout, 10s)")
	requireGone(t, filepath.Join(dir, "pid"))
	assert.Contains(t, book(dir), "finally attempt=1 outcome=failure code=3")
}

func TestHooksRunAfterTheEndOfAWorkersPatience(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  syscall.Signal
		want string
	}{"cancel": {syscall.SIGUSR1, "finally attempt=1 outcome=canceled code="}, "time-out": {syscall.SIGUSR2, "on_failure attempt=1 outcome=timeout code="}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 0)
			s.keys = hooked(s.dir)
			worker, _ := s.worker(1, s.lone(1000))
			s.awaitHolder(true)
			require.NoError(t, worker.Process.Signal(c.end))
			require.Error(t, worker.Wait())
			assert.Empty(t, s.holders(), "the program has ended")
			assert.Contains(t, book(s.dir), c.want)
			assert.Equal(t, 1, strings.Count(book(s.dir), "finally"))
			assert.Equal(t, name == "time-out", strings.Contains(book(s.dir), "on_failure"))
			assert.Empty(t, s.owed())
		})
	}
}

func (s *site) owed() []string {
	s.t.Helper()
	return owedIn(s.t, s.state())
}

func owedIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".hooks.json") {
			names = append(names, entry.Name())
		}
	}
	return names
}

// The worker is killed at each place of an attempt. The next process of the worker runs the owed hooks before the next
// attempt starts, each once, except one that was running.
func TestHooksOfAKilledWorker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// reach is the content of the first worker's book when it is killed.
		reach, hangs string
		// then is the whole book after the next attempt.
		want []string
	}{
		"before":  {reach: "before", hangs: "before", want: []string{"before", "on_failure lost", "finally lost", "before", "program", "finally success"}},
		"program": {reach: "program", hangs: "program", want: []string{"before", "program", "on_failure lost", "finally lost", "before", "program", "finally success"}},
		"on_failure": {
			reach: "on_failure", hangs: "on_failure",
			want: []string{"before", "program", "on_failure failure", "on_failure failure", "finally failure", "before", "program", "finally success"},
		},
		"finally": {
			reach: "finally", hangs: "finally",
			want: []string{"before", "program", "on_failure failure", "finally failure", "finally failure", "before", "program", "finally success"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 0)
			step := func(what string) []string {
				return []string{"sh", "-c", `echo ` + what + ` $ROUNDSMAN_OUTCOME >> ` + s.dir + `/book; test -e ` + s.dir + `/again || test ` + what + ` != ` + c.hangs + ` || exec sleep 1000`}
			}
			s.keys = block{"hooks": block{"before": step("before"), "on_failure": step("on_failure"), "finally": step("finally")}}
			script := "echo program >> " + s.dir + "/book; test -e " + s.dir + "/again && exit 0; test " + c.hangs + " != program || exec sleep 1000; exit 3"
			worker, _ := s.worker(1, script)
			require.Eventually(t, func() bool { return strings.Contains(book(s.dir), c.reach) }, time.Minute, 10*time.Millisecond)
			require.NotEmpty(t, s.owed(), "the hooks are noted before anything runs")
			require.NoError(t, worker.Process.Kill())
			_ = worker.Wait()

			require.NoError(t, os.WriteFile(filepath.Join(s.dir, "again"), nil, 0o600))
			next, stderr := s.worker(2, script)
			require.NoError(t, next.Wait(), "%s", stderr)
			assert.Equal(t, c.want, strings.Split(strings.TrimSpace(strings.ReplaceAll(book(s.dir), " \n", "\n")), "\n"))
			assert.Empty(t, s.owed())
			left, _ := exec.CommandContext(t.Context(), "pgrep", "-f", s.dir).CombinedOutput()
			assert.Empty(t, string(left), "nothing is alive")
		})
	}
}

// A task has the same key in each run of its DAG. Its hooks keep another run waiting only if they run without their attempt.
func TestHooksBlockTheSameWorkOnlyWithoutTheirAttempt(t *testing.T) {
	t.Parallel()
	for name, canceled := range map[string]bool{"within its attempt": false, "after a cancel": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler, dir := newHandler(0), t.TempDir()
			require.NoError(t, handler.PrepareNode(t.Context(), "node-a", t.TempDir()))
			job := func(run, script string, keys block) jobtype.Job {
				return jobtype.Job{WorkerID: "node-a", JobType: "dag", DedupeKey: "task", GroupID: run, ID: "task", Attempt: 1, Settings: raw(t, shell(script).with(keys))}
			}
			wait := "while [ ! -e " + dir + "/enough ]; do sleep 0.01; done"
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ended := make(chan error, 1)
			go func() {
				keys := block{"kill_grace": "100ms", "hooks": block{"finally": []string{"sh", "-c", "touch " + dir + "/closing; " + wait}}}
				script := "touch " + dir + "/works"
				if canceled {
					script += "; exec sleep 1000"
				}
				ended <- jobtypetest.Execute(ctx, handler, job("first", script, keys)).Err
			}()
			reached := func(file string) {
				require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, file)); return err == nil }, time.Minute, 10*time.Millisecond)
			}
			reached("works")
			if canceled {
				cancel(jobtype.ErrCanceled)
			}
			reached("closing")
			got := jobtypetest.Execute(t.Context(), handler, job("second", "true", nil))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "enough"), nil, 0o600))
			if err := <-ended; canceled {
				require.ErrorIs(t, err, jobtype.ErrCanceled)
				require.ErrorIs(t, got.Err, jobtype.ErrAtCapacity)
				require.NoError(t, jobtypetest.Execute(t.Context(), handler, job("third", "true", nil)).Err)
			} else {
				require.NoError(t, err)
				require.NoError(t, got.Err)
			}
		})
	}
}

// Under liveness progress the reports of the program count, and a hook has none: it is a sign of life itself.
func TestHooksAreSignsOfLife(t *testing.T) {
	t.Parallel()
	for liveness := range map[jobtype.Liveness]bool{jobtype.LivenessProgress: true, jobtype.LivenessProcess: true, jobtype.LivenessActivity: true} {
		for _, hook := range []string{"before", "finally"} {
			t.Run(string(liveness)+"/"+hook, func(t *testing.T) {
				t.Parallel()
				seen := filepath.Join(t.TempDir(), "alive")
				keys := block{"hooks": block{hook: []string{"sh", "-c", "while [ ! -e " + seen + " ]; do sleep 0.01; done"}, "timeout": "30s"}}
				recorder := &jobtypetest.Recorder{OnAlive: func(int) { _ = os.WriteFile(seen, nil, 0o600) }}
				job := jobtype.Job{ID: "j", GroupID: "g", Liveness: liveness, StallTimeout: jobtype.Duration(time.Second), Settings: raw(t, shell("true").with(keys))}
				result, err := newHandler(0).Execute(t.Context(), job, recorder)
				require.NoError(t, err)
				assert.Empty(t, result.Warning)
			})
		}
	}
}

type settling struct {
	jobtypetest.Recorder

	settled chan error
}

func (s *settling) Settle(_ jobtype.Result, err error) { s.settled <- err }

// The outcome is settled before the hooks run, unless the program was stopped.
func TestAProgramSettlesItsOutcomeBeforeItsHooks(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"exit 0": "", "exit 1": "exited with status 1", "exit 75": "exited with status 75",
		"touch works; exec sleep 1000": "was stopped: " + jobtype.ErrDraining.Error(),
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			reached := func(file string) bool { _, err := os.Stat(filepath.Join(dir, file)); return err == nil }
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			progress, ended := &settling{settled: make(chan error, 1)}, make(chan error, 1)
			keys := block{
				"dir": dir, "exit_codes": block{"defer": block{"75": "5m"}},
				"hooks": block{"finally": []string{"sh", "-c", "touch closing; while [ ! -e enough ]; do sleep 0.01; done"}},
			}
			job := jobtype.Job{ID: "j", GroupID: "g", Settings: raw(t, shell(script).with(keys))}
			go func() {
				_, err := newHandler(0).Execute(ctx, job, progress)
				ended <- err
			}()
			require.Eventually(t, func() bool { return reached("closing") || reached("works") }, time.Minute, 10*time.Millisecond)
			cancel(jobtype.ErrDraining)
			require.Eventually(t, func() bool { return reached("closing") }, time.Minute, 10*time.Millisecond)
			select {
			case settled := <-progress.settled:
				assert.False(t, reached("works"), "the program was stopped")
				assert.Equal(t, jobtype.AsDeferral(settled) != nil, script == "exit 75")
				assert.Equal(t, settled == nil, want == "")
			default:
				assert.True(t, reached("works"), "the program ended by itself")
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "enough"), nil, 0o600))
			if err := <-ended; want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, want)
			}
		})
	}
}
