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
	in := func(state string, running int) starter.Run {
		return starter.Run{Standing: explain.RunStanding{State: state, Open: true}, Progress: &starter.Progress{Running: running}}
	}
	waits := in(explain.RunWaiting, 0)
	assert.Nil(t, waitOf(nil))
	assert.Nil(t, waitOf([]starter.Run{waits, in(explain.RunRunning, 0)}))
	assert.Nil(t, waitOf([]starter.Run{waits, {}}), "a run without an answer")
	assert.Equal(t, &waits.Standing, waitOf([]starter.Run{waits, in(explain.RunPaused, 0)}))
	assert.Nil(t, waitOf([]starter.Run{in(explain.RunPaused, 2)}), "its jobs still run")
}
