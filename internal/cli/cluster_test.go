package cli

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// background runs a serving command. stop ends it in order, as a signal does.
func (h *harness) background(args ...string) (stop func() clitest.Outcome) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	done := make(chan clitest.Outcome, 1)
	go func() { done <- h.runContext(ctx, args...) }()
	var ended *clitest.Outcome
	stop = func() clitest.Outcome {
		if ended == nil {
			cancel()
			o := <-done
			ended = &o
		}
		return *ended
	}
	h.t.Cleanup(func() { stop() })
	return stop
}

// eventually repeats a command until it exits with 0 and its output contains want.
func (h *harness) eventually(want string, args ...string) clitest.Outcome {
	h.t.Helper()
	var last clitest.Outcome
	testsuite.WaitFor(h.t, 60*time.Second, "roundsman "+strings.Join(args, " ")+" says "+want, func() bool {
		last = h.run(args...)
		return last.Code == ui.ExitOK && strings.Contains(last.Stdout, want)
	})
	return last
}

// A job of `slow` waits until a test writes the gate file.
func clusterConfig(gate string) string {
	return `version: 1
lanes: {default: {}}
job_types:
  quick:
    handler: command
    lane: default
    description: three quick jobs
    schedule: {every: 365d, first_run: scheduled}
    policy: {global_execution_concurrency: 3, per_worker_execution_concurrency: 3}
    detect: {command: [printf, 'a\nb\nc\na\n'], format: lines}
    execute: {command: [echo, "did {{.Params.item}}"]}
  broken:
    handler: command
    lane: default
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: [printf, 'good\nbad\n'], format: lines}
    execute: {command: [sh, -c, 'if [ "$1" = bad ]; then echo looking; echo "no such disk" >&2; exit 3; fi', sh, "{{.Params.item}}"]}
  slow:
    handler: command
    lane: default
    schedule: {every: 365d, first_run: scheduled}
    policy: {global_execution_concurrency: 2, per_worker_execution_concurrency: 2, heartbeat_timeout: 5s, interactive: true}
    detect: {command: [printf, 'one\ntwo\nthree\n'], format: lines}
    execute: {command: [sh, -c, 'echo "::progress 40 waiting for the gate"; while [ ! -e "$1" ]; do sleep 0.1; done', sh, "` + gate + `"]}
`
}

