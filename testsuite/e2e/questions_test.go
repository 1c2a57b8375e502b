package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
)

// fleetTypes is a fleet with all subjects of operators' questions. A job that a file holds runs while the file
// exists.
const fleetTypes = `
  backup:
    handler: command
    lane: default
    schedule: {every: 365d, first_run: scheduled}
    policy: {global_execution_concurrency: 2}
    detect: {command: [printf, '/srv/a\n/srv/b\n'], format: lines}
    execute: {command: [sh, -c, 'echo "::progress 25 copying $1"; echo "copied the first block of $1"; while [ -e hold ]; do sleep 0.1; done', sh, "{{.Params.item}}"]}
  vacuum:
    handler: command
    lane: default
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: [printf, 'x\n'], format: lines}
    execute: {command: ["true"]}
  nightly:
    handler: command
    lane: side
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: [printf, 'x\n'], format: lines}
    execute: {command: [sh, -c, 'while [ -e slow ]; do sleep 0.1; done']}
  brittle:
    handler: command
    lane: side
    schedule: {every: 365d, first_run: scheduled}
    policy: {retry_limit: 0}
    retry_budget: {per_key: {count: 2, window: 1h, disable_for: 24h}}
    detect: {command: [printf, '/srv/bad\n/srv/good\n'], format: lines}
    execute: {command: [sh, -c, 'test "$1" != /srv/bad || { echo "the disk is on fire" >&2; exit 1; }', sh, "{{.Params.item}}"]}
  hangs:
    handler: command
    lane: side
    schedule: {every: 365d, first_run: scheduled}
    policy: {liveness: progress, stall_timeout: 5s, heartbeat_timeout: 10m}
    detect: {command: [printf, 'tape\n'], format: lines}
    execute: {command: [sh, -c, 'echo "waiting for the tape"; exec sleep 600']}
  scrub:
    handler: command
    lane: side
    schedule: {every: 30m, first_run: scheduled}
    detect: {command: ["true"], format: lines}
    execute: {command: ["true"]}
  hourly:
    handler: command
    schedule: {every: 40m, first_run: scheduled}
    windows: [{from: "FROM", to: "TO", timezone: UTC}]
    detect: {command: ["true"], format: lines}
    execute: {command: ["true"]}
  load:
    handler: command
    lane: side
    schedule: {every: 365d, first_run: scheduled}
    policy: {global_execution_concurrency: 40, per_worker_execution_concurrency: 20, max_jobs_per_detection: 200}
    detect: {command: [seq, "1", "200"], format: lines}
    execute: {command: [sh, -c, 'while [ -e hold ]; do sleep 1; done']}
`

// operator answers each question with one command.
type operator struct {
	*cluster
	took map[string]time.Duration
}

// ask runs one command and returns its output.
func (o *operator) ask(line ...string) string {
	o.t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(o.t.Context(), binary(o.t), append(line, "--address", o.server.Address())...)
	command.Stdout, command.Stderr, command.Dir = &stdout, &stderr, o.dir
	command.Env = append(os.Environ(), "NO_COLOR=1", "ROUNDSMAN_ACTOR=alice")
	began := time.Now()
	err := command.Run()
	o.took[strings.Join(line, " ")] = time.Since(began)
	require.NoError(o.t, err, "%v: %s%s", line, stdout.String(), stderr.String())
	assert.Empty(o.t, stderr.String(), "%v", line)
	return stdout.String()
}

// answers asserts that one line of the output has all parts.
func (o *operator) answers(question string, parts []string, line ...string) {
	o.t.Helper()
	said := o.ask(line...)
	for text := range strings.SplitSeq(said, "\n") {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(text, part)
		}
		if all {
			o.t.Logf("%s\n  $ roundsman %s  (%s)\n  %s", question, strings.Join(line, " "), o.took[strings.Join(line, " ")].Round(time.Millisecond), strings.TrimSpace(text))
			return
		}
	}
	assert.Fail(o.t, question, "roundsman %s: no line has all of %q:\n%s", strings.Join(line, " "), parts, said)
}

// until repeats a command until its output contains want.
func (o *operator) until(want string, line ...string) {
	o.t.Helper()
	testsuite.WaitFor(o.t, 2*time.Minute, fmt.Sprintf("roundsman %v says %q", line, want), func() bool { return strings.Contains(o.ask(line...), want) })
}

func (o *operator) touch(name string) {
	o.t.Helper()
	require.NoError(o.t, os.WriteFile(filepath.Join(o.dir, name), nil, 0o600))
}

