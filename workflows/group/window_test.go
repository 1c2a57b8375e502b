package group_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/envtest"
)

// windowed is a bench at a certain time with real windows.
func windowed(t *testing.T, now time.Time) *bench {
	t.Helper()
	b := newBench(t)
	b.SetStartTime(now)
	b.RegisterActivityWithOptions((*control.Control)(nil).Windows, activity.RegisterOptions{Name: contract.WindowsActivity})
	return b
}

func (b *bench) runSpec(spec contract.JobTypeSpec) contract.JobGroupResult {
	b.t.Helper()
	b.ExecuteWorkflow(contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec})
	return b.result()
}

func (b *bench) status() contract.GroupStatus {
	value, err := b.QueryWorkflow(contract.QueryStatus)
	require.NoError(b.t, err)
	var status contract.GroupStatus
	require.NoError(b.t, value.Get(&status))
	return status
}

// codes lists the verdicts and codes of a group's audit entries.
func codes(sink *envtest.Audit) []string {
	var list []string
	for _, e := range sink.Entries() {
		list = append(list, e.Action+" "+e.Code)
	}
	return list
}

func daily(from, to, zone string) *jobtype.Calendar {
	return &jobtype.Calendar{Windows: []jobtype.Window{{From: from, To: to, Timezone: zone}}}
}

var noon = time.Date(2026, 5, 5, 12, 0, 0, 0, time.UTC)

func TestGroupIsSkippedWhileItsWindowIsClosedForLong(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon)
	b.found, b.lane = proposals(2), "default"
	spec := b.spec(jobtype.Policy{})
	spec.Calendar, spec.Interval = daily("22:00", "23:00", "Europe/Berlin"), jobtype.Duration(time.Hour)
	result := b.runSpec(spec)
	assert.Equal(t, contract.OutcomeSkipped, result.Outcome)
	assert.Equal(t, "WINDOW_CLOSED_UNTIL 2026-05-05T20:00:00Z: job type scrub: outside its windows", result.Reason)
	assert.Empty(t, b.asked, "the lane is not asked for")
	assert.Zero(t, b.executed.Load())
	assert.WithinDuration(t, noon, result.StartedAt, time.Second)
	assert.Equal(t, []string{"refused WINDOW_CLOSED_UNTIL"}, codes(b.audit))
	require.Equal(t, "until 2026-05-05T20:00:00Z: job type scrub: outside its windows", b.audit.Entries()[0].Detail)

	again := windowed(t, noon.Add(time.Hour))
	again.SetLastCompletionResult(result)
	assert.Equal(t, contract.OutcomeSkipped, again.runSpec(spec).Outcome)
	assert.Empty(t, again.audit.Entries(), "the audit log is told once of a closed window")
}

func TestGroupWaitsForAnOpeningThatIsNear(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon)
	b.found, b.lane = proposals(2), "default"
	spec := b.spec(jobtype.Policy{})
	spec.LaneCalendar, spec.Interval = &jobtype.Calendar{Blackouts: []jobtype.Blackout{
		{From: "2026-05-05T11:00", To: "2026-05-05T12:45", Timezone: "UTC", Note: "release"},
	}}, jobtype.Duration(time.Hour)
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		assert.WithinDuration(t, noon.Add(45*time.Minute), b.Now(), time.Minute)
		return contract.ExecuteState{}, nil
	}
	b.RegisterDelayedCallback(func() {
		status := b.status()
		assert.Equal(t, "waiting", status.Phase)
		require.NotNil(t, status.Wait)
		assert.Equal(t, "WINDOW_CLOSED_UNTIL", status.Wait.Code)
		assert.Equal(t, noon.Add(45*time.Minute), status.Wait.Until.UTC())
		assert.Equal(t, noon, status.Wait.Since.UTC().Truncate(time.Minute))
		assert.Equal(t, "lane default: a blackout: release", status.Wait.Detail)
		for _, asked := range b.asked {
			assert.Empty(t, asked.Items, "it waits without its turn")
		}
	}, 30*time.Minute)
	result := b.runSpec(spec)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 2, result.Counts.Completed)
	assert.Equal(t, []string{"delayed WINDOW_CLOSED_UNTIL"}, codes(b.audit))
}

