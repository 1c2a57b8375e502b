package dispatch

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/jobtype"
)

// playUntil plays a group whose window closes after a while.
func playUntil(t *testing.T, policy jobtype.Policy, window Window, kept []Kept, found ...jobtype.Proposal) *script {
	t.Helper()
	s := &script{t: t, now: epoch}
	policy.MaxRuntime = jobtype.Duration(5 * time.Hour)
	s.g = New(Config{JobType: "jt", Handler: "h", Policy: policy.WithDefaults(), Window: &window, Kept: kept}, s.now)
	s.step(WorkersChanged{Workers: []Worker{node("a", 4)}})
	s.detected(found...)
	return s
}

func takes(d time.Duration) jobtype.Proposal {
	return jobtype.Proposal{EstimatedRuntime: jobtype.Duration(d)}
}

func closing(after time.Duration) Window {
	return Window{Closes: epoch.Add(after), Next: epoch.Add(24 * time.Hour), Longest: 8 * time.Hour}
}

func TestWhatDoesNotFitIsPassedOver(t *testing.T) {
	t.Parallel()
	s := playUntil(t, jobtype.Policy{}, closing(time.Hour), nil,
		jobtype.Proposal{EstimatedRuntime: jobtype.Duration(2 * time.Hour), Priority: jobtype.PriorityCritical}, takes(30*time.Minute), takes(9*time.Hour), takes(10*time.Minute))
	assert.Equal(t, []string{"2@a"}, started(s.last))
	wait := s.g.waitOf(s.g.job(1), s.now)
	assert.Equal(t, WaitWindowFit, wait.Code)
	assert.Equal(t, epoch.Add(time.Hour), wait.Until)
	assert.Equal(t, "its estimated_runtime of 2h does not fit before the window closes at 2026-01-02T04:04:05Z", wait.Detail)
	assert.Contains(t, s.g.waitOf(s.g.job(3), s.now).Detail, "it never fits: no window of the next weeks is longer than 8h")
	assert.Equal(t, WaitGlobalLimit, s.g.waitOf(s.g.job(4), s.now).Code)

	s.now = epoch.Add(25 * time.Minute)
	assert.Equal(t, []string{"4@a"}, started(s.end(2, FailureNone)))
	s.now = epoch.Add(30 * time.Minute)
	s.end(4, FailureNone)
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
	assert.Equal(t, "DOES_NOT_FIT_WINDOW: 2 jobs do not fit before the window closes at 2026-01-02T04:04:05Z; 1 of them never fits: no window of the next weeks is longer than 8h", reason, "it does not wait for the closing")
	assert.Equal(t, 2, s.g.Counts().NotStarted)
	assert.Contains(t, s.g.jobs[0].Error, "DOES_NOT_FIT_WINDOW: its estimated_runtime of 2h does not fit")
}

func TestLearnedRunTimeStandsInForAnEstimate(t *testing.T) {
	t.Parallel()
	window := closing(10 * time.Minute)
	window.Learned, window.LearnedOf = 12*time.Minute, 34
	s := playUntil(t, jobtype.Policy{}, window, nil, jobtype.Proposal{}, takes(time.Minute))
	assert.Equal(t, []string{"2@a"}, started(s.last))
	assert.Equal(t, "the learned p95 of 34 runs, 12m, does not fit before the window closes at 2026-01-02T03:14:05Z", s.g.waitOf(s.g.job(1), s.now).Detail)
}

func TestALongerWindowBringsBackWhatDidNotFit(t *testing.T) {
	t.Parallel()
	s := playUntil(t, jobtype.Policy{}, closing(time.Hour), nil, takes(2*time.Hour), takes(30*time.Minute))
	assert.Equal(t, []string{"2@a"}, started(s.last))
	s.step(WindowSet{Window: closing(3 * time.Hour)})
	s.now = s.now.Add(20 * time.Minute)
	assert.Equal(t, []string{"1@a"}, started(s.end(2, FailureNone)))
	s.step(WindowSet{Window: Window{Closes: s.now}})
	assert.Equal(t, stopWindow, s.g.stopping, "a blackout from now on closes at once")
	s.end(1, FailureNone)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome, "it drained, and nothing was left out")
}

