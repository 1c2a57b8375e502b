package progress

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

const dagID = "dag/nightly/x"

func dagOpen(counts map[string]int, change ...func(*starter.DAGSnapshot)) starter.DAGSnapshot {
	total := 0
	for _, n := range counts {
		total += n
	}
	snapshot := starter.DAGSnapshot{
		DAGRun: starter.DAGRun{RunRef: starter.RunRef{WorkflowID: dagID}, DAG: "nightly", Status: starter.StatusRunning},
		State:  &contract.DAGStatus{Phase: "running", Total: total, Counts: counts},
	}
	for _, each := range change {
		each(&snapshot)
	}
	return snapshot
}

func dagEnded(outcome contract.Outcome, tasks map[string]contract.DAGTask) starter.DAGSnapshot {
	counts := map[string]int{}
	for _, task := range tasks {
		counts[task.State]++
	}
	return starter.DAGSnapshot{
		DAGRun: starter.DAGRun{RunRef: starter.RunRef{WorkflowID: dagID}, DAG: "nightly", Status: "Completed", Outcome: outcome},
		Result: &contract.DAGResult{DAG: "nightly", Outcome: outcome, Counts: counts, DurationMS: 4210, Tasks: tasks},
	}
}

func withFailed(id string, attempts int, message string) func(*starter.DAGSnapshot) {
	return func(s *starter.DAGSnapshot) {
		s.State.Failed = append(s.State.Failed, contract.TaskView{ID: id, DAGTask: contract.DAGTask{
			State: "failed", Attempts: attempts, Worker: "node-a", Error: message,
		}})
	}
}

func withApproval(s *starter.DAGSnapshot) {
	s.State.Approvals = []contract.TaskView{{ID: "release", Waiting: "an approval: Ship it?"}}
}

func TestDAGSummary(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		"nightly: failed in 4.21s: 1 succeeded, 1 failed, 1 upstream_failed",
		"  load failed (on node-b, attempt 3): no such disk",
	}, DAGSummary(dagEnded(contract.OutcomeFailed, map[string]contract.DAGTask{
		"dump": {State: "succeeded"}, "send": {State: "upstream_failed"},
		"load": {State: "failed", Attempts: 3, Worker: "node-b", Error: "no such\ndisk"},
	})))

	many := map[string]contract.DAGTask{}
	for i := range maxErrors + 3 {
		many[fmt.Sprint("t", i)] = contract.DAGTask{State: "failed"}
	}
	lines := DAGSummary(dagEnded(contract.OutcomeFailed, many))
	require.Len(t, lines, maxErrors+2)
	assert.Contains(t, lines[len(lines)-1], "8 in all: roundsman runs show dag/nightly/x --state failed")

	lost := dagEnded("", nil)
	lost.Result, lost.Failure = nil, "terminated"
	assert.Equal(t, []string{"nightly: no result: terminated (dag/nightly/x)"}, DAGSummary(lost))
	assert.Contains(t, DAGAdvice(lost), "roundsman dag retry dag/nightly/x")
	assert.Empty(t, DAGAdvice(dagEnded(contract.OutcomeCompleted, nil)))
}

func TestDAGLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	display := NewDAG(&out, false, 0, func() time.Time { return now })
	for i := range 100 {
		now = now.Add(100 * time.Millisecond)
		display.Update(dagOpen(map[string]int{"succeeded": i, "running": 2, "pending": 98 - min(i, 98)}, withFailed("load", 1, "no such disk"), withApproval))
	}
	now = now.Add(time.Minute)
	display.Update(dagOpen(map[string]int{"failed": 1}, withFailed("load", 2, "again")))
	display.Note("the dev server died")
	display.Note("")
	ended := dagEnded(contract.OutcomeCompleted, map[string]contract.DAGTask{"a": {State: "succeeded"}})
	display.Update(ended)
	display.Update(ended)
	display.Update(dagOpen(map[string]int{"failed": 1}, withFailed("late", 1, "")))
	display.Close()
	assert.Equal(t, []string{
		"nightly: task load failed (on node-a): no such disk",
		"nightly: task release waits for an approval: Ship it? (roundsman dag approve dag/nightly/x release)",
		"nightly: 49 of 100 done, 2 running, 1 waiting for approval",
		"nightly: 99 of 101 done, 2 running, 1 waiting for approval",
		"nightly: task load failed (on node-a, attempt 2): again",
		"nightly: 1 of 1 done, 1 failed",
		"the dev server died",
		"nightly: completed in 4.21s: 1 succeeded",
	}, strings.Split(strings.TrimSpace(out.String()), "\n"))
}

func TestDAGNotesTellWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	display := NewDAGNotes(&out, func() time.Time { return now })
	quiet := starter.DAGSnapshot{DAGRun: starter.DAGRun{Status: starter.StatusRunning}, Unanswered: "the run has just been started"}
	display.Update(quiet)
	for range 3 {
		now = now.Add(time.Hour)
		display.Update(dagOpen(map[string]int{"running": 1}))
	}
	assert.Empty(t, out.String())
	held := func(s *starter.DAGSnapshot) { s.State.HeldUntil = now }
	paused := func(s *starter.DAGSnapshot) { s.State.Paused = true }
	display.Update(dagOpen(map[string]int{"running": 1}, held, paused))
	display.Update(dagOpen(map[string]int{"running": 1}, held, paused))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	assert.Contains(t, lines[0], "roundsman runs resume dag/nightly/x")
	assert.Contains(t, lines[1], "roundsman dag release dag/nightly/x")
}

func TestDAGBarsOnATerminal(t *testing.T) {
	t.Parallel()
	out, now := &locked{}, time.Now()
	display := NewDAG(out, true, 120, func() time.Time { return now })
	active := func(s *starter.DAGSnapshot) {
		for i := range maxTaskRows + 4 {
			s.Active = append(s.Active, starter.ActiveJob{
				JobID: fmt.Sprintf("load.%d", i), Started: true, StartedAt: now.Add(-12 * time.Second), Identity: "node-a@1",
				Progress: &contract.Heartbeat{Percent: 40, Message: "halfway"},
			})
		}
		s.Active = append(s.Active, starter.ActiveJob{JobID: "not-taken"})
	}
	display.Update(dagOpen(map[string]int{"succeeded": 3, "running": 12, "pending": 5}, active, withFailed("dump", 1, "no such disk")))
	eventually(t, out, "nightly", "3/20", "12 running", "load.0", "40%", "node-a 12s halfway", "task dump failed (on node-a): no such disk")
	assert.NotContains(t, out.String(), "not-taken")
	assert.NotContains(t, out.String(), "load.8", "only the first tasks have a row")
	display.Update(dagOpen(map[string]int{"succeeded": 15, "pending": 5}, withApproval))
	eventually(t, out, "15/20", "1 waiting for approval", "roundsman dag approve dag/nightly/x release")
	display.Update(dagEnded(contract.OutcomeCompleted, map[string]contract.DAGTask{"a": {State: "succeeded"}}))
	eventually(t, out, "nightly: completed in 4.21s: 1 succeeded")
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
	}, 10*time.Second, 10*time.Millisecond, "%q", parts)
}
