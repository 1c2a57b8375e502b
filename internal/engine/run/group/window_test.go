package group

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/carry"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/halt"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
)

// playUntil plays a group whose window closes after a while.
func playUntil(t *testing.T, policy jobtype.Policy, window Window, carried []carry.Checkpoint, found ...jobtype.Proposal) *script {
	t.Helper()
	policy.MaxRuntime = jobtype.Duration(5 * time.Hour)
	cfg := Config{Policy: policy, Windows: true, Carried: carried}
	if window.LearnedOf > 0 {
		cfg.Took = slices.Repeat([]time.Duration{window.Learned}, window.LearnedOf)
	}
	s := open(t, cfg, node("a", 4))
	s.step(run.Tick{})
	s.step(known(s.now, window))
	s.prepared()
	if len(found) > 0 {
		s.detected(found...)
	}
	return s
}

// known are calendars with a window that is open now and the next one, of eight hours.
func known(now time.Time, w Window) WindowsKnown {
	result := contract.WindowsResult{Longest: jobtype.Duration(w.Longest), Open: []contract.WindowSpan{{From: now.Add(-time.Hour), To: w.Closes}}}
	if !w.Next.IsZero() {
		result.Open = append(result.Open, contract.WindowSpan{From: w.Next, To: w.Next.Add(8 * time.Hour)})
	}
	return WindowsKnown{result}
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
	wait := s.job(1).Wait
	assert.Equal(t, WaitWindowFit, wait.Code)
	require.NotNil(t, wait)
	assert.Equal(t, epoch.Add(time.Hour), wait.Until)
	assert.Equal(t, "its estimated_runtime of 2 h does not fit before the window closes at 2026-01-02T04:04:05Z", wait.Detail)
	assert.Contains(t, s.job(3).Wait.Detail, "it never fits: no window of the next weeks is longer than 8 h")
	assert.Equal(t, WaitGlobalLimit, s.job(4).Wait.Code)

	s.now = epoch.Add(25 * time.Minute)
	assert.Equal(t, []string{"4@a"}, started(s.end(2, FailureNone)))
	s.now = epoch.Add(30 * time.Minute)
	s.end(4, FailureNone)
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
	assert.Equal(t, "DOES_NOT_FIT_WINDOW: 2 jobs do not fit before the window closes at 2026-01-02T04:04:05Z; 1 of them never fits: no window of the next weeks is longer than 8 h", reason, "it does not wait for the closing")
	assert.Equal(t, 2, s.g.Counts().NotStarted)
	assert.Contains(t, s.job(1).Error, "DOES_NOT_FIT_WINDOW: its estimated_runtime of 2 h does not fit")
}

func TestLearnedRunTimeStandsInForAnEstimate(t *testing.T) {
	t.Parallel()
	window := closing(10 * time.Minute)
	window.Learned, window.LearnedOf = 12*time.Minute, 34
	s := playUntil(t, jobtype.Policy{}, window, nil, jobtype.Proposal{}, takes(time.Minute))
	assert.Equal(t, []string{"2@a"}, started(s.last))
	assert.Equal(t, "the learned p95 of 34 runs, 12 min, does not fit before the window closes at 2026-01-02T03:14:05Z", s.job(1).Wait.Detail)
}

func TestALongerWindowBringsBackWhatDidNotFit(t *testing.T) {
	t.Parallel()
	s := playUntil(t, jobtype.Policy{}, closing(time.Hour), nil, takes(2*time.Hour), takes(30*time.Minute))
	assert.Equal(t, []string{"2@a"}, started(s.last))
	s.step(known(s.now, closing(3*time.Hour)))
	s.now = s.now.Add(20 * time.Minute)
	assert.Equal(t, []string{"1@a"}, started(s.end(2, FailureNone)))
	s.step(known(s.now, Window{Closes: s.now}))
	assert.Equal(t, halt.Window, s.g.halt.Cause, "a blackout from now on closes at once")
	s.end(1, FailureNone)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome, "it drained, and nothing was left out")
}

