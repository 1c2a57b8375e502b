package progress

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

const dagID = "dag/nightly/x"

// dagCounts sets the counts of a DAG run as the client does.
func dagCounts(run starter.Run, counts map[string]int) starter.Run {
	run.Counts, run.Progress = counts, &starter.Progress{Running: counts["running"], Failed: counts["failed"]}
	for _, state := range dag.States() {
		run.Progress.Total += counts[state.String()]
		if state.Terminal() {
			run.Progress.Ended += counts[state.String()]
		}
	}
	return run
}

func dagOpen(counts map[string]int, change ...func(*starter.Snapshot)) starter.Snapshot {
	snapshot := starter.Snapshot{
		Run:   dagCounts(starter.Run{Kind: starter.KindDAG, RunRef: starter.RunRef{WorkflowID: dagID}, DAG: "nightly", Status: starter.StatusRunning}, counts),
		Phase: "running", DAGStatus: &contract.DAGStatus{},
	}
	for _, each := range change {
		each(&snapshot)
	}
	return snapshot
}

func dagEnded(outcome contract.Outcome, tasks map[string]contract.DAGTask) starter.Snapshot {
	counts := map[string]int{}
	var failed []contract.JobError
	for _, id := range slices.Sorted(maps.Keys(tasks)) {
		task := tasks[id]
		counts[task.State]++
		if task.State == "failed" {
			failed = append(failed, contract.JobError{JobID: id, Message: task.Error, Worker: task.Worker, Attempts: task.Attempts})
		}
	}
	run := starter.Run{Kind: starter.KindDAG, RunRef: starter.RunRef{WorkflowID: dagID}, DAG: "nightly", Status: "Completed", Outcome: outcome}
	return starter.Snapshot{Run: dagCounts(run, counts), DurationMS: 4210, Failed: failed, DAGResult: &contract.DAGResult{}}
}

func withFailed(id string, attempts int, message string) func(*starter.Snapshot) {
	return func(s *starter.Snapshot) {
		s.Failed = append(s.Failed, contract.JobError{JobID: id, Attempts: attempts, Worker: "node-a", Message: message})
	}
}

func withApproval(s *starter.Snapshot) {
	s.DAGStatus.Approvals = []contract.TaskView{{ID: "release", Waiting: "an approval: Ship it?"}}
}

func TestDAGSummary(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		"nightly: failed in 4.21s: 1 completed, 1 failed, 1 upstream_failed",
		"  load failed (on node-b, attempt 3): no such disk",
	}, Summary(dagEnded(contract.OutcomeFailed, map[string]contract.DAGTask{
		"dump": {State: "completed"}, "send": {State: "upstream_failed"},
		"load": {State: "failed", Attempts: 3, Worker: "node-b", Error: "no such\ndisk"},
	}), nil))

	many := map[string]contract.DAGTask{}
	for i := range maxErrors + 3 {
		many[fmt.Sprint("t", i)] = contract.DAGTask{State: "failed", Error: fmt.Sprintf("disk %d is gone", i)}
	}
	lines := Summary(dagEnded(contract.OutcomeFailed, many), nil)
	require.Len(t, lines, maxErrors+2)
	assert.Contains(t, lines[len(lines)-1], "and 3 more failed: roundsman show dag/nightly/x")
	own := ui.NewRenaming("acme", []string{"show", "approve", "resume"})
	lines = Summary(dagEnded(contract.OutcomeFailed, many), own)
	assert.Contains(t, lines[len(lines)-1], "and 3 more failed: acme show dag/nightly/x")
	paused := dagOpen(map[string]int{"running": 1}, withApproval)
	paused.Paused = true
	assert.Equal(t, []string{"task release waits for an approval: Ship it? (acme approve dag/nightly/x/release)", "paused; resume it with `acme resume dag/nightly/x`"}, (&news{}).lines(paused, own))

	lost := dagEnded("", nil)
	lost.DAGResult, lost.Failure = nil, "terminated"
	assert.Equal(t, []string{"nightly: no result: terminated (dag/nightly/x)"}, Summary(lost, nil))
	assert.Contains(t, Advice(lost), "roundsman retry dag/nightly/x")
	assert.Empty(t, Advice(dagEnded(contract.OutcomeCompleted, nil)))
}

func TestDAGLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	display := New(&out, Options{Now: func() time.Time { return now }})
	for i := range 100 {
		now = now.Add(100 * time.Millisecond)
		display.Update(dagOpen(map[string]int{"completed": i, "running": 2, "pending": 98 - min(i, 98)}, withFailed("load", 1, "no such disk"), withApproval))
	}
	now = now.Add(time.Minute)
	display.Update(dagOpen(map[string]int{"failed": 1}, withFailed("load", 2, "again")))
	display.Note("the dev server died")
	display.Note("")
	ended := dagEnded(contract.OutcomeCompleted, map[string]contract.DAGTask{"a": {State: "completed"}})
	display.Update(ended)
	display.Update(ended)
	display.Update(dagOpen(map[string]int{"failed": 1}, withFailed("late", 1, "")))
	display.Close()
	assert.Equal(t, []string{
		"nightly: started dag/nightly/x",
		"nightly: task load failed (on node-a): no such disk",
		"nightly: task release waits for an approval: Ship it? (roundsman approve dag/nightly/x/release)",
		"nightly: 50 of 100 ended, 2 running, 1 waiting for approval",
		"nightly: task load failed (on node-a, attempt 2): again",
		"nightly: 1 of 1 ended, 1 failed",
		"the dev server died",
		"nightly: completed in 4.21s: 1 completed",
	}, strings.Split(strings.TrimSpace(out.String()), "\n"))
}

func TestDAGNotesTellWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	display := New(&out, Options{Now: func() time.Time { return now }})
	quiet := starter.Snapshot{Run: starter.Run{RunRef: starter.RunRef{WorkflowID: dagID}, Kind: starter.KindDAG, DAG: "nightly", Status: starter.StatusRunning}, Unanswered: "the run has just been started"}
	display.Update(quiet)
	out.Reset()
	held := func(s *starter.Snapshot) { s.DAGStatus.HeldUntil = now.AddDate(0, 0, 21) }
	paused := func(s *starter.Snapshot) { s.Paused = true }
	display.Update(dagOpen(map[string]int{"running": 1}, held, paused))
	display.Update(dagOpen(map[string]int{"running": 1}, held, paused))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	assert.Contains(t, lines[0], "roundsman resume dag/nightly/x")
	assert.Contains(t, lines[1], "roundsman resume dag/nightly/x")
	assert.Contains(t, out.String(), "held until 2026-12-11 ", "a hold may last for weeks")
}

func TestDAGBarsOnATerminal(t *testing.T) {
	t.Parallel()
	out, now := &locked{}, time.Now()
	display := New(out, Options{Terminal: true, Width: 120, Items: true, Now: func() time.Time { return now }})
	active := func(s *starter.Snapshot) {
		for i := range maxItemRows + 4 {
			s.Active = append(s.Active, starter.ActiveItem{
				ID: fmt.Sprintf("load.%d", i), Started: true, StartedAt: now.Add(-12 * time.Second), Identity: "node-a@1",
				Progress: &contract.Heartbeat{Percent: 40, Message: "halfway"},
			})
		}
		s.Active = append(s.Active, starter.ActiveItem{ID: "not-taken"})
	}
	display.Update(dagOpen(map[string]int{"completed": 3, "running": 12, "pending": 5}, active, withFailed("dump", 1, "no such disk")))
	eventually(t, out, "nightly", "3/20", "12 running", "load.0", "40%", "node-a 12s halfway", "task dump failed (on node-a): no such disk")
	assert.NotContains(t, out.String(), "not-taken")
	assert.NotContains(t, out.String(), "load.8", "only the first tasks have a row")
	display.Update(dagOpen(map[string]int{"completed": 15, "pending": 5}, withApproval))
	eventually(t, out, "15/20", "1 waiting for approval", "roundsman approve dag/nightly/x/release")
	display.Update(dagEnded(contract.OutcomeCompleted, map[string]contract.DAGTask{"a": {State: "completed"}}))
	eventually(t, out, "nightly: completed in 4.21s: 1 completed")
	display.Note("bye")
	display.Close()
	display.Close()
	display.Update(dagOpen(nil))
	display.Note("after the end")
	assert.NotContains(t, out.String(), "after the end")
}

// eventually waits until the screen shows all parts.
func eventually(t *testing.T, out *locked, parts ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, part := range parts {
			if !strings.Contains(out.String(), part) {
				return false
			}
		}
		return true
	}, time.Minute, 10*time.Millisecond, "%q", parts)
}