func TestGroupThatWaitsForItsWindowCanBeCanceled(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon)
	spec := b.spec(jobtype.Policy{})
	spec.Calendar, spec.Interval = daily("12:30", "13:00", "UTC"), jobtype.Duration(time.Hour)
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalCancelRun, contract.CancelRunInput{Reason: "enough"}) }, time.Minute)
	b.ExecuteWorkflow(contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec})
	require.True(t, b.IsWorkflowCompleted())
	require.ErrorContains(t, b.GetWorkflowError(), "canceled")
	assert.WithinDuration(t, noon.Add(time.Minute), b.Now(), time.Minute)
}

// TestSubmittedJobsWaitForTheirWindow: they wait for any length of time, because no later group replaces them.
func TestSubmittedJobsWaitForTheirWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		expires time.Time
		ignore  bool
		want    contract.Outcome
		at      time.Time
	}{
		"waits":   {want: contract.OutcomeCompleted, at: noon.Add(10 * time.Hour)},
		"expires": {expires: noon.Add(time.Hour), want: contract.OutcomeSkipped, at: noon},
		"ignores": {ignore: true, want: contract.OutcomeCompleted, at: noon},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := windowed(t, noon)
			spec := b.spec(jobtype.Policy{})
			spec.Calendar, spec.Interval = daily("22:00", "23:00", "UTC"), jobtype.Duration(time.Minute)
			b.ExecuteWorkflow(contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec, Submission: &contract.Submission{
				ID: "x", IgnoreWindow: c.ignore, Proposals: []jobtype.Proposal{{DedupeKey: "a", ExpiresAt: c.expires}},
			}})
			var result contract.JobGroupResult
			require.NoError(t, b.GetWorkflowResult(&result))
			assert.Equal(t, c.want, result.Outcome, result.Reason)
			assert.Equal(t, c.ignore, result.IgnoredWindow)
			assert.WithinDuration(t, c.at, b.Now(), time.Minute)
		})
	}
}

func TestChangedCalendarReachesAWaitingGroup(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon)
	b.found = proposals(1)
	spec := b.spec(jobtype.Policy{})
	spec.Calendar, spec.Interval = daily("12:30", "13:00", "UTC"), jobtype.Duration(time.Hour)
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(contract.SignalSetCalendar, contract.SetCalendarInput{Calendar: daily("12:02", "13:00", "UTC")})
	}, time.Minute)
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		assert.WithinDuration(t, noon.Add(2*time.Minute), b.Now(), 10*time.Second)
		return contract.ExecuteState{}, nil
	}
	assert.Equal(t, contract.OutcomeCompleted, b.runSpec(spec).Outcome)
	require.NotEmpty(t, b.audit.Entries())
	assert.Equal(t, "calendar.set", b.audit.Entries()[0].Action)
	assert.Contains(t, b.audit.Entries()[0].Before, "12:30")
	assert.Contains(t, b.audit.Entries()[0].After, "12:02")
}

func TestWindowThatClosesBeforeTheLaneIsFreeSkips(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon)
	b.lane = "default"
	b.answer = func(contract.AdmissionRequest) *contract.AdmissionAnswer { return nil }
	spec := b.spec(jobtype.Policy{})
	spec.Calendar, spec.Interval = daily("11:00", "12:10", "UTC"), jobtype.Duration(time.Hour)
	result := b.runSpec(spec)
	assert.Equal(t, contract.OutcomeSkipped, result.Outcome)
	assert.Equal(t, "WINDOW_CLOSED_UNTIL 2026-05-06T11:00:00Z", result.Reason)
	assert.WithinDuration(t, noon.Add(10*time.Minute), b.Now(), time.Minute)
	assert.True(t, b.asked[len(b.asked)-1].ReleaseAll)
}

func TestIgnoredWindowsAreVisibleAndOnlyForOneGroup(t *testing.T) {
	t.Parallel()
	for id, ignored := range map[string]bool{"default-test-workflow-id": true, "another": false} {
		b := windowed(t, noon)
		b.found = proposals(1)
		spec := b.spec(jobtype.Policy{})
		spec.Calendar = daily("22:00", "23:00", "UTC")
		spec.Interval = jobtype.Duration(time.Hour)
		b.ExecuteWorkflow(contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec, IgnoreWindow: id})
		var result contract.JobGroupResult
		require.NoError(t, b.GetWorkflowResult(&result))
		assert.Equal(t, ignored, result.IgnoredWindow)
		assert.Equal(t, ignored, result.Outcome == contract.OutcomeCompleted)
		assert.Equal(t, ignored, b.status().IgnoresWindow)
	}
}