func TestTheWindowHoldsForWhatWaits(t *testing.T) {
	t.Parallel()
	// Not for a worker, a retry or its time does a job start after the closing.
	window := closing(10 * time.Minute)
	s := &script{t: t, now: epoch}
	s.g = New(Config{JobType: "jt", Handler: "h", Policy: wide(jobtype.Policy{RetryLimit: 3, RetryBackoff: seconds(540)}).WithDefaults(), Window: &window}, s.now)
	s.step(WorkersChanged{Workers: []Worker{node("a", 1)}})
	s.detected(takes(3*time.Minute), takes(2*time.Minute), jobtype.Proposal{NotBefore: epoch.Add(9 * time.Minute), EstimatedRuntime: seconds(120)})
	assert.Equal(t, []string{"1@a"}, started(s.last))
	assert.Equal(t, WaitWindowFit, s.g.waitOf(s.g.job(3), s.now).Code, "it is known from the beginning")
	s.wait(2 * time.Minute)
	assert.Equal(t, []string{"2@a"}, started(s.end(1, FailureFailed)))
	assert.Equal(t, WaitWindowFit, s.g.waitOf(s.g.job(1), s.now).Code, "after its backoff it does not fit")
	s.end(2, FailureWorkerLost)
	s.wait(7 * time.Minute)
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeTimeout, outcome)
	assert.Contains(t, reason, "DOES_NOT_FIT_WINDOW: 3 jobs")
	assert.Len(t, started(s.all), 2)
}

func TestWindowEndDrains(t *testing.T) {
	t.Parallel()
	s := playUntil(t, wide(jobtype.Policy{DrainGrace: seconds(60)}), closing(time.Hour), nil, make([]jobtype.Proposal, 6)...)
	require.Len(t, started(s.last), 4)
	s.wait(30 * time.Minute)
	s.end(1, FailureNone)
	s.wait(30 * time.Minute)
	assert.Equal(t, 1, s.g.Counts().NotStarted, "one that waited for a slot")
	assert.Empty(t, started(s.end(2, FailureFailed)), "nothing starts any more")
	assert.Equal(t, 2, s.g.InFlight()-1)
	decisions := s.wait(time.Minute)
	assert.Contains(t, fmt.Sprint(decisions), "WINDOW_CLOSED: the window and drain_grace are over")
	for _, job := range []int{3, 4, 5} {
		s.end(job, FailureCanceled)
	}
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
	assert.Equal(t, "WINDOW_CLOSED: the window closed at 2026-01-02T04:04:05Z, the next one opens at 2026-01-03T03:04:05Z", reason)
}

func TestAClosingTellsWhatHadNoRoom(t *testing.T) {
	t.Parallel()
	s := playUntil(t, jobtype.Policy{}, closing(time.Hour), nil, jobtype.Proposal{}, takes(9*time.Hour))
	s.wait(time.Hour)
	s.end(1, FailureNone)
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
	assert.Equal(t, "WINDOW_CLOSED: the window closed at 2026-01-02T04:04:05Z, the next one opens at 2026-01-03T03:04:05Z; "+
		"1 job does not fit into what was left of it; 1 of them never fits: no window of the next weeks is longer than 8h", reason)
}

