package nodee2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestHooksRunWhateverHappens: the worker is killed, stopped, or gets a cancel; a time-out and a task of a DAG come
// between.
func TestHooksRunWhateverHappens(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	secret := filepath.Join(s.Dir, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("horse battery"), 0o600))
	path := func(name string) string { return filepath.Join(s.Dir, "book-"+name) }
	lines := func(name string) []string {
		text, _ := os.ReadFile(path(name))
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	jobType := func(name, policy, script string) string {
		step := fmt.Sprintf("echo $ROUNDSMAN_ATTEMPT $ROUNDSMAN_HOOK $ROUNDSMAN_OUTCOME $ROUNDSMAN_EXIT_CODE >> %s; echo $S said", path(name))
		hooks := fmt.Sprintf("{before: [sh, -c, %q], on_failure: [sh, -c, %q], finally: [sh, -c, %q]}", step, step, step)
		return fmt.Sprintf("  %s:\n    handler: command\n    schedule: {every: 365d, first_run: scheduled}\n    policy: {%s}\n    detect: {command: [echo, one]}\n"+
			"    execute: {command: [sh, -c, %q], kill_grace: 1s, env: {S: {file: %s}}, hooks: %s}\n", name, policy, "echo $ROUNDSMAN_ATTEMPT program >> "+path(name)+"; "+script, secret, hooks)
	}
	await := func(name, line string) {
		t.Helper()
		testsuite.WaitFor(t, time.Minute, name+" has "+line, func() bool { return strings.Contains(strings.Join(lines(name), "\n"), line) })
	}
	once := "test $ROUNDSMAN_ATTEMPT != 1 || exec sleep 1000"
	s.Apply("version: 1\njob_types:\n" + jobType("killed", "heartbeat_timeout: 3s, retry_limit: 1", once) + jobType("stopped", "retry_limit: 1", once) +
		jobType("canceled", "retry_limit: 0", "exec sleep 1000") + jobType("late", "retry_limit: 0, execution_timeout: 15s", "exec sleep 1000"))
	victim := s.worker("node-a")
	s.AwaitFresh("node-a")

	killed := s.Begin("killed")
	await("killed", "1 program")
	owed, err := filepath.Glob(filepath.Join(s.Dir, "node-a", "workers", "node-a.state", "command", "*.hooks.json"))
	require.NoError(t, err)
	require.Len(t, owed, 1)
	text, err := os.ReadFile(owed[0])
	require.NoError(t, err)
	assert.NotContains(t, string(text), "horse")
	victim.Kill()
	second := s.worker("node-a")
	assert.Equal(t, 1, s.Result(killed).Counts.Completed)
	assert.Equal(t, []string{"1 before", "1 program", "1 on_failure lost", "1 finally lost", "2 before", "2 program", "2 finally success 0"}, lines("killed"))
	job := killed.WorkflowID + "/job-00001"
	assert.Equal(t, "[before] *** said\n[finally] *** said\n", s.Command("logs", job))
	shown := s.Command("show", job)
	assert.Contains(t, shown, "hook on_failure")
	assert.NotContains(t, shown, "horse")

	stopped := s.Begin("stopped")
	await("stopped", "1 program")
	second.Signal(t, syscall.SIGTERM)
	require.Equal(t, 0, second.Code(t, time.Minute))
	assert.Equal(t, []string{"1 before", "1 program", "1 finally stopped"}, lines("stopped"))
	s.worker("node-a")
	assert.Equal(t, 1, s.Result(stopped).Counts.Completed)
	assert.Equal(t, "2 finally success 0", lines("stopped")[5])

	canceled := s.Begin("canceled")
	await("canceled", "1 program")
	s.Command("cancel", canceled.WorkflowID, "--yes")
	s.Result(canceled)
	assert.Equal(t, []string{"1 before", "1 program", "1 finally canceled"}, lines("canceled"))

	assert.Equal(t, 1, s.Result(s.Begin("late")).Counts.Failed)
	assert.Equal(t, []string{"1 before", "1 program", "1 on_failure timeout", "1 finally timeout"}, lines("late"))

	assert.Empty(t, s.sleeping(), "no program is alive")
}

// sleeping lists the programs below the directory of the test that are alive.
func (s *site) sleeping() []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if strings.Contains(string(text), "ROUNDSMAN_PROCESS_MARK=") && strings.Contains(string(text), s.Dir) {
			found = append(found, string(line))
		}
	}
	return found
}