func TestTheWindowHoldsForWhatWaits(t *testing.T) {
	t.Parallel()
	// Not for a worker, a retry or its time does a job start after the closing.
	window := closing(10 * time.Minute)
	s := playUntil(t, wide(jobtype.Policy{RetryLimit: 3, RetryBackoff: seconds(540)}), window, nil)
	s.ran(run.WorkersChanged{Workers: []Worker{node("a", 1)}})
	s.detected(takes(3*time.Minute), takes(2*time.Minute), jobtype.Proposal{NotBefore: epoch.Add(9 * time.Minute), EstimatedRuntime: seconds(120)})
	assert.Equal(t, []string{"1@a"}, started(s.last))
	assert.Equal(t, WaitWindowFit, s.job(3).Wait.Code, "it is known from the beginning")
	s.wait(2 * time.Minute)
	assert.Equal(t, []string{"2@a"}, started(s.end(1, FailureFailed)))
	assert.Equal(t, WaitWindowFit, s.job(1).Wait.Code, "after its backoff it does not fit")
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
	assert.Equal(t, 2, s.g.engine.InFlight()-1)
	decisions := s.wait(time.Minute)
	assert.Contains(t, fmt.Sprint(decisions), "WINDOW_CLOSED: the window and drain_grace are over")
	s.roll()
	for _, job := range []int{3, 4, 5} {
		s.end(job, FailureCanceled)
	}
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
	assert.Equal(t, "WINDOW_CLOSED: the window closed at 2026-01-02T04:04:05Z, the next one opens at 2026-01-03T03:04:05Z", reason)
}

// TestTheClosingBindsWhatDrains: a stop before it, that lets running jobs end, does not let them end later.
func TestTheClosingBindsWhatDrains(t *testing.T) {
	t.Parallel()
	disabled := TypeStopped{Code: contract.HoldRetryBudget, Reason: "disabled"}
	for name, c := range map[string]struct {
		policy jobtype.Policy
		stop   func(s *script)
		cut    time.Duration
		cause  halt.Cause
	}{
		"budget, checkpoint": {jobtype.Policy{OnWindowEnd: jobtype.WindowEndCheckpoint}, func(s *script) { s.step(disabled) }, time.Hour, halt.Budget},
		"budget, drain":      {jobtype.Policy{DrainGrace: seconds(60)}, func(s *script) { s.step(disabled) }, time.Hour + time.Minute, halt.Budget},
		"deadline": {jobtype.Policy{OnDeadline: jobtype.DeadlineDrain, OnWindowEnd: jobtype.WindowEndCheckpoint, DrainGrace: seconds(24 * 3600)}, func(s *script) {
			p := s.g.Policy()
			p.MaxRuntime = jobtype.Duration(time.Minute)
			s.step(PolicySet{Policy: p})
			s.wait(time.Minute)
		}, time.Hour, halt.Deadline},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := playUntil(t, c.policy, closing(time.Hour), nil, jobtype.Proposal{})
			require.Equal(t, []string{"1@a"}, started(s.last))
			c.stop(s)
			require.Equal(t, c.cause, s.g.halt.Cause)
			require.Equal(t, epoch.Add(c.cut), s.g.NextWake())
			s.step(known(s.now, closing(2*time.Hour)))
			c.cut += time.Hour // Other windows count at once.
			require.Equal(t, epoch.Add(c.cut), s.g.NextWake())
			assert.Empty(t, decided(s.wait(epoch.Add(c.cut).Add(-time.Second).Sub(s.now)), run.Cancel))
			if s.g.closed(s.now) {
				s.step(known(s.now, Window{Closes: s.now, Next: epoch.Add(24 * time.Hour)})) // It stays closed: the grace does not begin again.
			}
			assert.Len(t, decided(s.wait(time.Second), run.Cancel), 1)
			assert.Empty(t, decided(s.wait(time.Second), run.Cancel))
			assert.True(t, s.g.NextWake().After(s.now), "it does not wake in vain: %s", s.g.NextWake())
			s.roll()
			assert.Equal(t, c.cause, s.g.halt.Cause)
			s.end(1, FailureCanceled)
			s.outcome()
		})
	}
}