func TestCalendarThatCannotBeReadStaysClosed(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon)
	b.found = proposals(1)
	spec := b.spec(jobtype.Policy{})
	spec.Calendar = daily("22:00", "23:00", "Mars/Olympus")
	result := b.runSpec(spec)
	assert.Equal(t, contract.OutcomeSkipped, result.Outcome)
	assert.Contains(t, result.Reason, `there is no time zone "Mars/Olympus"`)
	assert.Contains(t, result.Reason, "run apply to repair them")
	assert.Zero(t, b.executed.Load())
}

func TestDryRunIgnoresWindows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(2)
	spec := b.spec(jobtype.Policy{})
	spec.Calendar = daily("22:00", "23:00", "UTC")
	b.ExecuteWorkflow(contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec, DryRun: true})
	var result contract.JobGroupResult
	require.NoError(t, b.GetWorkflowResult(&result))
	assert.Len(t, result.Proposals, 2)
}

// TestWindowEndHandsTheCheckpointToTheNextGroup: one group is stopped, the next continues from the checkpoint
// and then drops it.
func TestWindowEndHandsTheCheckpointToTheNextGroup(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon.Add(-5*time.Second))
	b.found = proposals(2)
	spec := b.spec(jobtype.Policy{OnWindowEnd: jobtype.WindowEndCheckpoint, RetryLimit: 3, RetryBackoff: jobtype.Duration(time.Millisecond)})
	spec.Calendar = daily("11:00", "12:00", "UTC")
	b.execute = func(ctx context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		if in.Job.DedupeKey == "key-1" {
			return contract.ExecuteState{DurationMS: 99}, nil
		}
		if in.Job.Attempt == 1 {
			return contract.ExecuteState{}, envtest.FailureOf(contract.FailureFailed, contract.ExecuteState{Checkpoint: json.RawMessage(`{"at":7}`)})
		}
		<-ctx.Done() // The test environment ignores the result of a canceled activity.
		return contract.ExecuteState{}, ctx.Err()
	}
	first := b.runSpec(spec)
	assert.Equal(t, contract.OutcomePartial, first.Outcome)
	assert.Equal(t, "WINDOW_CLOSED: the window closed at 2026-05-05T12:00:00Z, the next one opens at 2026-05-06T11:00:00Z", first.Reason)
	assert.Equal(t, 1, first.Counts.Canceled)
	require.Len(t, first.Record.Checkpoints, 1)
	kept := first.Record.Checkpoints[0]
	assert.Equal(t, "key-0", kept.Key)
	assert.JSONEq(t, `{"at":7}`, string(kept.Checkpoint))
	assert.WithinDuration(t, noon, kept.At, time.Minute)
	assert.Equal(t, []int64{99}, first.Record.TookMS)

	next := windowed(t, noon.Add(23*time.Hour))
	next.found = proposals(2)
	next.SetLastCompletionResult(first)
	next.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		if in.Job.DedupeKey == "key-0" {
			assert.JSONEq(t, `{"at":7}`, string(in.Job.Checkpoint))
		} else {
			assert.Empty(t, in.Job.Checkpoint)
		}
		return contract.ExecuteState{DurationMS: 1234}, nil
	}
	second := next.runSpec(spec)
	assert.Equal(t, contract.OutcomeCompleted, second.Outcome)
	assert.Empty(t, second.Record.Checkpoints)
	assert.Equal(t, []int64{99, 1234}, second.Record.TookMS, "of whole jobs alone")
}

func TestRecordStaysBelowItsLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(300)
	record := contract.RunRecord{Sequence: 1 << 40, LastDetector: "node-z"}
	for n := range 10 {
		run := contract.RunSummary{WorkflowID: fmt.Sprintf("group/scrub-%d", n), RunID: "0190a6b2-7c1e-7f00-8000-000000000000", Outcome: contract.OutcomeFailed, Reason: strings.Repeat("x", 303)}
		record.Good, record.Bad = append(record.Good, run), append(record.Bad, run)
	}
	for n := range 200 {
		record.TookMS = append(record.TookMS, int64(n)*1e9)
	}
	for n := range 2 {
		record.Checkpoints = append(record.Checkpoints, contract.KeptCheckpoint{Key: fmt.Sprint("old-", n), At: b.Now(), Checkpoint: json.RawMessage(`"` + fmt.Sprintf("%016000d", n) + `"`)})
	}
	b.SetLastCompletionResult(contract.JobGroupResult{Record: record})
	result := b.run(jobtype.Policy{GlobalExecutionConcurrency: 50, PerWorkerExecutionConcurrency: 50})
	assert.Len(t, result.Record.TookMS, 100)
	assert.Len(t, result.Record.Checkpoints, 2)
	encoded, err := json.Marshal(result.Record)
	require.NoError(t, err)
	assert.Less(t, len(encoded), 64<<10)
}