// startCluster starts a control plane and a worker by their commands and applies the configuration.
func startCluster(t *testing.T) (h *harness, gate string, stops []func() clitest.Outcome) {
	t.Helper()
	h, gate = alone(t), filepath.Join(t.TempDir(), "gate")
	stops = append(stops,
		h.background("server", "--log-level", "error"),
		h.background("worker", "--id", "node-a", "--labels", "rack=7", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s"))
	h.eventually("node-a", "workers", "-s", "online")
	h.run("apply", "-c", h.write(clusterConfig(gate))).OK()
	return h, gate, stops
}

func TestOperatingACluster(t *testing.T) {
	t.Parallel()
	h, gate, stops := startCluster(t)

	t.Run("runs that complete and fail", func(t *testing.T) { completeAndFail(t, h) })
	t.Run("jobs by hand", func(t *testing.T) { submitAdHoc(t, h) })
	t.Run("workers", func(t *testing.T) { operateWorkers(t, h) })
	t.Run("a run in flight", func(t *testing.T) { inFlight(t, h, gate) })
	t.Run("a run that is watched", func(t *testing.T) { watched(t, h, gate) })

	t.Run("windows", func(t *testing.T) { obeyWindows(t, h, gate) })
	t.Run("the audit log", func(t *testing.T) { auditTells(t, h) })
	h.run("doctor").OK().Says("control plane", "answers: ", " ("+buildinfo.Version()+")", "1 online with 4 slots")
	for _, stop := range stops {
		o := stop()
		assert.Equal(t, ui.ExitOK, o.Code, o.Stderr)
	}
}

func completeAndFail(t *testing.T, h *harness) {
	o := h.run("start", "quick", "--wait").OK()
	o.Says("quick: started group/quick-", "quick: completed in", "4 found, 1 duplicate, 3 completed (node-a 3)")
	h.run("show", "quick@").OK().Says("completed", "4 found, 1 duplicate, 3 completed", "node-a completed 3")
	h.run("resources").OK()
	h.eventually("lane default", "resources", "lane/default", "--past")
	past := clitest.Decode[contract.PastGrants](h.run("resources", "lane/default", "--past", "-o", "json").OK())
	assert.Contains(t, past.Grants[len(past.Grants)-1].WorkflowID, "group/quick-")
	jobs := clitest.Decode[struct {
		Jobs  []starter.Item `json:"items"`
		Total int            `json:"total"`
	}](h.run("jobs", "quick", "--state", "completed", "-o", "json").OK())
	assert.Equal(t, 3, jobs.Total)
	h.run("show", jobs.Jobs[0].Ref().String()).OK().Says("completed", "node-a", "TRY", "ENDED AS", "result  did a", `data    {"exit_code":0}`)
	shown := clitest.Decode[struct {
		Result jobtype.Result `json:"result"`
	}](h.run("show", jobs.Jobs[1].Ref().String(), "-o", "json").OK())
	assert.Equal(t, "did b\n", shown.Result.Output)

	failed := h.run("start", "broken", "--wait").Exits(ui.ExitFailed)
	failed.Says("broken: partial in", "bad: ", "no such disk")
	h.run("jobs", "broken", "--state", "failed").OK().Says("bad", "no such disk")
	again := h.run("start", "broken", "--wait", "--output", "json").Exits(ui.ExitFailed)
	result, last := clitest.Decode[contract.JobGroupResult](again), clitest.Decode[starter.RunRef](again)
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, 1, result.Counts.Failed)

	h.eventually("partial", "runs", "broken", "-s", "partial")
	h.run("watch", "broken").Exits(ui.ExitFailed).Says("broken: partial")

	h.run("pause", "quick", "--note", strings.Repeat("long ", 400)).Exits(ui.ExitUsage).Complains("bytes too long: shorten it (a Schedule stores 1000 bytes, with author and time)")
	h.run("pause", "quick").OK()
	// Lists of runs and of Schedules come from visibility, which is updated a moment later.
	told := h.eventually("PAUSED", "status").Says("NEEDS A PERSON", "roundsman resume quick", "paused by tester", "group/broken-", "FAILED")
	assert.NotContains(t, told.Stdout, "STOPPED", "it is listed once")
	h.run("explain", "quick").OK().Says("job type quick: idle", "PAUSED(quick) for ", "its schedule is paused by tester", "→ `roundsman resume quick`")
	h.run("explain", "broken").OK().Says("its last run, "+last.WorkflowID+",", "as partial", "no such disk", "`roundsman show "+last.WorkflowID+"`",
		"NOT_DUE_UNTIL(broken)", "`roundsman start broken`")
	why := clitest.Decode[explainer.Explanation](h.run("explain", last.WorkflowID, "-o", "json").OK())
	require.NotNil(t, why.Ended)
	assert.Equal(t, "partial", why.Ended.Outcome)
	assert.Equal(t, "1 failed; the first: job-00002 (bad) on node-a: sh exited with status 3: no such disk", why.Ended.Detail)
	assert.Empty(t, why.Reasons)
	h.run("explain", last.WorkflowID).OK().Says("run "+last.WorkflowID+": partial", "\nit ended")
	h.run("explain", "broken", "job-00001").OK().Says("job group/broken-", "/job-00001: completed", "it has ended: it waits for nothing")
	h.run("explain", "broken", "job-00002").OK().Says("/job-00002: failed", "it ended", "no such disk", "`roundsman show group/broken-")
	h.run("explain", "broken", "word").Exits(ui.ExitFailed).Complains("a job, DAG run or task named broken/word does not exist: write dag/NAME/RUN")
	h.run("show", "broken/word").Exits(ui.ExitFailed).Complains("DAG of " + last.WorkflowID + " does not exist: handler command executes its jobs; name a job that has a DAG (see `roundsman jobs " + last.WorkflowID + "`)")
	h.run("show", "broken/job-00002").OK().Says("failed", "\noutput\n", "\n  looking\n", "\n  no such disk\n")
	h.run("jobtypes").OK().Says("partial")
	h.run("show", "jobtype/broken").OK().Says("OUTCOME", "partial", `no such disk\" >&2; exit 3`)
	h.run("explain", "quik").Exits(ui.ExitFailed).Complains("quik is no job type, worker, run, job, DAG or receiver", "did you mean quick?")
	h.run("start", "quick", "--wait").OK().Complains("quick is paused by tester; this run is an exception")
	h.run("resume", "quick").OK()
}

func operateWorkers(t *testing.T, h *harness) {
	// The last heartbeat has the slots in use.
	h.eventually(" 0/1 ", "workers").Says("node-a", "ONLINE", "/4", "rack=7")
	h.run("explain", "node-a").OK().Says("worker node-a: ONLINE", "IDLE(node-a)")
	h.run("explain", "worker/node-a").OK().Says("worker node-a: ONLINE", "IDLE(node-a)")
	h.run("explain", "jobtype/quick").OK().Says("job type quick: ")
	h.run("explain", "worker/nobody").Exits(ui.ExitFailed).Complains("worker/nobody does not exist")
	h.run("pause", "node-a", "--reason", "new disks").OK().Says("node-a is CORDONED")
	h.run("explain", "node-a").OK().Says("WORKER_CORDONED(node-a) for ", "it is cordoned, by tester: new disks", "→ `roundsman resume node-a`")
	h.run("show", "node-a").OK().Says("CORDONED", "new disks", "tester")
	h.run("resume", "node-a").OK().Says("node-a is ONLINE")
	h.run("drain", "node-a").OK().Says("node-a is drained")
	h.run("resume", "node-a").OK()
	h.run("drain", "node-z").Exits(ui.ExitFailed).Complains("node-z")
	h.run("show", "worker/node-z").Exits(ui.ExitFailed).Complains("worker node-z does not exist", "did you mean node-a?")
	h.run("show", "jobtype/qui").Exits(ui.ExitFailed).Complains("job type qui does not exist", "did you mean quick?")
	h.run("show", "brokn@").Exits(ui.ExitFailed).Complains("did you mean broken?")
	h.run("workers", "cleanup", "--all-offline").OK().Says("nothing to remove")
	workers := clitest.Decode[struct {
		Workers []contract.WorkerDetail `json:"workers"`
	}](h.run("workers", "-o", "json").OK())
	require.Len(t, workers.Workers, 1)

	h.run("worker", "--id", "node-a", "--data-dir", t.TempDir(), "--log-level", "error").Exits(ui.ExitFailed).Complains("node-a", "--take-over")
}

func inFlight(t *testing.T, h *harness, gate string) {
	detected := clitest.Decode[contract.JobGroupResult](h.run("start", "slow", "--dry-run", "--output", "json").OK())
	assert.True(t, detected.DryRun)
	assert.Len(t, detected.Proposals, 3)
	h.run("start", "slow", "--dry-run").OK().Says("one", "two", "three", "completed: 3 found, by node-a")

	run := clitest.Decode[starter.RunRef](h.run("start", "slow", "-o", "json").OK())
	h.eventually("running", "show", run.WorkflowID+"/job-00001")
	assert.NotContains(t, h.run("show", run.WorkflowID+"/job-00001").OK().Stdout, "not taken", "the attempt runs")
	h.run("start", "slow").Exits(ui.ExitFailed).Complains("still runs", "roundsman watch")
	h.eventually("40%", "jobs", "slow")
	h.run("show", "slow@").OK().Says("running", "1 pending, 2 running", "waiting for the gate")
	h.run("runs", "-s", "open", "--limit", "0").OK().Says("slow")
	h.run("show", "slow/job-00003").OK().Says("pending", "global_execution_concurrency")

	h.run("cancel", "slow/job-00003", "--reason", "not today").OK().Says("cancel requested")
	h.eventually("canceled", "show", "slow/job-00003")
	h.run("cancel", "slow/job-00003").Exits(ui.ExitFailed).Complains("already ended")
	h.run("cancel", "slow/job-00077").Exits(ui.ExitFailed).Complains("UNKNOWN_ITEM", "roundsman show")
	steered(t, h, gate)
	drain := h.begin("drain", "node-a")
	drain.waitFor(t, "still running")
	h.eventually("DRAINING", "workers")
	assert.Equal(t, ui.ExitFailed, drain.code())
	assert.Contains(t, drain.err.String(), "interrupted; node-a stays DRAINING until `roundsman resume node-a`")
	h.run("resume", "node-a").OK()
	drained := make(chan clitest.Outcome, 1)
	go func() { drained <- h.run("drain", "node-a", "--timeout", "60s") }()
	h.eventually("DRAINING", "workers")
	h.run("resume", "node-a").OK()

	h.run("cancel", "slow", "--reason", "enough", "--wait").OK().Says("cancel requested: " + run.WorkflowID)
	(<-drained).Exits(ui.ExitFailed).Complains("node-a is ONLINE again")
	h.run("show", run.WorkflowID).OK().Says("canceled", "enough")
	h.run("cancel", "slow").Exits(ui.ExitFailed).Complains("already ended")

	// Without a reason it is the same request as the Web UI's button.
	watching := h.begin("start", "slow", "--watch")
	watching.waitFor(t, "slow")
	h.eventually("running", "show", "slow/job-00001")
	assert.Equal(t, ui.ExitFailed, watching.code())
	assert.Contains(t, watching.err.String(), "interrupted: group/slow-")
	assert.Contains(t, watching.err.String(), "continues; follow it with `roundsman watch group/slow-")
	h.run("cancel", "slow", "--wait").OK()
	h.run("show", "slow@").OK().Says("canceled")
}

// steered changes an open run, and cancels one of its jobs.
func steered(t *testing.T, h *harness, gate string) {
	h.run("set", "slow@", "retry_limit=3", "max_runtime=2h").OK().Says("policy.max_runtime: ", " → 2h", "policy.retry_limit: 0 → 3")
	h.run("set", "slow@", "retry_limit=3").OK().Says("it is so already")
	changed := clitest.Decode[struct {
		Changed []contract.FieldChange `json:"changed"`
	}](h.run("set", "slow@", "retry_limit=2", "-o", "json").OK())
	assert.Equal(t, []contract.FieldChange{{Path: "policy.retry_limit", Before: "3", After: "2"}}, changed.Changed)
	refused := h.run("set", "slow@", "retry_limit=999", "max_runtime=1h").Exits(ui.ExitFailed)
	refused.Complains("retry_limit: 999 is out of range")
	assert.NotContains(t, refused.Stderr, "retryable", "the workflow's own words only")
	snapshot := clitest.Decode[starter.Snapshot](h.run("show", "slow@", "-o", "json").OK())
	assert.Equal(t, jobtype.Duration(2*time.Hour), snapshot.Group.Policy.MaxRuntime, "a refused change changes nothing")

	h.run("pause", "slow@", "--note", "backup").OK().Says("pause requested")
	h.eventually("backup", "show", "slow@")
	h.run("resume", "slow@").OK().Says("resume requested")
	h.run("cancel", "--force", "-y", "slow/job-00001", "--reason", "burned down").OK().Says("expire requested")
	h.eventually("stale", "show", "slow/job-00001")
	h.run("cancel", "--force", "-y", "slow/job-00001").Exits(ui.ExitFailed).Complains("already ended", "nothing to cancel")
	h.run("jobs", "slow", "--state", "stale").OK().Says("job-00001", "burned down; its handler on node-a may still run")
	h.run("jobs", "slow", "--state", "running").OK().Says("job-00002")
	h.run("jobs", "slow", "--state", "assigned", "--state", "not_started").OK().Says("no jobs match")

	h.run("set", "slow", "retry_limit=7").OK().Says("slow: policy.retry_limit: 0 → 7")
	h.run("set", "slow", "retry_limit=7").OK().Says("it is so already")
	config := h.write(clusterConfig(gate))
	h.run("plan", "-c", config).Exits(ui.ExitDifference).Says("drift slow", "policy.retry_limit: 7 → 0 (changed by hand)")
	h.run("set", "slow", "retry_limit=700").Exits(ui.ExitUsage).Complains("retry_limit: 700 is out of range")
	h.run("set", "slow", "overlap=never").Exits(ui.ExitUsage).Complains(`overlap: "never" is none of skip, buffer_one, `)
	var both sync.WaitGroup
	both.Go(func() { h.run("set", "slow", "retry_limit=4").OK() })
	both.Go(func() { h.run("set", "slow", "retry_backoff=7s").OK() })
	both.Wait()
	h.run("plan", "-c", config).Exits(ui.ExitDifference).Says("policy.retry_limit: 4 → 0", "policy.retry_backoff: 7s → 5s")
	h.run("set", "slow", "retry_limit=0", "retry_backoff=5s").OK()
	h.run("plan", "-c", config).OK()
}

func watched(t *testing.T, h *harness, gate string) {
	h.run("start", "slow").OK()
	watching := make(chan clitest.Outcome, 1)
	go func() { watching <- h.run("watch", "slow", "--output", "json") }()
	h.eventually("running", "show", "slow/job-00002")
	touch(t, gate)
	o := (<-watching).OK()
	lines := strings.Split(strings.TrimSpace(o.Stdout), "\n")
	require.GreaterOrEqual(t, len(lines), 2)
	assert.Contains(t, lines[len(lines)-1], `"outcome":"completed"`)
}