func TestAClosingTellsWhatHadNoRoom(t *testing.T) {
	t.Parallel()
	s := playUntil(t, jobtype.Policy{}, closing(time.Hour), nil, jobtype.Proposal{}, takes(9*time.Hour))
	s.wait(time.Hour)
	s.end(1, FailureNone)
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
	assert.Equal(t, "WINDOW_CLOSED: the window closed at 2026-01-02T04:04:05Z, the next one opens at 2026-01-03T03:04:05Z; "+
		"1 job does not fit into its rest; 1 of them never fits: no window of the next weeks is longer than 8 h", reason)
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
	old := []carry.Checkpoint{
		{Key: "ancient", Checkpoint: json.RawMessage(`3`), At: epoch.Add(-31 * 24 * time.Hour)},
		{Key: "gone", Checkpoint: json.RawMessage(`0`), At: before},
		{Key: "waits", Checkpoint: json.RawMessage(`5`), At: before},
		{Key: "done", Checkpoint: json.RawMessage(`1`), At: before},
	}
	found := keys("done", "stopped", "stubborn", "failed")
	found = append(found, jobtype.Proposal{}, jobtype.Proposal{DedupeKey: "waits"})
	s := playUntil(t, policy, closing(time.Hour), old, found...)
	s.ran(run.WorkersChanged{Workers: []Worker{node("a", 5)}})
	require.Len(t, started(s.all), 5)
	assert.JSONEq(t, `1`, string(startOf(s.all, 1).Checkpoint), "it continues where the last group ended")
	finish := func(job int, failure run.Failure, checkpoint string) {
		s.step(run.Ended{Item: job, Attempt: s.attempt(job), Ending: run.Ending{Failure: failure, Checkpoint: json.RawMessage(checkpoint), Duration: time.Minute}})
	}
	finish(1, FailureNone, "")
	s.wait(time.Minute)
	s.step(source.CancelItem{Item: 6})
	s.now = epoch.Add(time.Hour)
	s.step(run.Tick{})
	finish(2, FailureCanceled, `{"at":7}`)
	finish(3, FailureNone, `9`)
	finish(4, FailurePermanent, `8`)
	finish(5, FailureCanceled, `4`)
	if _, open := s.g.engine.View(6); open {
		finish(6, FailureCanceled, `6`)
	}
	_, _ = s.outcome()
	assert.Equal(t, []carry.Checkpoint{{Key: "gone", Checkpoint: json.RawMessage(`0`), At: before}, {Key: "stopped", Checkpoint: json.RawMessage(`{"at":7}`), At: epoch.Add(time.Hour)}}, s.g.Carried(),
		"not what is done, failed or canceled by hand; what was not found again stays")
	assert.Equal(t, carry.Dropped{Count: 2, Keys: []string{"ancient"}}, s.g.Dropped(), "without a key nobody can continue")
	assert.Equal(t, []time.Duration{time.Minute}, s.g.Took(), "the rest of a job says nothing about a whole one")
}

func startOf(commands []source.Command, job int) StartJob {
	for _, c := range commands {
		if start, ok := c.(StartJob); ok && start.Item == job {
			return start
		}
	}
	return StartJob{}
}

func TestUnspentCheckpointsSurviveGroupsWithoutWindows(t *testing.T) {
	t.Parallel()
	carried := []carry.Checkpoint{{Key: "b", Checkpoint: json.RawMessage(`1`), At: epoch.Add(-time.Hour)}}
	s := playWith(t, Config{Policy: jobtype.Policy{MaxRuntime: seconds(60)}, Carried: carried}, []Worker{node("a", 1)}, jobtype.Proposal{DedupeKey: "a"}, jobtype.Proposal{DedupeKey: "b"})
	s.wait(time.Minute)
	s.step(run.Ended{Item: 1, Attempt: 1, Ending: run.Ending{Failure: FailureCanceled, Checkpoint: json.RawMessage(`2`)}})
	_, _ = s.outcome()
	assert.Equal(t, []carry.Checkpoint{{Key: "b", Checkpoint: json.RawMessage(`1`), At: epoch.Add(-time.Hour)}}, s.g.Carried(), "what no window stopped is kept by nobody")
}

