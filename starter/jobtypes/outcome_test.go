package jobtypes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
)

// A list of Schedules may report an ended run as running until the next tick, in a year.
func TestARunThatHasEndedDoesNotRun(t *testing.T) {
	t.Parallel()
	ref := func(id string) starter.RunRef { return starter.RunRef{WorkflowID: id, RunID: "r-" + id} }
	known := JobType{
		Running: []starter.RunRef{ref("group/a-3"), ref("group/a-2"), ref("group/a-1")},
		Recent: []ScheduledRun{
			{RunRef: ref("group/a-3"), Status: "Running"},
			{RunRef: ref("group/a-2"), Status: "Completed", EndedAt: time.Unix(1000, 0)},
		},
	}
	assert.Equal(t, []starter.RunRef{ref("group/a-3"), ref("group/a-1")}, stillRunning(known), "and of an older one nothing is known")

	again := starter.RunRef{WorkflowID: "group/a-2", RunID: "started again by a backfill"}
	known.Running = []starter.RunRef{again, ref("group/a-2")}
	assert.Equal(t, []starter.RunRef{again}, stillRunning(known))
}

func TestAJobTypeWaitsIfAllItsRunsWait(t *testing.T) {
	t.Parallel()
	waits, runs := explain.RunStanding{State: explain.RunWaiting, Open: true}, explain.RunStanding{State: explain.RunRunning, Open: true}
	assert.Nil(t, waitOf(nil))
	assert.Nil(t, waitOf([]explain.RunStanding{waits, runs}))
	assert.Nil(t, waitOf([]explain.RunStanding{waits, {}}), "a run without an answer")
	assert.Equal(t, &waits, waitOf([]explain.RunStanding{waits, {State: explain.RunPaused, Open: true}}))
}
