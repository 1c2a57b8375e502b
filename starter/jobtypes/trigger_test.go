package jobtypes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

func TestTrigger(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	apply(t, c, map[string]bool{"skips": false}, applied("skips"), applied("buffers", func(spec *contract.JobTypeSpec) {
		spec.Policy.Overlap = jobtype.OverlapBufferOne
	}))

	first, err := jobtypes.Of(c).Trigger(t.Context(), "skips")
	require.NoError(t, err, "a paused job type can be triggered")
	assert.Equal(t, "skips", starter.JobTypeOfRun(first.WorkflowID))
	described, err := c.Temporal().DescribeWorkflowExecution(t.Context(), first.WorkflowID, first.RunID)
	require.NoError(t, err)
	info := described.GetWorkflowExecutionInfo()
	assert.Equal(t, contract.JobGroupWorkflow, info.GetType().GetName())
	assert.Equal(t, contract.ControlQueue, info.GetTaskQueue())
	assert.JSONEq(t, `"skips"`, string(info.GetSearchAttributes().GetIndexedFields()[contract.SearchAttributeJobType].GetData()))
	assert.JSONEq(t, `"Keeps skips tidy"`, string(described.GetExecutionConfig().GetUserMetadata().GetSummary().GetData()))

	_, err = jobtypes.Of(c).Trigger(t.Context(), "skips")
	var running *jobtypes.AlreadyRunningError
	require.ErrorAs(t, err, &running)
	assert.Contains(t, err.Error(), "cancel it with `roundsman cancel "+first.WorkflowID)

	// Again at once, within the same second.
	require.NoError(t, c.Temporal().TerminateWorkflow(t.Context(), first.WorkflowID, "", "test"))
	var second jobtypes.Triggered
	testsuite.WaitFor(t, 20*time.Second, "the Schedule to see that the group ended", func() bool {
		second, err = jobtypes.Of(c).Trigger(t.Context(), "skips")
		return err == nil
	})
	assert.NotEqual(t, first.RunID, second.RunID)

	started, err := jobtypes.Of(c).Trigger(t.Context(), "buffers")
	require.NoError(t, err)
	assert.False(t, started.Buffered)
	buffered, err := jobtypes.Of(c).Trigger(t.Context(), "buffers")
	require.NoError(t, err)
	assert.True(t, buffered.Buffered)
	assert.Empty(t, buffered.RunID)
	_, err = jobtypes.Of(c).Trigger(t.Context(), "buffers")
	require.ErrorAs(t, err, &running)
	assert.True(t, running.Waits)
	assert.Contains(t, err.Error(), "the next one waits for its end already, policy.overlap: buffer_one")

	read, err := jobtypes.Of(c).Get(t.Context(), "buffers")
	require.NoError(t, err)
	require.Len(t, read.Running, 1)
	assert.Equal(t, started.WorkflowID, read.Running[0].WorkflowID)
	assert.Equal(t, started.WorkflowID, read.Recent[0].WorkflowID)
	assert.Equal(t, int64(1), read.Counts.Started)

	_, err = jobtypes.Of(c).Trigger(t.Context(), "nobody")
	require.ErrorIs(t, err, starter.ErrNotFound)
}

// A list from before a change is updated from the Schedules.
func TestRereadShowsWhatAListHides(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	apply(t, c, nil, applied("a"), applied("b"), applied("gone"))
	types := jobtypes.Of(c)
	var stale []jobtypes.JobType
	testsuite.WaitFor(t, 20*time.Second, "all are listed", func() bool {
		var err error
		stale, err = types.List(t.Context())
		return err == nil && len(stale) == 3
	})
	same, err := types.Reread(t.Context(), stale, []string{"a", "b", "gone"})
	require.NoError(t, err)
	assert.Equal(t, stale, same, "it has the fields of a list")
	require.NoError(t, types.Pause(t.Context(), "b", "disks"))
	apply(t, c, nil, applied("a"), applied("b"), applied("new")) // It deletes the job type gone.
	read, err := types.Reread(t.Context(), stale, []string{"b", "new", "gone"})
	require.NoError(t, err)
	var names []string
	for _, each := range read {
		names = append(names, each.Name)
	}
	assert.Equal(t, []string{"a", "b", "new"}, names)
	assert.Equal(t, "disks", read[1].PauseNote)
	assert.False(t, stale[1].Paused, "the list that was given is as it was")
}

