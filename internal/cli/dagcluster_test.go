package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/dag"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// operatedSpec has a gate, an approval, and a task for each request of an operator.
const operatedSpec = `version: 1
name: operated
hold_on_failure: 10m
params: {gate: "/nonexistent", fixed: "/nonexistent"}
tasks:
  - id: first
    command: [sh, -c, 'echo "::progress 40 waiting for the gate"; while [ ! -e "$1" ]; do sleep 0.1; done', sh, "{{.Params.gate}}"]
  - {id: ask, needs: [first], approval: {prompt: "Continue?"}}
  - {id: veto, needs: [first], approval: {prompt: "Stop?"}}
  - {id: after-veto, needs: [veto], noop: true}
  - {id: flaky, needs: [ask], command: [test, -e, "{{.Params.fixed}}"]}
  - {id: long, needs: [ask], command: [sleep, "600"]}
  - {id: last, needs: [flaky], noop: true}
`

type itemList struct {
	Items []starter.Item `json:"items"`
}

type dagList struct {
	Runs []starter.Run `json:"runs"`
}

// startDAGCluster runs a control plane and a worker by their commands.
func startDAGCluster(t *testing.T) *harness {
	t.Helper()
	h := alone(t)
	h.background("server", "--log-level", "error")
	h.background("worker", "--id", "node-a", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s")
	h.eventually("node-a", "workers", "-s", "online")
	return h
}

func TestDAGsOnACluster(t *testing.T) {
	t.Parallel()
	h := startDAGCluster(t)
	t.Run("nine tasks, a failure, a resumed run", func(t *testing.T) { runAndResume(t, h) })
	t.Run("an operated run", func(t *testing.T) { operateDAG(t, h) })
	t.Run("a run after its end", func(t *testing.T) { endedDAG(t, h) })
	t.Run("rolling maintenance", func(t *testing.T) { rollingMaintenance(t, h) })
}

func runAndResume(t *testing.T, h *harness) {
	nine := example(t, "nine.yaml")
	good := clitest.Decode[dag.Report](h.run("start", nine, "-w", "--as", "good", "--output", "json").OK())
	assert.Equal(t, "dag/nine/good", good.WorkflowID)
	assert.Equal(t, "completed", good.Outcome)
	assert.Equal(t, map[string]int{"completed": 9}, good.Counts)
	assert.Len(t, good.Tasks, 9)
	assert.Equal(t, dag.TaskReport{State: "completed", Attempts: 1, Worker: "node-a"}, good.Tasks["7"])
	h.run("start", nine, "-w", "--as", "good").Exits(ui.ExitFailed).Complains("dag/nine/good exists already")

	h.run("start", nine, "-w", "--as", "broken", "--param", "four=false").Exits(ui.ExitFailed).
		Says("nine: started dag/nine/broken", "nine: failed in", "6 completed, 1 failed, 2 upstream_failed", "4 failed (on node-a)", "roundsman retry dag/nine/broken")
	h.run("show", "dag/nine/broken").OK().Says("failed", "false exited with status 1", "upstream_failed")
	h.run("explain", "nine/broken").OK().Says("dag run dag/nine/broken: failed", "it ended", "1 failed; the first: 4 on", "false exited with status 1", "repair it, then `roundsman retry dag/nine/broken`")
	h.run("explain", "nine/broken", "4").OK().Says("dag/nine/broken/4: failed", "4 on node-", "exited with status 1", "repair it, then `roundsman retry dag/nine/broken`")
	left := clitest.Decode[starter.ItemDetail](h.run("show", "nine/good/4", "-o", "json").OK())
	require.NotNil(t, left.Result)
	assert.NotEmpty(t, left.Result.Data)
	h.run("show", "nine/good/4").OK().Says("dag/nine/good/4", "completed", "TRY", "ENDED AS", "node-a", `data  {"exit_code":0}`)
	for _, item := range clitest.Decode[itemList](h.run("jobs", "nine/good", "-o", "json").OK()).Items {
		assert.False(t, item.StartedAt.IsZero() || item.EndedAt.Before(item.StartedAt), "%s has the times of its attempt in lists", item.ID)
	}
	h.run("jobs", "nine/broken", "--state", "failed").OK().Says("4 ", "false exited with status 1")
	found := clitest.Decode[itemList](h.run("jobs", "node-a", "--state", "failed", "--since", "1h", "-o", "json").OK())
	require.NotEmpty(t, found.Items)
	assert.Equal(t, "dag/nine/broken/4", found.Items[0].Ref().String())
	h.run("explain", "nine/broken", "9").OK().Says("UPSTREAM(", "`roundsman explain dag/nine/broken/4`")
	assert.NotContains(t, h.run("jobs", "nine/broken", "-s", "failed").OK().Says("4 ").Stdout, "upstream_failed  ")
	bad := clitest.Decode[itemList](h.run("show", "nine/broken", "-o", "json").OK())
	states := map[string]string{}
	for _, item := range bad.Items {
		states[item.ID] = item.State
	}
	assert.Equal(t, []string{"failed", "upstream_failed", "completed", "upstream_failed"}, []string{states["4"], states["7"], states["8"], states["9"]})

	resumed := clitest.Decode[dag.Report](h.run("retry", "nine/broken", "-f", nine, "--as", "again", "-w", "-o", "json").OK().
		Complains("dag/nine/again takes over 6 tasks of dag/nine/broken and executes 3"))
	assert.Equal(t, "completed", resumed.Outcome)
	for id, from := range map[string]string{"1": "dag/nine/broken", "8": "dag/nine/broken", "4": "", "7": "", "9": ""} {
		assert.Equal(t, from, resumed.Tasks[id].FromRun, id)
	}
	h.run("show", "nine/again").OK().Says("FROM", "dag/nine/broken")
	h.run("retry", "nine/again").Exits(ui.ExitFailed).Complains("nothing to execute again", "--from")
	from := clitest.Decode[dag.Report](h.run("retry", "nine/again", "--from", "6", "--as", "six", "-w", "-o", "json").OK())
	assert.Empty(t, from.Tasks["6"].FromRun)
	assert.Empty(t, from.Tasks["9"].FromRun)
	assert.Equal(t, "dag/nine/again", from.Tasks["4"].FromRun)
	assert.Equal(t, "dag/nine/broken", from.Tasks["1"].FromRun, "the run that produced it, not the one that handed it on")
	h.run("retry", "nine/broken", "--from", "10").Exits(ui.ExitFailed).Complains("10")

	picture := h.run("show", "nine/broken", "-o", "svg").OK()
	picture.Says("✗ failed", "⊘ upstream failed", "dag/nine/broken (failed)")
	h.run("show", "nine/broken", "-o", "dot").OK().Says("✗ failed")

	list := clitest.Decode[dagList](h.eventually("dag/nine/six", "runs", "nine", "-o", "json"))
	assert.Len(t, list.Runs, 4)
	assert.Equal(t, &starter.Progress{Total: 9, Ended: 9}, list.Runs[0].Progress)
	h.run("runs", "nine").OK().Says("ITEMS", "9/9, 1 failed")
	h.run("runs").OK().Says("dag nine", "dag/nine/broken", "failed", "dag/nine/again", "completed")
	h.run("runs", "-s", "failed,timeout", "--since", "1h").OK().Says("dag/nine/broken")
	h.run("runs", "--until", "1h").OK().Says("no runs match")
	h.run("show", "nothing@").Exits(ui.ExitFailed).Complains("nothing does not exist")
	h.run("show", "nine/nothing").Exits(ui.ExitFailed).Complains("task dag/nine/six/nothing does not exist")
	h.run("cancel", "nine/broken").Exits(ui.ExitFailed).Complains("already ended")
	h.run("skip", "nine/broken/4").Exits(ui.ExitFailed).Complains("roundsman retry dag/nine/broken")
	h.run("watch", "nine/broken").Exits(ui.ExitFailed).Says("nine: failed in")
}

func operateDAG(t *testing.T, h *harness) {
	dir := t.TempDir()
	gate, fixed := filepath.Join(dir, "gate"), filepath.Join(dir, "fixed")
	spec := filepath.Join(dir, "spec.yaml")
	require.NoError(t, os.WriteFile(spec, []byte(operatedSpec), 0o600))
	started := clitest.Decode[dag.Report](h.run("start", spec, "--as", "x", "-o", "json", "--param", "gate="+gate, "--param", "fixed="+fixed).OK())
	assert.Equal(t, "running", started.Outcome)
	run := started.WorkflowID
	watching := make(chan clitest.Outcome, 1)
	go func() { watching <- h.run("watch", run) }()
	becomes := func(task, state string) {
		testsuite.WaitFor(t, time.Minute, task+" becomes "+state, func() bool {
			return clitest.Decode[starter.Item](h.run("show", run+"/"+task, "-o", "json").OK()).State == state
		})
	}

	h.eventually("40%", "show", run+"/first").Says("waiting for the gate")
	h.run("pause", run, "--note", "lunch").OK().Says("pause requested: " + run)
	h.eventually("lunch", "show", "operated@")
	h.run("runs", "operated", "-s", "open").OK().Says(run, "dag operated", "paused")
	touch(t, gate)
	becomes("first", "completed")
	first := clitest.Decode[starter.Item](h.run("show", run+"/first", "-o", "json").OK())
	assert.False(t, first.StartedAt.IsZero() || first.EndedAt.IsZero(), "an open run has the times of ended tasks, too")
	h.run("resume", run).OK().Says("resume requested")
	h.eventually("ask waits for an approval: Continue?", "show", run)
	h.run("approve", run+"/first").Exits(ui.ExitFailed).Complains("first")
	h.run("approve", run+"/ask", "--note", "fine").OK().Says("approved ask: " + run + " now has")
	h.run("reject", run+"/veto", "--note", "no").OK().Says("rejected veto")
	becomes("after-veto", "upstream_failed")
	h.run("skip", run+"/veto").OK().Says("skipped veto")
	becomes("flaky", "failed")

	touch(t, fixed)
	h.run("retry", run, "-f", spec).Exits(ui.ExitUsage).Complains("is open", "roundsman set RUN -f FILE")
	h.run("retry", run, "--as", "other").Exits(ui.ExitUsage).Complains("is open", "leave --as out, it names a new run")
	retried := h.run("retry", run, "--output", "json").OK()
	assert.Contains(t, clitest.Decode[contract.DAGChanged](retried).Tasks, "flaky")
	becomes("last", "completed")
	h.run("retry", run, "--from", "flaky").OK().Says("running flaky and what follows again")
	becomes("last", "completed")

	h.env.Stdin = strings.NewReader(`[{"id": "extra", "needs": ["last"], "noop": true}, {"id": "more", "noop": true}]`)
	h.run("set", run, "-f", "-").OK().Says("added 2 tasks: " + run)
	for _, step := range []struct{ sleeps, says string }{
		{"1h", "added 1 task: "}, {"1ms", "redefined 1 task: "}, {"1ms", "changed nothing, the tasks are defined like that already: "},
	} {
		h.env.Stdin = strings.NewReader("- {id: nap, needs: [long], sleep: " + step.sleeps + "}")
		h.run("set", run, "-f", "-").OK().Says(step.says + run)
	}
	h.run("show", run+"/nap").OK().Says("definition", "replaced after the run had begun")
	h.eventually("redefined: nap", "audit", run)
	h.env.Stdin = strings.NewReader(`[{"id": "extra", "needs": ["ghost"], "noop": true}]`)
	h.run("set", run, "-f", "-").Exits(ui.ExitFailed).Complains(`: stdin:1:28: task "extra" needs "ghost", which is not a task`)
	h.env.Stdin = strings.NewReader("- id: last\n  noop: true\n")
	h.run("set", run, "-f", "-").Exits(ui.ExitFailed).Complains(`stdin:1:7: WRONG_STATE: task "last" is already completed`, "give the new task another id")
	becomes("extra", "completed")
	h.run("set", run, "concurrency=6").OK().Says("concurrency: ", " → 6")
	h.run("set", run, "concurrency=7").OK().Says("concurrency: 6 → 7")
	h.run("set", run, "retry_limit=7").Exits(ui.ExitUsage).Complains("concurrency=N, or concurrency.FANOUT=N, is the one setting")
	h.run("show", run).OK().Says("concurrency  7")

	h.run("cancel", run+"/long", "--reason", "too slow").OK().Says("cancel requested: " + run + "/long")
	h.eventually("held", "show", run).Says("roundsman resume " + run)
	h.run("resume", run).OK().Says("released: " + run)
	o := <-watching
	// It may miss changes between two polls, but it shows the end.
	o.Exits(ui.ExitFailed).Says("operated: failed in")
	report := clitest.Decode[starter.Snapshot](h.run("show", run, "-o", "json").OK())
	assert.Equal(t, starter.Counts{"completed": 7, "upstream_failed": 1, "skipped": 1, "canceled": 1}, report.Counts)
	for _, item := range clitest.Decode[itemList](h.run("jobs", run, "-o", "json").OK()).Items {
		if item.State != "upstream_failed" {
			assert.False(t, item.EndedAt.IsZero(), "%s has times, also if it ran on no worker", item.ID)
		}
	}
	h.run("show", run+"/veto").OK().Says("skipped", "REQUEST", "rejected", "skipped", "tester", "no")
	h.run("show", run+"/long").OK().Says("canceled", "too slow")
}

func rollingMaintenance(t *testing.T, h *harness) {
	rolling := example(t, "rolling.yaml")
	running := make(chan clitest.Outcome, 1)
	go func() { running <- h.run("start", rolling, "-w", "--as", "x", "--output", "json") }()
	h.eventually("Update to 2026.11? The cluster has 3 replicas, 0 degraded.", "show", "rolling-maintenance/x")
	h.run("approve", "rolling-maintenance/x/go-ahead").OK()
	report := clitest.Decode[dag.Report]((<-running).OK())
	assert.Equal(t, map[string]int{"completed": 18, "skipped": 1}, report.Counts)
	assert.Equal(t, "skipped", report.Tasks["undo"].State)
	h.run("show", "rolling-maintenance/x/rebalance").OK().Says("dag/rolling-maintenance/x/rebalance")

	h.run("start", rolling, "--as", "y").OK().Says("rolling-maintenance: started dag/rolling-maintenance/y", "roundsman watch")
	h.run("cancel", "rolling-maintenance/y", "--reason", "not today", "--wait").OK().Says("cancel requested: dag/rolling-maintenance/y has ended as canceled with")
	h.run("show", "rolling-maintenance/y").OK().Says("canceled", "not today")
	list := clitest.Decode[dagList](h.eventually("canceled", "runs", "rolling-maintenance", "-o", "json"))
	assert.Equal(t, contract.OutcomeCanceled, list.Runs[0].Outcome)
}

func TestDAGDev(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.env.Environ = append(h.env.Environ, "TEMPORAL_ADDRESS=")
	o := h.run("start", "--dev", example(t, "nine.yaml"), "--output", "json").OK()
	report := clitest.Decode[dag.Report](o)
	assert.Equal(t, "completed", report.Outcome)
	assert.Equal(t, map[string]int{"completed": 9}, report.Counts)
	for _, key := range []string{"dag", "workflow_id", "run_id", "outcome", "counts", "duration_ms", "tasks", "state", "attempts", "worker", "error", "from_run"} {
		assert.Contains(t, o.Stdout, `"`+key+`":`)
	}
	o.Complains("nine: completed in", "in another terminal: export TEMPORAL_ADDRESS=127.0.0.1:")

	data := filepath.Join(t.TempDir(), "data")
	o = h.run("start", "--dev", example(t, "nine.yaml"), "--data-dir", data, "--workers", "one", "--param", "four=false").Exits(ui.ExitFailed)
	o.Says("nine: failed in", "4 failed (on one)")
	assert.NotContains(t, o.Stdout, "roundsman show", "whom could one ask?")
	assert.FileExists(t, filepath.Join(data, "roundsman.log"))
}

func TestDAGDevRunsJobTypesOnlyAsTasks(t *testing.T) {
	t.Parallel()
	h := offline(t)
	dir := t.TempDir()
	config := h.write(`version: 1
job_types:
  mark:
    handler: command
    schedule: {every: 1s}
    detect: {command: [sh, -c, 'echo x >> ` + dir + `/detected; echo x']}
    execute: {command: [sh, -c, 'echo done > ` + dir + `/executed']}
`)
	spec := h.writeSpec("version: 1\nname: jobs\ntasks:\n  - {id: mark, job_type: mark}\n  - {id: rest, needs: [mark], sleep: 2s}\n")
	report := clitest.Decode[dag.Report](h.run("start", "--dev", spec, "-c", config, "--output", "json").OK())
	assert.Equal(t, map[string]int{"completed": 2}, report.Counts)
	assert.FileExists(t, filepath.Join(dir, "executed"))
	assert.NoFileExists(t, filepath.Join(dir, "detected"), "its schedule does not run meanwhile")
}

func TestDAGDevInterrupted(t *testing.T) {
	t.Parallel()
	h := offline(t)
	spec := h.writeSpec("version: 1\nname: slow\ntasks:\n  - {id: ask, approval: {prompt: 'Continue?'}}\n")
	out, errs := &clitest.Screen{}, &clitest.Screen{}
	h.env.Stdout, h.env.Stderr = out, errs
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan int, 1)
	go func() { done <- Run(ctx, h.env, []string{"start", "--dev", spec}) }()
	(&running{out: out}).waitFor(t, "ask waits for an approval: Continue?")
	stop()
	assert.Equal(t, ui.ExitFailed, <-done)
	assert.Contains(t, errs.String(), "ends with the server that was started for it")
}

func TestDAGReportHasNoOtherKeys(t *testing.T) {
	t.Parallel()
	encoded, err := json.Marshal(dag.Report{Tasks: map[string]dag.TaskReport{"a": {}}})
	require.NoError(t, err)
	var keys map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(encoded, &keys))
	assert.Equal(t, []string{"counts", "dag", "duration_ms", "outcome", "run_id", "tasks", "workflow_id"}, ui.SortedKeys(keys))
	var tasks map[string]map[string]any
	require.NoError(t, json.Unmarshal(keys["tasks"], &tasks))
	assert.Equal(t, []string{"attempts", "error", "from_run", "state", "worker"}, ui.SortedKeys(tasks["a"]))
}