// TestKeptCheckpointsAreBounded: never too many, and the newest ones stay.
func TestKeptCheckpointsAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 120).Draw(t, "jobs")
		g := New(Config{Policy: wide(jobtype.Policy{}).WithDefaults(), Windows: true}, epoch)
		var last string
		for i := range n {
			key := fmt.Sprintf("key-%d", i)
			size := rapid.SampledFrom([]int{1, 100, 1000, jobtype.MaxCheckpointBytes - 2}).Draw(t, "size")
			j := &job{N: i + 1, Work: proposed.Work{Proposal: jobtype.Proposal{DedupeKey: key}}, Checkpoint: json.RawMessage(fmt.Sprintf("%q", make([]byte, size/6)))}
			g.carryOver(j, &run.Report{State: run.NotStarted}, epoch)
			last = key
		}
		total := 0
		for _, k := range g.Carried() {
			total += len(k.Key) + len(k.Checkpoint)
		}
		assert.LessOrEqual(t, len(g.Carried()), carry.Max)
		assert.LessOrEqual(t, total, carry.MaxBytes)
		assert.Equal(t, last, g.Carried()[len(g.Carried())-1].Key)
		assert.Equal(t, n, len(g.Carried())+g.Dropped().Count)
		assert.LessOrEqual(t, len(g.Dropped().Keys), carry.MaxDroppedKeys)
	})
}

func TestOnlyTheLastRunTimesAreKept(t *testing.T) {
	t.Parallel()
	g := New(Config{Policy: wide(jobtype.Policy{}).WithDefaults()}, epoch)
	for n := range 250 {
		g.tally.Took = window.Learn(g.tally.Took, time.Duration(n))
	}
	assert.Len(t, g.Took(), window.MaxKnown)
	assert.Equal(t, time.Duration(150), g.Took()[0])
}

// A job that continues from a checkpoint needs the rest of its time, if its handler has reported its progress;
// otherwise it may need all of it.
func TestWhatIsLeftOfAJobHasToFit(t *testing.T) {
	t.Parallel()
	found := func(key string) jobtype.Proposal {
		return jobtype.Proposal{DedupeKey: key, EstimatedRuntime: jobtype.Duration(2 * time.Hour)}
	}
	kept := []carry.Checkpoint{
		{Key: "most", Checkpoint: json.RawMessage(`1`), Done: 75, At: epoch},
		{Key: "some", Checkpoint: json.RawMessage(`2`), Done: 40, At: epoch},
		{Key: "unknown", Checkpoint: json.RawMessage(`3`), At: epoch},
	}
	s := playUntil(t, wide(jobtype.Policy{RetryLimit: 1, RetryBackoff: seconds(45 * 60), OnWindowEnd: jobtype.WindowEndCheckpoint}), closing(time.Hour), kept, found("most"), found("some"), found("unknown"), found("new"))
	assert.Equal(t, []string{"1@a"}, started(s.last))
	assert.Equal(t, "the rest of its estimated_runtime of 2 h after its checkpoint, 72 min, does not fit before the window closes at 2026-01-02T04:04:05Z", s.job(2).Wait.Detail)
	assert.Contains(t, s.job(3).Wait.Detail, "its estimated_runtime of 2 h does not fit")

	// The run times of its own jobs count at once, and for the next group.
	s.step(run.Ended{Item: 1, Attempt: 1, Ending: run.Ending{Failure: FailureFailed, Checkpoint: json.RawMessage(`4`), Done: 90}})
	rest, _ := s.g.engine.Estimate(1)
	assert.InDelta(t, 12*time.Minute, rest, float64(time.Second))
	assert.Equal(t, []string{"1@a"}, started(s.wait(45*time.Minute)), "a quarter of an hour is enough now")
	s.wait(15 * time.Minute)
	s.end(1, FailureCanceled)
	for _, k := range s.g.Carried() {
		if k.Key == "most" {
			assert.InDelta(t, 90, k.Done, 0)
		}
	}
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeTimeout, outcome)
}