// TestHooksOfAWholeRun runs the DAG of docs/programs.md, and a task with hooks.
func TestHooksOfAWholeRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	text, err := os.ReadFile("../../docs/programs.md")
	require.NoError(t, err)
	_, example, _ := strings.Cut(string(text), "**Around a whole run**")
	_, example, _ = strings.Cut(example, "```yaml\n")
	example, _, found := strings.Cut(example, "```")
	require.True(t, found)
	dir := filepath.Join(s.Dir, "dumps")
	require.NoError(t, os.Mkdir(dir, 0o700))
	file := filepath.Join(s.Dir, "dump-all.yaml")
	require.NoError(t, os.WriteFile(file, []byte(example), 0o600))
	s.Command("start", file, "--param", "dir="+dir, "--wait")
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "shop"), filepath.Join(dir, "users")}, left, "frozen is gone, and nothing has failed")

	require.NoError(t, os.Remove(left[0]))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "no"), 0o700))
	failing := strings.Replace(example, `touch, "{{.Params.dir}}/{{.Item}}"`, `touch, "{{.Params.dir}}/none/{{.Item}}"`, 1)
	require.NoError(t, os.WriteFile(file, []byte(failing), 0o600))
	failed := s.Start("start", file, "--param", "dir="+dir, "--wait")
	assert.NotEqual(t, 0, failed.Code(t, time.Minute))
	assert.FileExists(t, filepath.Join(dir, "alarm"))
	assert.NoFileExists(t, filepath.Join(dir, "frozen"))

	hooked := `version: 1
name: hooked
params: {dir: x}
tasks:
  - {id: a, command: ["false"], dir: "{{.Params.dir}}", hooks: {before: [touch, before], on_failure: [touch, "failed-{{.Params.dir | len}}"], finally: [touch, finally]}}
`
	require.NoError(t, os.WriteFile(file, []byte(hooked), 0o600))
	dry := s.Program(nil, sites.Self(t), "start", file, "--param", "dir="+dir, "--dry-run")
	require.Equal(t, 0, dry.Code(t, time.Minute), dry.Stderr.String())
	assert.Regexp(t, `hook on_failure +touch failed-\d+\nhook finally +touch finally\n`, dry.Stdout.String())
	task := s.Start("start", file, "--param", "dir="+dir, "--wait")
	assert.NotEqual(t, 0, task.Code(t, time.Minute))
	for _, name := range []string{"before", fmt.Sprintf("failed-%d", len(dir)), "finally"} {
		assert.FileExists(t, filepath.Join(dir, name))
	}
}

// TestHooksHaveTheUserAndTheLimitsOfTheirProgram, also for the hooks that run after the worker was killed.
func TestHooksHaveTheUserAndTheLimitsOfTheirProgram(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may become somebody else")
	}
	s := newSite(t)
	book := filepath.Join(t.TempDir(), "book")
	require.NoError(t, os.WriteFile(book, nil, 0o600))
	require.NoError(t, os.Chmod(book, 0o666)) //nolint:gosec // another user writes it
	for _, dir := range []string{filepath.Dir(book), filepath.Dir(filepath.Dir(book))} {
		require.NoError(t, os.Chmod(dir, 0o755)) //nolint:gosec // another user passes it
	}
	step := func(name, then string) string {
		return fmt.Sprintf("[sh, -c, %q]", fmt.Sprintf("echo $ROUNDSMAN_ATTEMPT %s $(id -un) $(ulimit -n) >> %s; %s", name, book, then))
	}
	s.Apply(fmt.Sprintf(`
version: 1
job_types:
  bounded:
    handler: command
    each_worker: true
    schedule: {every: 365d, first_run: scheduled}
    policy: {heartbeat_timeout: 3s, retry_limit: 1}
    execute:
      command: %s
      user: nobody
      limits: {open_files: 73}
      hooks: {before: %s, on_failure: %s, finally: %s}
`, step("program", "test $ROUNDSMAN_ATTEMPT != 1 || exec sleep 1000"), step("before", "true"), step("on_failure", "true"), step("finally", "true")))
	lines := func() []string {
		text, _ := os.ReadFile(book)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	victim := s.worker("node-a")
	s.AwaitFresh("node-a")
	bounded := s.Begin("bounded")
	testsuite.WaitFor(t, time.Minute, "the program runs", func() bool { return len(lines()) == 2 })
	victim.Kill()
	s.worker("node-a")
	require.Equal(t, 1, s.Result(bounded).Counts.Completed)
	var want []string
	for _, step := range []string{"1 before", "1 program", "1 on_failure", "1 finally", "2 before", "2 program", "2 finally"} {
		want = append(want, step+" nobody 73")
	}
	assert.Equal(t, want, lines())
	assert.Empty(t, s.sleeping(), "no program is alive")
}