func TestWindowEndKeepsCheckpoints(t *testing.T) {
	t.Parallel()
	policy := wide(jobtype.Policy{OnWindowEnd: jobtype.WindowEndCheckpoint, RetryLimit: 1})
	keys := func(names ...string) []jobtype.Proposal {
		var list []jobtype.Proposal
		for _, name := range names {
			list = append(list, jobtype.Proposal{DedupeKey: name})
		}
		return list
	}
	before := epoch.Add(-29 * 24 * time.Hour)
	old := []Kept{
		{Key: "ancient", Checkpoint: json.RawMessage(`3`), At: epoch.Add(-31 * 24 * time.Hour)},
		{Key: "gone", Checkpoint: json.RawMessage(`0`), At: before},
		{Key: "waits", Checkpoint: json.RawMessage(`5`), At: before},
		{Key: "done", Checkpoint: json.RawMessage(`1`), At: before},
	}
	found := keys("done", "stopped", "stubborn", "failed")
	found = append(found, jobtype.Proposal{}, jobtype.Proposal{DedupeKey: "waits"})
	s := playUntil(t, policy, closing(time.Hour), old, found...)
	s.step(WorkersChanged{Workers: []Worker{node("a", 5)}})
	require.Len(t, started(s.all), 5)
	assert.JSONEq(t, `1`, string(startOf(s.all, 1).Checkpoint), "it goes on where the last group ended")
	finish := func(job int, failure Failure, checkpoint string) {
		s.step(JobEnded{Job: job, Attempt: s.g.jobs[job-1].Attempt, Ending: Ending{Failure: failure, Checkpoint: json.RawMessage(checkpoint), Duration: time.Minute}})
	}
	finish(1, FailureNone, "")
	s.wait(time.Minute)
	s.step(JobCanceled{Job: 6})
	s.now = epoch.Add(time.Hour)
	s.step(Tick{})
	finish(2, FailureCanceled, `{"at":7}`)
	finish(3, FailureNone, `9`)
	finish(4, FailurePermanent, `8`)
	finish(5, FailureCanceled, `4`)
	if j := s.g.jobs[5]; !j.State.Final() {
		finish(6, FailureCanceled, `6`)
	}
	_, _ = s.outcome()
	assert.Equal(t, []Kept{{"gone", json.RawMessage(`0`), 0, before}, {"stopped", json.RawMessage(`{"at":7}`), 0, epoch.Add(time.Hour)}}, s.g.Kept(),
		"not what is done, failed or canceled by hand; what was not found again stays")
	assert.Equal(t, Dropped{Count: 2, Keys: []string{"ancient"}}, s.g.Dropped(), "without a key nobody can go on")
	assert.Equal(t, []time.Duration{time.Minute}, s.g.Took(), "the rest of a job says nothing about a whole one")
}

func startOf(decisions []Decision, job int) StartJob {
	for _, d := range decisions {
		if start, ok := d.(StartJob); ok && start.Job == job {
			return start
		}
	}
	return StartJob{}
}

func TestUnspentCheckpointsSurviveGroupsWithoutWindows(t *testing.T) {
	t.Parallel()
	s := &script{t: t, now: epoch}
	s.g = New(Config{JobType: "jt", Handler: "h", Policy: jobtype.Policy{MaxRuntime: seconds(60)}.WithDefaults(), Kept: []Kept{{"b", json.RawMessage(`1`), 0, epoch.Add(-time.Hour)}}}, s.now)
	s.step(WorkersChanged{Workers: []Worker{node("a", 1)}})
	s.detected(jobtype.Proposal{DedupeKey: "a"}, jobtype.Proposal{DedupeKey: "b"})
	s.wait(time.Minute)
	s.step(JobEnded{Job: 1, Attempt: 1, Ending: Ending{Failure: FailureCanceled, Checkpoint: json.RawMessage(`2`)}})
	_, _ = s.outcome()
	assert.Equal(t, []Kept{{"b", json.RawMessage(`1`), 0, epoch.Add(-time.Hour)}}, s.g.Kept(), "what no window stopped is kept by nobody")
}