// TestTheTwelveQuestions: one command answers each question on a busy fleet. Run times are only logged, because
// they depend on the load of the machine.
func TestTheTwelveQuestions(t *testing.T) {
	t.Parallel()
	o := &operator{cluster: newCluster(t, "node-a", "node-b", "node-c"), took: map[string]time.Duration{}}
	var idle strings.Builder
	for i := range 20 {
		fmt.Fprintf(&idle, "  idle-%02d: {handler: command, lane: side, schedule: {every: 365d, first_run: scheduled}, detect: {command: [\"true\"], format: lines}, execute: {command: [\"true\"]}}\n", i)
	}
	later := func(hours int) string { return time.Now().UTC().Add(time.Duration(hours) * time.Hour).Format("15:04") }
	o.apply(strings.NewReplacer("FROM", later(3), "TO", later(4)).Replace(fleetTypes) + idle.String())
	o.ask("pause", "scrub", "--note", "new disks on Thursday")

	for range 3 {
		require.Equal(t, contract.OutcomeCompleted, o.result(o.run("nightly"), time.Minute).Outcome)
	}
	for range 2 {
		require.Equal(t, contract.OutcomePartial, o.result(o.run("brittle"), time.Minute).Outcome)
	}
	o.touch("hold")
	o.touch("slow")
	hangs, backup := o.run("hangs"), o.run("backup")
	testsuite.WaitFor(t, time.Minute, "both jobs of the backup run", func() bool {
		return strings.Count(o.ask("jobs", backup.WorkflowID, "--state", "running"), "25%") == 2
	})
	nightly, vacuum := o.run("nightly"), o.run("vacuum")
	o.until("running", "jobs", nightly.WorkflowID, "--state", "running")
	load := o.run("load") // It fills the rest of the fleet.
	o.until("silent for", "explain", hangs.WorkflowID)
	o.until("LANE_BUSY(default)", "explain", vacuum.WorkflowID)
	o.until("slower", "show", nightly.WorkflowID)
	o.until("running", "jobs", load.WorkflowID, "--state", "running")
	node := strings.Fields(o.ask("jobs", ":/srv/a", "--no-headers"))[2]

	o.answers("where does X run?", []string{backup.WorkflowID + "/job-00001", "running", node}, "jobs", ":/srv/a")
	o.answers("why does Y wait?", []string{"held by " + backup.WorkflowID}, "explain", vacuum.WorkflowID)
	o.answers("what failed last night?", []string{"group/brittle-", "partial", "1 failed"}, "runs", "--since", "12h", "-s", "failed,partial,timeout")
	o.answers("who paused Z, and why?", []string{"paused", "new disks on Thursday", "alice"}, "show", "jobtype/scrub")
	o.answers("what runs in the next hour, and what of it is skipped?", []string{"hourly", "in ", string(contract.CodeWindowClosed)}, "status")
	o.answers("what runs on node N?", []string{"job-00001", backup.WorkflowID, "running"}, "show", node)
	o.answers("which job hangs?", []string{"job-00001", "silent for", "unless it reports"}, "explain", hangs.WorkflowID)
	o.answers("what has it printed?", []string{"waiting for the tape"}, "logs", hangs.WorkflowID+"/job-00001")
	o.answers("who changed what since yesterday?", []string{"alice", "jobtype.pause", "jobtype/scrub"}, "audit", "--since", "24h")
	o.answers("is tonight slower than usual?", []string{"slower than usual so far", "usually", "3 completed runs"}, "show", nightly.WorkflowID)
	o.answers("is anything slower than usual?", []string{nightly.WorkflowID, "slower, usually"}, "status")
	o.answers("when is N free if drained?", []string{node + " would be free", "job", "unknown"}, "drain", node, "--dry-run")
	o.answers("which keys fail again and again?", []string{"brittle", "/srv/bad", "the disk is on fire"}, "holds")

	assert.Contains(t, o.ask("explain", "nightly"), "pace: slower than usual so far")
	drain := o.ask("drain", node, "--dry-run")
	assert.Regexp(t, `job-00001 +`+backup.WorkflowID+` +in .* +progress +in `, drain, "25 of 100 in so long: three times as long is left")
	assert.Contains(t, o.ask("workers"), "ONLINE", "a dry run drains nothing")
	assert.NotContains(t, o.ask("workers"), "DRAINING")
	require.NoError(t, os.Remove(filepath.Join(o.dir, "hold")))
	require.NoError(t, os.Remove(filepath.Join(o.dir, "slow")))
	require.Equal(t, contract.OutcomeCompleted, o.result(nightly, time.Minute).Outcome)
	assert.Contains(t, o.ask("runs", "nightly", "--limit", "1"), "slower, usually", "it stays so after the end")
	require.NoError(t, o.client.Runs().Cancel(t.Context(), hangs, "seen enough"))
}