func TestBackfill(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	apply(t, c, nil, applied("a"))
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	due, err := jobtypes.Of(c).PreviewBackfill(t.Context(), "a", day, day.AddDate(0, 0, 3))
	require.NoError(t, err)
	assert.Equal(t, []time.Time{day, day.AddDate(0, 0, 1), day.AddDate(0, 0, 2), day.AddDate(0, 0, 3)}, due.Ticks, "both ends are inclusive")
	looked, err := jobtypes.Of(c).Get(t.Context(), "a")
	require.NoError(t, err)
	assert.Empty(t, looked.Running, "asking starts nothing")
	assert.Zero(t, looked.Counts.Buffered)

	ticks, err := jobtypes.Of(c).Backfill(t.Context(), "a", day, day.AddDate(0, 0, 3))
	require.NoError(t, err)
	assert.Equal(t, due.Ticks, ticks.Ticks)
	assert.Equal(t, []any{4, true, false}, []any{ticks.Runs, due.DryRun, ticks.DryRun})
	testsuite.WaitFor(t, 20*time.Second, "the first group of the backfill", func() bool {
		read, err := jobtypes.Of(c).Get(t.Context(), "a")
		return err == nil && len(read.Recent) == 1 && read.Counts.Buffered == 3
	})
	read, err := jobtypes.Of(c).Get(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, contract.GroupWorkflowID("a")+"-2026-01-01T00:00:00Z", read.Recent[0].WorkflowID)

	_, err = jobtypes.Of(c).Backfill(t.Context(), "a", day.Add(time.Hour), day.Add(2*time.Hour))
	require.ErrorContains(t, err, "was not due between")
	_, err = jobtypes.Of(c).Backfill(t.Context(), "a", day, day)
	require.ErrorContains(t, err, "is not before")
	_, err = jobtypes.Of(c).Backfill(t.Context(), "a", day.AddDate(-5, 0, 0), day)
	require.ErrorContains(t, err, "choose a shorter one")
	_, err = jobtypes.Of(c).Backfill(t.Context(), "nobody", day, day.AddDate(0, 0, 1))
	require.ErrorIs(t, err, starter.ErrNotFound)
}

// TestABackfillStartsARunAgain under its id. The list of a job type shows both, and the second one as running.
func TestABackfillStartsARunAgain(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	apply(t, c, nil, applied("a"))
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var read jobtypes.JobType
	fill := func(runs int) {
		_, err := jobtypes.Of(c).Backfill(t.Context(), "a", day, day.Add(time.Second))
		require.NoError(t, err)
		testsuite.WaitFor(t, 30*time.Second, "the group of the backfill", func() bool {
			read, err = jobtypes.Of(c).Get(t.Context(), "a")
			return err == nil && len(read.Recent) == runs && len(read.Running) == 1
		})
	}
	fill(1)
	require.NoError(t, c.Temporal().TerminateWorkflow(t.Context(), read.Recent[0].WorkflowID, read.Recent[0].RunID, "test"))
	fill(2)
	assert.Equal(t, read.Recent[1].WorkflowID, read.Recent[0].WorkflowID)
	assert.NotEqual(t, read.Recent[1].RunID, read.Recent[0].RunID)
	types := []jobtypes.JobType{read}
	jobtypes.Of(c).AddOutcomes(t.Context(), types, 2)
	assert.Equal(t, []starter.RunRef{read.Recent[0].RunRef}, types[0].Running)
	assert.Equal(t, starter.StatusRunning, types[0].Recent[0].Status)
}