// TestKeptCheckpointsAreBounded: never too many, and the newest ones stay.
func TestKeptCheckpointsAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 120).Draw(t, "jobs")
		g := New(Config{JobType: "jt", Handler: "h", Policy: wide(jobtype.Policy{}).WithDefaults(), Window: &Window{Closes: epoch.Add(time.Hour)}}, epoch)
		g.phase = PhaseDispatching
		var last string
		for i := range n {
			key := fmt.Sprintf("key-%d", i)
			size := rapid.SampledFrom([]int{1, 100, 1000, jobtype.MaxCheckpointBytes - 2}).Draw(t, "size")
			j := &job{N: i + 1, State: StateNotStarted, Proposal: jobtype.Proposal{DedupeKey: key}, Checkpoint: json.RawMessage(fmt.Sprintf("%q", make([]byte, size/6)))}
			g.keepOrForget(j, epoch)
			last = key
		}
		total := 0
		for _, k := range g.Kept() {
			total += k.size()
		}
		assert.LessOrEqual(t, len(g.Kept()), MaxKept)
		assert.LessOrEqual(t, total, MaxKeptBytes)
		assert.Equal(t, last, g.Kept()[len(g.Kept())-1].Key)
		assert.Equal(t, n, len(g.Kept())+g.Dropped().Count)
		assert.LessOrEqual(t, len(g.Dropped().Keys), maxDroppedKeys)
	})
}

func TestOnlyTheLastRunTimesAreKept(t *testing.T) {
	t.Parallel()
	g := New(Config{JobType: "jt", Handler: "h", Policy: wide(jobtype.Policy{}).WithDefaults()}, epoch)
	for n := range 250 {
		g.remember(&job{StartedAt: epoch}, time.Duration(n), epoch.Add(time.Second))
	}
	assert.Len(t, g.Took(), 100)
	assert.Equal(t, time.Duration(150), g.Took()[0])
	g.remember(&job{StartedAt: epoch}, 0, epoch.Add(time.Second))
	assert.Equal(t, time.Second, g.Took()[99], "from the group's own clock")
}

// A job that goes on from a checkpoint needs what is left of it, if its handler
// said how much it had done; else it may need all of it.
func TestWhatIsLeftOfAJobHasToFit(t *testing.T) {
	t.Parallel()
	found := func(key string) jobtype.Proposal {
		return jobtype.Proposal{DedupeKey: key, EstimatedRuntime: jobtype.Duration(2 * time.Hour)}
	}
	kept := []Kept{
		{Key: "most", Checkpoint: json.RawMessage(`1`), Done: 75, At: epoch},
		{Key: "some", Checkpoint: json.RawMessage(`2`), Done: 40, At: epoch},
		{Key: "unknown", Checkpoint: json.RawMessage(`3`), At: epoch},
	}
	s := playUntil(t, wide(jobtype.Policy{RetryLimit: 1, RetryBackoff: seconds(45 * 60), OnWindowEnd: jobtype.WindowEndCheckpoint}), closing(time.Hour), kept, found("most"), found("some"), found("unknown"), found("new"))
	assert.Equal(t, []string{"1@a"}, started(s.last))
	assert.Equal(t, "what is left of its estimated_runtime of 2h after its checkpoint at 40%, 1h12m, does not fit before the window closes at 2026-01-02T04:04:05Z", s.g.waitOf(s.g.job(2), s.now).Detail)
	assert.Contains(t, s.g.waitOf(s.g.job(3), s.now).Detail, "its estimated_runtime of 2h does not fit")

	// What it learns of its own jobs counts at once, and for the next group.
	s.step(JobEnded{Job: 1, Attempt: 1, Ending: Ending{Failure: FailureFailed, Checkpoint: json.RawMessage(`4`), Done: 90}})
	assert.InDelta(t, 12*time.Minute, s.g.estimate(s.g.job(1)), float64(time.Second))
	assert.Equal(t, []string{"1@a"}, started(s.wait(45*time.Minute)), "a quarter of an hour is enough now")
	s.wait(15 * time.Minute)
	s.end(1, FailureCanceled)
	for _, k := range s.g.Kept() {
		if k.Key == "most" {
			assert.InDelta(t, 90, k.Done, 0)
		}
	}
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeTimeout, outcome)
}
