package command_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

type contextT = context.Context

func TestExecutePassesArgumentsWithoutAShell(t *testing.T) {
	t.Parallel()
	nasty := "a b; touch /tmp/pwned $(id) `id` '\"\n{{.Job.ID}}"
	got := execute(t, block{
		"command": []string{"printf", "%s|", "{{.Params.item}}", "{{.Params.n}}", "{{.Params.big}}", "{{.Params.f}}", "{{.Job.Attempt}}/{{.Job.Fence}}", "{{.Cluster.zone}}", "{{base .Params.path}} in {{dir .Params.path}}", "{{json .Params.list}}", "{{gt .Params.n 5}}"},
	}, jobtype.Job{
		Params:  raw(t, map[string]any{"item": nasty, "n": 1000000, "big": json.Number("123456789012345678901234"), "f": 1.5, "path": "/var/log/x.log", "list": []int{1, 2}}),
		Cluster: json.RawMessage(`{"zone":"east"}`), Attempt: 2, Fence: 9,
	})
	require.NoError(t, got.Err)
	assert.Equal(t, nasty+"|1000000|123456789012345678901234|1.5|2/9|east|x.log in /var/log|[1,2]|true|", got.Result.Output)
	assert.Equal(t, 0, got.Result.Data["exit_code"])
}

func TestExecuteEnvironmentStdinAndDir(t *testing.T) {
	t.Setenv("TEMPORAL_API_KEY", "secret")
	t.Setenv("ROUNDSMAN_WORKER_ID", "somebody else")
	dir := t.TempDir()
	settings := shell(`pwd; cat; echo; env | grep -E '^(ROUNDSMAN|TEMPORAL|ZONE|HOME)' | grep -v ^ROUNDSMAN_PROCESS_MARK= | sort`)
	settings["env"] = block{"ZONE": "{{.Params.zone}}"}
	settings["dir"] = "{{.Params.dir}}"
	got := execute(t, settings, jobtype.Job{
		ID: "job-00007", GroupID: "group/clean-1", JobType: "clean", DedupeKey: "k\x00ey", WorkerID: "node-a", Attempt: 3, Fence: 42,
		Params: raw(t, block{"zone": "east", "dir": dir}), Checkpoint: raw(t, block{"at": 1}),
	})
	require.NoError(t, got.Err)
	resolved, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	assert.Equal(t, strings.Join([]string{
		resolved, string(raw(t, block{"zone": "east", "dir": dir})), "HOME=" + os.Getenv("HOME"),
		"ROUNDSMAN_ATTEMPT=3", "ROUNDSMAN_BATCH_SIZE=1", `ROUNDSMAN_CHECKPOINT={"at":1}`, `ROUNDSMAN_DEDUPE_KEY=k\x00ey`, "ROUNDSMAN_FENCE=42", "ROUNDSMAN_GROUP_ID=group/clean-1", "ROUNDSMAN_JOB_ID=job-00007", "ROUNDSMAN_JOB_TYPE=clean", "ROUNDSMAN_WORKER_ID=node-a", "ZONE=east\n",
	}, "\n"), got.Result.Output)
}

// Variables are bytes: that of a worker may hold a path in Latin-1.
func TestBytesThatAreNoUTF8ReachTheProgram(t *testing.T) {
	t.Parallel()
	handler := command.New(command.Options{
		Shim:    []string{"/proc/self/exe", command.ShimArgument},
		Environ: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "RAW=\xff\xe9"} },
	})
	got := jobtypetest.Execute(t.Context(), handler, jobtype.Job{Settings: raw(t, shell(`printf %s "$RAW" | od -An -tx1`))})
	require.NoError(t, got.Err)
	assert.Equal(t, " ff e9", strings.TrimRight(got.Result.Output, "\n"))
}

// Notes are read for other jobs while programs start: the race detector checks it.
func TestNotesAreReadWhileProgramsStart(t *testing.T) {
	t.Parallel()
	dir, handler := t.TempDir(), newHandler(300*time.Millisecond)
	require.NoError(t, handler.PrepareNode(t.Context(), "node-a", dir))
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			for attempt := range 5 {
				job := jobtype.Job{WorkerID: "node-a", GroupID: "group/g", ID: "job-" + strconv.Itoa(i), Attempt: attempt + 1, Settings: raw(t, shell("sleep 0.05"))}
				assert.NoError(t, jobtypetest.Execute(t.Context(), handler, job).Err)
			}
		})
	}
	all.Wait()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestExecuteProgress(t *testing.T) {
	t.Parallel()
	script := `echo start; echo '::progress 40 copying three of seven'; echo '::progress 55.5%'; echo '::progress -1 waiting'; echo '::progress 250 over'; echo '::progress soon'; echo '::progress NaN'; echo ' ::progress 1 x'; printf '::progress 90 last'`
	got := execute(t, shell(script), jobtype.Job{})
	require.NoError(t, got.Err)
	assert.Equal(t, []jobtypetest.Report{
		{Percent: 40, Stage: "copying", Message: "three of seven"},
		{Percent: 55.5},
		{Percent: -1, Stage: "waiting"},
		{Percent: 100, Stage: "over"},
		{Percent: 90, Stage: "last"},
	}, got.Reports)
	assert.Equal(t, "start\n::progress soon\n::progress NaN\n ::progress 1 x\n", got.Result.Output)

	settings := shell(`echo '::progress 40 x'`)
	settings["progress"] = "none"
	got = execute(t, settings, jobtype.Job{})
	assert.Empty(t, got.Reports)
	assert.Equal(t, "::progress 40 x\n", got.Result.Output)
}

