package times

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

func TestBarsOfItems(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	after := func(seconds int) time.Time { return from.Add(time.Duration(seconds) * time.Second) }
	bars, waiting := barsOf([]starter.Item{
		{ID: "job-00001", Kind: starter.KindJob, DedupeKey: "a", State: contract.JobCompleted, Worker: "n1", Attempt: 1, StartedAt: after(1), EndedAt: after(3)},
		{ID: "job-00002", Kind: starter.KindJob, DedupeKey: "b", State: contract.JobPending},
		{ID: "ask", Kind: "approval", State: contract.JobRunning, StartedAt: after(2), Until: after(62)},
		{ID: "job-00003", Kind: starter.KindJob, DedupeKey: "c", State: contract.JobFailed, Worker: "n2", Attempt: 2, StartedAt: after(4), EndedAt: after(4)},
		{ID: "old", Kind: "command", State: contract.JobCompleted, FromRun: "dag/x/1", StartedAt: after(-90), EndedAt: after(-80)},
		{ID: "gone", Kind: "command", State: contract.JobCanceled, StartedAt: after(5)},
	}, from)
	assert.Equal(t, 3, waiting, "pending, taken over from an earlier run, and ended without a time")
	assert.Equal(t, ItemBars{
		ID: []string{"job-00001", "ask", "job-00003"}, Key: []string{"a", "c"}, States: []string{"completed", "running", "failed"}, Workers: []string{"n1", "n2"},
		State: []int{0, 1, 2}, Worker: []int{0, -1, 1}, Attempt: []int{1, 0, 2}, FromMS: []int64{1000, 2000, 4000}, TookMS: []int64{2000, -1, 0}, Asks: []int{1}, MayTakeMS: []int64{60_000},
	}, bars)
}

func TestATaskThatRunsMayTakeItsTimeout(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	assert.EqualValues(t, 5000, mayTake(starter.Item{Timeout: jobtype.Duration(5 * time.Second)}, began, -1))
	assert.Zero(t, mayTake(starter.Item{Timeout: jobtype.Duration(5 * time.Second)}, began, 1000), "it has ended")
	assert.Zero(t, mayTake(starter.Item{}, began, -1), "it has no limit")
}

func TestPercentilesAreValuesOfTheList(t *testing.T) {
	t.Parallel()
	assert.Zero(t, percentile(nil, 95))
	assert.EqualValues(t, 7, percentile([]int64{7}, 50))
	twenty := make([]int64, 20)
	for i := range twenty {
		twenty[i] = int64(i + 1)
	}
	assert.EqualValues(t, 10, percentile(twenty, 50))
	assert.EqualValues(t, 19, percentile(twenty, 95))
}

// The record of a run has the durations of earlier runs first.
func TestDurationsOfARunAreThoseOfItsOwnJobs(t *testing.T) {
	t.Parallel()
	result := contract.JobGroupResult{Counts: contract.GroupCounts{Completed: 1, Warning: 1, Failed: 3}, Record: contract.RunRecord{TookMS: []int64{900, 800, 70, 60}}}
	assert.Equal(t, []int64{70, 60}, ownOf(result))
	result.Counts.Completed = 300
	assert.Equal(t, []int64{900, 800, 70, 60}, ownOf(result), "the record is bounded")
	assert.Empty(t, ownOf(contract.JobGroupResult{Counts: contract.GroupCounts{Completed: 2}}))
}

func TestValuesOfChangesAreLeftOut(t *testing.T) {
	t.Parallel()
	whole := RunHistory{Changes: []SettingsChange{{Seq: 7, By: "ann", Action: "jobtype.set", Before: "params.path: /a", After: "params.path: /b"}}}
	assert.Equal(t, []SettingsChange{{Seq: 7, By: "ann", Action: "jobtype.set", Brief: "settings"}}, whole.WithoutValues().Changes)
	assert.Equal(t, "params.path: /b", whole.Changes[0].After, "the history itself stays")
}

func TestTheWorkOfAWorkerTellsHowFarBackItWasSearched(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	var newest []starter.Run
	for i := range searchedRuns {
		newest = append(newest, starter.Run{Started: now.Add(-time.Duration(i) * time.Hour)})
	}
	read, since := searched(newest)
	assert.Len(t, read, searchedRuns)
	assert.Zero(t, since, "these are all")
	read, since = searched(append(newest, starter.Run{Started: now.Add(-100 * time.Hour)}))
	assert.Len(t, read, searchedRuns)
	assert.Equal(t, now.Add(-(searchedRuns-1)*time.Hour), since)

	open := starter.Run{RunRef: starter.RunRef{WorkflowID: "group/slow-1"}, Status: starter.StatusRunning}
	assert.Equal(t, []starter.Run{{}, open}, withOpen([]starter.Run{{}, open}, []starter.Run{open}))
	assert.Equal(t, []starter.Run{{}, open}, withOpen([]starter.Run{{}}, []starter.Run{open}))

	work := workOf([]starter.Item{
		{ID: "job-00001", Worker: "n1", StartedAt: now, EndedAt: now.Add(time.Second), State: contract.JobCompleted, Attempt: 1},
		{ID: "job-00002", Worker: "n2", StartedAt: now, State: contract.JobRunning, Attempt: 1},
		{ID: "job-00003", Worker: "n1"},
	}, "group/scrub-1", "n1")
	assert.Len(t, work, 1, "not those of another worker, and none that has not begun")
	assert.Equal(t, "job-00001", work[0].ID)
}

