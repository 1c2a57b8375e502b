package calendar

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func TestMemoryReadsAnEndedRunOnce(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	asked := map[string]int{}
	read := func(_ context.Context, ref starter.RunRef) (starter.Snapshot, error) {
		asked[ref.WorkflowID]++
		snapshot := starter.Snapshot{Run: starter.Run{RunRef: ref, Status: "Completed"}}
		switch ref.WorkflowID {
		case "group/scrub-3":
			snapshot.Status = starter.StatusRunning
		case "group/scrub-1":
			snapshot.Result = &contract.JobGroupResult{Record: contract.RunRecord{Good: []contract.RunSummary{{StartedAt: began, EndedAt: began.Add(time.Minute)}}}}
		}
		return snapshot, nil
	}
	run := func(id string) jobtypes.ScheduledRun {
		return jobtypes.ScheduledRun{RunRef: starter.RunRef{WorkflowID: id}}
	}
	// The newest run is open, the next was terminated.
	scrub := jobtypes.JobType{Name: "scrub", Recent: []jobtypes.ScheduledRun{run("group/scrub-3"), run("group/scrub-2"), run("group/scrub-1")}}
	var m Memory
	for range 3 {
		last, err := m.last(t.Context(), scrub, read)
		require.NoError(t, err)
		assert.Equal(t, time.Minute, last.usual.Took.Std())
		assert.Equal(t, 1, last.usual.Of)
	}
	assert.Equal(t, map[string]int{"group/scrub-3": 3, "group/scrub-2": 1, "group/scrub-1": 1}, asked)
	scrub.Recent = scrub.Recent[:1]
	m.forget([]jobtypes.JobType{scrub})
	assert.Empty(t, m.left)
}