func TestExecuteKeepsTheTailOf100MB(t *testing.T) {
	t.Parallel()
	got := execute(t, shell(`head -c 50000000 /dev/zero | tr '\0' a; head -c 50000000 /dev/zero | tr '\0' '<'; printf '\nÄ\377\033[1mend\n'`), jobtype.Job{})
	require.NoError(t, got.Err)
	assert.LessOrEqual(t, len(got.Result.Output), jobtype.MaxOutputBytes)
	assert.True(t, strings.HasSuffix(got.Result.Output, "\nÄ\uFFFDend\n"), "%q", got.Result.Output[len(got.Result.Output)-40:])
	assert.Equal(t, "Ä\uFFFDend", got.Result.Summary)

	got = execute(t, shell(`head -c 50000000 /dev/zero >&2`), jobtype.Job{})
	require.NoError(t, got.Err)
	assert.Empty(t, got.Result.Output, "control characters are dropped")
}

func TestExecuteFailures(t *testing.T) {
	t.Parallel()
	exitCodes := func(settings block) block {
		settings["exit_codes"] = block{"permanent": []int{65}, "success": []int{0, 4}}
		return settings
	}
	missing := map[string]block{
		`command "/no/such/program" cannot be started on this`: {"command": []string{"/no/such/program"}},
		`command "/etc/passwd" cannot be started`:              {"command": []string{"/etc/passwd"}},
		"working directory: /etc/passwd is no directory":       {"command": []string{"true"}, "dir": "/etc/passwd"},
		"working directory: stat /no/such: no such file":       {"command": []string{"true"}, "dir": "/no/such"},
	}
	for want, settings := range missing {
		got := execute(t, settings, jobtype.Job{})
		require.ErrorContains(t, got.Err, want)
		require.ErrorIs(t, got.Err, jobtype.ErrNotInstalled, "another node may have it")
		assert.False(t, jobtype.IsPermanent(got.Err), want)
	}
	for want, c := range map[string]struct {
		settings  block
		permanent bool
	}{
		"sh exited with status 3: first\nsecond":                  {exitCodes(shell(`echo out; echo first >&2; echo second >&2; exit 3`)), false},
		"sh exited with status 3: only stdout":                    {shell(`echo only stdout; exit 3`), false},
		"exited with status 65: bad input":                        {exitCodes(shell(`echo bad input >&2; exit 65`)), true},
		"killed by a signal (terminated) and said nothing":        {shell(`kill -TERM $$`), false},
		"argument list too long":                                  {block{"command": []string{"true", strings.Repeat("x", 300_000)}}, true},
		`execute.command[1]: template: command[1]:1:9: executing`: {block{"command": []string{"echo", "{{.Params.missing}}"}}, true},
		`execute: json: unknown field "through"`:                  {block{"command": []string{"true"}, "through": true}, true},
		`error calling index: index of untyped nil`:               {block{"command": []string{"echo", "{{index .Params.nothing 0}}"}}, true},
	} {
		got := execute(t, c.settings, jobtype.Job{Params: json.RawMessage(`{"nothing":null}`)})
		require.ErrorContains(t, got.Err, want)
		assert.Equal(t, c.permanent, jobtype.IsPermanent(got.Err), want)
	}
	require.NoError(t, execute(t, exitCodes(shell(`exit 4`)), jobtype.Job{}).Err)
}

func TestFailureQuotesABoundedTailOfStderr(t *testing.T) {
	t.Parallel()
	got := execute(t, shell(`seq 100000 >&2; exit 1`), jobtype.Job{})
	require.ErrorContains(t, got.Err, "\n99999\n100000")
	assert.Less(t, len(got.Err.Error()), 3000)
	assert.NotEmpty(t, got.Result.Output, "what was printed is kept with the failure")
}

func TestCancelTerminatesTheGroup(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	got := execute(t, shell(`sleep 1000 & echo $! > "$1"; trap 'echo cleaned up; exit 0' TERM; echo '::progress 1 ready'; wait`, pidFile), jobtype.Job{},
		jobtypetest.CancelAtReport(1, jobtype.ErrCanceled))
	require.ErrorIs(t, got.Err, jobtype.ErrCanceled, "exit 0 after SIGTERM is no success")
	require.ErrorContains(t, got.Err, "sh was stopped: the job was canceled")
	assert.Equal(t, "cleaned up\n", got.Result.Output)
	requireGone(t, pidFile)
}