// start is one job's start in the fortnight.
type start struct {
	at   time.Time
	took time.Duration
}

// fortnight simulates a Schedule that ticks for 14 days. A tick during a group is skipped, by policy.overlap.
func fortnight(t *testing.T, begin time.Time, every time.Duration, spec contract.JobTypeSpec, took time.Duration, jobs int) ([]start, map[contract.Outcome]int) {
	t.Helper()
	var starts []start
	outcomes := map[contract.Outcome]int{}
	var last *contract.JobGroupResult
	for tick := begin; tick.Before(begin.AddDate(0, 0, 14)); {
		b := windowed(t, tick)
		b.found = proposals(jobs)
		var mu sync.Mutex
		b.OnActivity(contract.ExecuteActivity, mock.Anything, mock.Anything).AfterFn(func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			starts = append(starts, start{b.Now(), took})
			return took
		}).Return(contract.ExecuteState{DurationMS: took.Milliseconds()}, nil).Maybe()
		if last != nil {
			b.SetLastCompletionResult(*last)
		}
		result := b.runSpec(spec)
		outcomes[result.Outcome]++
		last = &result
		for end := b.Now(); !tick.After(end); {
			tick = tick.Add(every)
		}
	}
	return starts, outcomes
}

// TestAFortnightOfWindows: every start is inside a window, on every night, and the night of the clock change
// has the right length. 25 October 2026 has 25 hours in Berlin.
func TestAFortnightOfWindows(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		begin time.Time
		long  string
		want  int
	}{
		"autumn": {time.Date(2026, 10, 17, 12, 0, 0, 0, berlin), "2026-10-24", 14},
		"spring": {time.Date(2026, 3, 21, 12, 0, 0, 0, berlin), "2026-03-28", 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			spec := b.spec(jobtype.Policy{MaxRuntime: jobtype.Duration(9 * time.Hour), DrainGrace: jobtype.Duration(time.Hour), ExecutionTimeout: jobtype.Duration(2 * time.Hour)})
			spec.Calendar = daily("23:00", "05:00", "Europe/Berlin")
			spec.LaneCalendar = &jobtype.Calendar{Blackouts: []jobtype.Blackout{{From: c.begin.AddDate(0, 0, 3).Format("2006-01-02T15:04"), To: c.begin.AddDate(0, 0, 4).Format("2006-01-02T15:04"), Timezone: "Europe/Berlin"}}}
			spec.Interval = jobtype.Duration(time.Hour)
			starts, outcomes := fortnight(t, c.begin, time.Hour, spec, 29*time.Minute, 40)
			perNight := map[string]int{}
			for _, s := range starts {
				local := s.at.In(berlin)
				require.True(t, local.Hour() >= 23 || local.Hour() < 5, "a start at %s", local)
				night, ends := local.Add(-6*time.Hour).Format(time.DateOnly), s.at.Add(s.took).Add(-time.Second).In(berlin)
				require.True(t, night <= c.begin.AddDate(0, 0, 1).Format(time.DateOnly) || ends.Hour() >= 23 || ends.Hour() < 5, "once 20 run times are known, what begins at %s must end inside", local)
				perNight[night]++
			}
			for n := range 14 {
				night := c.begin.AddDate(0, 0, n).Format(time.DateOnly)
				want := 12
				switch {
				case n < 2:
					want = 13 // Too few run times are known: the last job starts at 04:48 and drains.
				case n == 3:
					want = 0
				case night == c.long:
					want = c.want
				}
				assert.Equal(t, want, perNight[night], "the night of %s", night)
			}
			assert.Len(t, perNight, 13)
			assert.Positive(t, outcomes[contract.OutcomeSkipped])
			assert.Equal(t, 13, outcomes[contract.OutcomePartial])
		})
	}
}