// TestEarlierAttemptsOfAHistoryReadInPart are shown.
func TestEarlierAttemptsOfAHistoryReadInPart(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	read := func(context.Context, starter.RunRef, []starter.Item) (map[string]*starter.ItemHistory, error) {
		return map[string]*starter.ItemHistory{"a": {Attempts: []starter.Attempt{{Number: 1, StartedAt: from, EndedAt: from.Add(time.Second), EndedAs: "failed"}, {Number: 2}}}}, context.DeadlineExceeded
	}
	run := starter.Snapshot{}
	run.Kind, run.Started = starter.KindDAG, from
	got := earlierOf(t.Context(), read, run, []starter.Item{{ID: "a", Attempt: 2}}, ItemBars{ID: []string{"a"}})
	assert.Equal(t, []EarlierAttempt{{Attempt: 1, EndedAs: "failed", TookMS: 1000}}, got)
}

// TestEarlierAttemptsOfTasks: of jobs there are too many, and of a large open run the histories are not read for each picture.
func TestEarlierAttemptsOfTasks(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	after := func(seconds int) time.Time { return from.Add(time.Duration(seconds) * time.Second) }
	var asked []string
	read := func(_ context.Context, _ starter.RunRef, items []starter.Item) (map[string]*starter.ItemHistory, error) {
		histories := map[string]*starter.ItemHistory{"a": {}}
		for _, item := range items {
			asked = append(asked, item.ID)
			histories[item.ID] = &starter.ItemHistory{Attempts: []starter.Attempt{
				{Number: 1, StartedAt: after(1), EndedAt: after(3), EndedAs: "failed", Worker: "n1"}, {Number: 2, EndedAt: after(4)}, {Number: 3, StartedAt: after(5)}, {Number: 4, StartedAt: after(6), EndedAt: after(9)},
			}}
		}
		return histories, nil
	}
	items := []starter.Item{{ID: "a", Attempt: 1}, {ID: "b", Attempt: 2}, {ID: "c", Attempt: 4, FromRun: "dag/x/1"}, {ID: "d"}}
	bars := ItemBars{ID: []string{"a", "b", "d"}}
	ended, open := starter.Snapshot{}, starter.Snapshot{}
	ended.Kind, ended.Started, ended.Status = starter.KindDAG, from, "Completed"
	open.Kind, open.Started, open.Status = starter.KindDAG, from, starter.StatusRunning
	want := []EarlierAttempt{{Item: 1, Attempt: 1, EndedAs: "failed", Worker: "n1", FromMS: 1000, TookMS: 2000}}
	assert.Equal(t, want, earlierOf(t.Context(), read, ended, items, bars), "attempts whose times are not known, and the last one, are left out")
	assert.Equal(t, []string{"b"}, asked)
	assert.Equal(t, want, earlierOf(t.Context(), read, open, items, bars))

	many := func(n int) []starter.Item { return append(make([]starter.Item, n-len(items)), items...) }
	assert.NotEmpty(t, earlierOf(t.Context(), read, open, many(timedWhileOpen), bars))
	assert.Empty(t, earlierOf(t.Context(), read, open, many(timedWhileOpen+1), bars))
	assert.NotEmpty(t, earlierOf(t.Context(), read, ended, many(starter.MaxTimed), bars))
	assert.Empty(t, earlierOf(t.Context(), read, ended, many(starter.MaxTimed+1), bars))
	asked, ended.Kind = nil, starter.KindGroup
	assert.Empty(t, earlierOf(t.Context(), read, ended, items, bars))
	ended.Kind = starter.KindDAG
	assert.Empty(t, earlierOf(t.Context(), read, ended, items[:1], bars))
	assert.Empty(t, asked)
}

func TestLimitsOfAJobType(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []RunLimit{}, limitsOf(jobtype.Policy{}))
	assert.Equal(t, []RunLimit{{"max_runtime", "run", 3_600_000}, {"execution_timeout", "job", 1500}},
		limitsOf(jobtype.Policy{MaxRuntime: jobtype.Duration(time.Hour), ExecutionTimeout: jobtype.Duration(1500 * time.Millisecond)}))
}

func TestChangesOfSettings(t *testing.T) {
	t.Parallel()
	for action, is := range map[string]bool{"jobtype.set": true, contract.AuditRestore: true, "apply.update": true, "apply.drift": true, "jobtype.pause": false, "apply.create": false, "": false} {
		assert.Equal(t, is, changesSettings(action), action)
	}
}

// TestAWorkerHasNotDoneWhatAnEarlierRunDid.
func TestAWorkerHasNotDoneWhatAnEarlierRunDid(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	work := workOf([]starter.Item{
		{ID: "a", Worker: "n1", StartedAt: now, EndedAt: now.Add(time.Second), State: contract.JobCompleted, FromRun: "dag/steps/0"},
		{ID: "b", Worker: "n1", StartedAt: now, State: contract.JobRunning, Attempt: 2, DedupeKey: "k"},
		{ID: "c", Worker: "n1", StartedAt: now, EndedAt: now.Add(-time.Second), State: contract.JobFailed, Attempt: 1},
	}, "dag/steps/1", "n1")
	assert.Equal(t, []WorkedItem{
		{WorkflowID: "dag/steps/1", Name: "steps", ID: "b", Key: "k", State: contract.JobRunning, Attempt: 2, StartedAt: now},
		{WorkflowID: "dag/steps/1", Name: "steps", ID: "c", State: contract.JobFailed, Attempt: 1, StartedAt: now, EndedAt: now.Add(-time.Second)},
	}, work, "clocks of two machines may differ")
}