func TestCancelKillsWhatIgnoresSIGTERM(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	settings := shell(`trap '' TERM; sleep 1000 & echo $! > "$1"; echo '::progress 1 ready'; wait; sleep 1000`, pidFile)
	settings["kill_grace"] = "100ms"
	got := execute(t, settings, jobtype.Job{}, jobtypetest.CancelAtReport(1, jobtype.ErrDeadline))
	require.ErrorIs(t, got.Err, jobtype.ErrDeadline)
	requireGone(t, pidFile)
}

func TestGrandchildrenDoNotHoldTheJob(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	got := execute(t, shell(`sleep 1000 & echo $! > "$1"; echo done`, pidFile), jobtype.Job{})
	require.NoError(t, got.Err)
	assert.Equal(t, "done\n", got.Result.Output)
	requireGone(t, pidFile)
}

func TestOutputOfGrandchildrenIsAwaited(t *testing.T) {
	t.Parallel()
	job := jobtype.Job{Settings: raw(t, shell(`(sleep 0.1; echo late) & echo early`))}
	got := jobtypetest.Execute(t.Context(), newHandler(20*time.Second), job)
	require.NoError(t, got.Err)
	assert.Equal(t, "early\nlate\n", got.Result.Output)
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			got := execute(t, shell(`echo "$1"`, strconv.Itoa(i)), jobtype.Job{})
			assert.NoError(t, got.Err)
			assert.Equal(t, strconv.Itoa(i)+"\n", got.Result.Output)
		})
	}
}

func TestStdinThatIsNotReadDoesNotBlock(t *testing.T) {
	t.Parallel()
	got := execute(t, block{"command": []string{"true"}}, jobtype.Job{Params: raw(t, block{"big": strings.Repeat("x", 1<<20)})})
	require.NoError(t, got.Err)
}

func readPID(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return pid
}

// requireGone waits until the process exists no more, or is only waiting to be
// reaped by the system.
func requireGone(t *testing.T, pidFile string) {
	t.Helper()
	pid := readPID(t, pidFile)
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, time.Minute, 10*time.Millisecond, "process %d lives", pid)
}

// A command line that comes with the job is run as it is, with any characters.
func TestExecuteRunsTheJobsOwnCommandLine(t *testing.T) {
	t.Parallel()
	run := func(settings block, argv ...string) jobtypetest.Execution {
		job := jobtype.Job{ID: "job-00007", Argv: argv}
		if settings != nil {
			job.Settings = raw(t, settings)
		}
		return jobtypetest.Execute(t.Context(), newHandler(0), job)
	}
	words := []string{"printf", "%s|", "{{.Job.ID}}", "{{", "{{each}}x", "", "{{`{{`}}"}
	got := run(nil, words...)
	require.NoError(t, got.Err)
	assert.Equal(t, strings.Join(words[2:], "|")+"|", got.Result.Output)

	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	got = run(block{"command": []string{"false"}, "dir": dir, "env": block{"X": "{{.Job.ID}}"}}, "sh", "-c", "pwd; echo $X")
	require.NoError(t, got.Err)
	assert.Equal(t, dir+"\njob-00007\n", got.Result.Output, "the rest of the block holds")

	require.ErrorContains(t, run(nil, "echo", "a\x00b").Err, "holds a NUL byte")
	require.ErrorContains(t, run(nil, "", "x").Err, "there is no program to start")
	require.ErrorContains(t, run(nil).Err, "execute.command: name a program")
}

// TestLineIsWhatRuns: operators see the command line that the program gets.
func TestLineIsWhatRuns(t *testing.T) {
	t.Parallel()
	for _, job := range []jobtype.Job{
		{ID: "job-00001", WorkerID: "node-a", Settings: raw(t, block{"command": []string{"echo", "{{.Params.item}}", "{{.Job.WorkerID}}"}}), Params: json.RawMessage(`{"item":"sda 1"}`)},
		{Settings: raw(t, block{"command": []string{"none"}}), Argv: []string{"echo", "{{as it is}}"}},
	} {
		line, _, err := command.Line(job)
		require.NoError(t, err)
		require.Equal(t, "echo", line[0])
		got := jobtypetest.Execute(t.Context(), newHandler(0), job)
		require.NoError(t, got.Err)
		assert.Equal(t, strings.Join(line[1:], " ")+"\n", got.Result.Output)
	}
	_, _, err := command.Line(jobtype.Job{Settings: raw(t, block{"command": []string{"echo", "{{.Params.none.more}}"}}), Params: json.RawMessage(`{}`)})
	require.Error(t, err)
}
