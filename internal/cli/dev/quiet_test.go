package dev

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/starter"
)

// TestEmptyRoundsAreNoNews: dev shows only rounds that found something, with the time.
func TestEmptyRoundsAreNoNews(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 9, 30, 15, 0, time.UTC)
	now := func() time.Time { return at }
	var out strings.Builder
	shown := newQuiet(progress.New(&out, progress.Options{Now: now, Timed: true}), now)
	run := func(id string, detected int, outcome contract.Outcome) {
		snapshot := starter.Snapshot{Run: starter.Run{RunRef: starter.RunRef{WorkflowID: id}, JobType: "scrub", Status: starter.StatusRunning, Started: at}}
		shown.Update(snapshot)
		snapshot.Group = &contract.GroupStatus{Counts: contract.GroupCounts{Detected: detected}}
		shown.Update(snapshot)
		snapshot.Status, snapshot.Outcome, snapshot.Ended = "Completed", outcome, at.Add(time.Second)
		snapshot.Result = &contract.JobGroupResult{Outcome: outcome, Counts: contract.GroupCounts{Detected: detected}}
		shown.Update(snapshot)
	}
	run("group/empty", 0, contract.OutcomeCompleted)
	assert.Empty(t, out.String())
	run("group/found", 2, contract.OutcomeCompleted)
	run("group/bad", 0, contract.OutcomeFailed)
	for line := range strings.Lines(out.String()) {
		assert.True(t, strings.HasPrefix(line, "09:30:15 scrub: "), line)
	}
	assert.Contains(t, out.String(), "scrub: started group/found")
	assert.Contains(t, out.String(), "scrub: failed in")
	assert.NotContains(t, out.String(), "group/empty")
}
