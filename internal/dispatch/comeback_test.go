package dispatch

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

// submittedUntil plays a submitted group whose window closes after a while.
func submittedUntil(t *testing.T, policy jobtype.Policy, window Window, list ...jobtype.Proposal) *script {
	t.Helper()
	s := &script{t: t, now: epoch}
	if policy.MaxRuntime == 0 {
		policy.MaxRuntime = jobtype.Duration(5 * time.Hour)
	}
	s.g = New(Config{JobType: "jt", Handler: "h", Policy: policy.WithDefaults(), Claims: true, Submitted: true, Window: &window}, s.now)
	s.step(Submitted{Proposals: list})
	if len(s.last) > 0 {
		s.step(KeysClaimed{Fence: 1, Fences: 1000})
	}
	s.step(WorkersChanged{Workers: []Worker{node("a", 4)}})
	return s
}

func returned(closes time.Time) Returned {
	return Returned{Window: &Window{Closes: closes, Next: closes.Add(23 * time.Hour), Longest: 8 * time.Hour}, Fence: 1 << 30, Fences: 1000, Workers: []Worker{node("a", 4)}}
}

func tomorrow() time.Time { return epoch.Add(24 * time.Hour) }

func TestWhatWasSubmittedComesBack(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{MaxRuntime: jobtype.Duration(2 * time.Hour)}, closing(time.Hour),
		jobtype.Proposal{DedupeKey: "k"}, jobtype.Proposal{DedupeKey: "l"}, takes(9*time.Hour))
	require.Equal(t, []string{"1@a"}, started(s.all))
	s.wait(time.Hour)
	assert.Equal(t, PhaseDispatching, s.g.Phase(), "what runs drains")
	wait := s.g.waitOf(s.g.job(2), s.now)
	assert.Equal(t, WaitWindow, wait.Code)
	assert.Equal(t, []time.Time{epoch.Add(time.Hour), tomorrow()}, []time.Time{wait.Since, wait.Until})
	assert.Equal(t, 1, s.g.Counts().NotStarted, "no window is long enough for the third")
	assert.Contains(t, s.g.jobs[2].Error, "it never fits")

	s.now = s.now.Add(10 * time.Minute)
	assert.Equal(t, []Decision{Withdraw{Until: tomorrow()}}, s.end(1, FailureNone))
	assert.Equal(t, PhaseAway, s.g.Phase())
	assert.Equal(t, tomorrow(), s.g.Status(s.now).Wait.Until)
	s.wait(settleEvery)
	assert.Equal(t, epoch.Add(MaxAway), s.g.NextWake(), "its time does not run")

	s.step(Awaits{Wait: Wait{Code: "LANE_BUSY", Object: "default", Since: s.now, Detail: "busy"}})
	assert.Equal(t, WaitCode("LANE_BUSY"), s.g.waitOf(s.g.job(2), s.now).Code)

	s.now = tomorrow().Add(time.Minute)
	assert.Contains(t, s.step(returned(s.now.Add(time.Hour))), ClaimKeys{})
	assert.Equal(t, s.now.Add(2*time.Hour), s.g.Deadline(), "max_runtime counts anew")
	keys, jobs := s.g.DedupeKeys()
	assert.Equal(t, []string{"l"}, keys)
	assert.Equal(t, []int{2}, jobs)
	s.step(KeysClaimed{Fence: 1 << 31, Fences: 1000})
	require.Equal(t, []string{"2@a"}, started(s.last))
	for _, d := range s.last {
		if start, ok := d.(StartJob); ok {
			assert.EqualValues(t, 1<<31, start.Fence)
		}
	}
	s.end(2, FailureNone)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
	assert.Equal(t, Counts{Detected: 3, Accepted: 3, Completed: 2, NotStarted: 1}, s.g.Counts())
}

func TestWhatIsDetectedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	s := playUntil(t, jobtype.Policy{}, closing(time.Hour), nil, jobtype.Proposal{}, jobtype.Proposal{})
	s.wait(time.Hour)
	s.end(1, FailureNone)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomePartial, outcome, "the next tick detects it again")
}

func TestNothingFitsToday(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{}, closing(time.Hour), takes(2*time.Hour))
	assert.Contains(t, s.all, Withdraw{Until: tomorrow()}, "it does not hold the lane until the closing")
	s.now = tomorrow()
	assert.Equal(t, []string{"1@a"}, started(s.step(returned(s.now.Add(3*time.Hour)))))
}

func TestAStoppedJobComesBackWithItsCheckpoint(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{OnWindowEnd: jobtype.WindowEndCheckpoint}, closing(time.Hour), jobtype.Proposal{DedupeKey: "k"})
	s.wait(time.Hour)
	stop := JobEnded{Job: 1, Attempt: 1, Ending: Ending{Failure: FailureCanceled, Checkpoint: json.RawMessage(`7`)}}
	assert.Contains(t, s.step(stop), Withdraw{Until: tomorrow()})
	s.now = tomorrow()
	s.step(returned(s.now.Add(time.Hour)))
	s.step(KeysClaimed{Fence: 1 << 31, Fences: 9})
	for _, d := range s.last {
		if start, ok := d.(StartJob); ok {
			assert.JSONEq(t, `7`, string(start.Checkpoint))
			assert.Equal(t, 2, start.Attempt)
		}
	}
	assert.Equal(t, []string{"1@a"}, started(s.last))
}

// A job that never gets anywhere would do the same work again every night.
func TestAJobIsNotStoppedForNothingForEver(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{OnWindowEnd: jobtype.WindowEndCheckpoint}, closing(time.Hour), jobtype.Proposal{})
	for night := 1; night < maxCuts; night++ {
		s.now = s.g.closes()
		s.step(Tick{})
		require.Contains(t, s.end(1, FailureCanceled), Withdraw{Until: s.g.cfg.Window.Next})
		s.now = s.g.cfg.Window.Next
		require.Equal(t, []string{"1@a"}, started(s.step(returned(s.now.Add(time.Hour)))))
	}
	s.now = s.g.closes()
	s.step(Tick{})
	s.end(1, FailureCanceled)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeTimeout, outcome)
	assert.Contains(t, s.g.jobs[0].Error, "stopped so 3 times without a new checkpoint")
}

func TestOperatorsAreHeardWhileTheWindowStopsAJob(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{OnWindowEnd: jobtype.WindowEndCheckpoint}, closing(time.Hour), jobtype.Proposal{})
	s.wait(time.Hour)
	s.step(JobCanceled{Job: 1, Reason: "done by hand"})
	s.end(1, FailureCanceled)
	assert.Equal(t, 1, s.g.Counts().Canceled, "it must not come back")
	assert.Equal(t, "done by hand", s.g.jobs[0].Error)
	s.outcome()
}

func TestAWindowThatOpensAgainKeepsTheGroup(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{}, closing(time.Hour), jobtype.Proposal{}, jobtype.Proposal{})
	s.wait(time.Hour)
	s.step(WindowSet{Window: closing(3 * time.Hour)})
	assert.Equal(t, []string{"2@a"}, started(s.end(1, FailureNone)), "it has not left yet")
	assert.Equal(t, epoch.Add(3*time.Hour), s.g.NextWake())
	s.step(WindowSet{Window: Window{Closes: s.now}})
	s.end(2, FailureNone)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome)
}

func TestATypeThatIsDisabledDoesNotComeBack(t *testing.T) {
	t.Parallel()
	s := submittedUntil(t, jobtype.Policy{}, closing(time.Hour), takes(2*time.Hour))
	require.Equal(t, PhaseAway, s.g.Phase())
	s.step(TypeStopped{Reason: "RETRY_BUDGET: disabled"})
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeFailed, outcome)
	assert.Equal(t, "RETRY_BUDGET: disabled", reason)
}

func TestBatchesLeaveOutWhatOthersTookUpMeanwhile(t *testing.T) {
	t.Parallel()
	window := closing(time.Hour)
	s := &script{t: t, now: epoch}
	s.g = New(Config{JobType: "jt", Handler: "h", Policy: jobtype.Policy{}.WithDefaults(), Claims: true, Submitted: true, Window: &window, BatchSize: 3}, s.now)
	long := func(key string) jobtype.Proposal {
		return jobtype.Proposal{DedupeKey: key, EstimatedRuntime: jobtype.Duration(time.Hour)}
	}
	s.step(Submitted{Proposals: []jobtype.Proposal{long("k"), long("l"), long("m")}, BatchKeys: []string{"b", "b", "b"}})
	s.step(KeysClaimed{Fence: 1, Fences: 9})
	require.Equal(t, PhaseAway, s.g.Phase(), "three hours do not fit")
	s.now = tomorrow()
	s.step(returned(s.now.Add(5 * time.Hour)))
	s.step(KeysClaimed{
		Active: []int{1}, By: []string{"group/other"}, Keys: []string{"l"},
		HeldBack: []HeldBack{{Job: 1, Key: "m", Code: "MARKED_DONE", Detail: "done"}}, Fence: 1 << 31, Fences: 9,
	})
	require.Equal(t, []string{"1@a"}, started(s.last))
	assert.Equal(t, []string{"k"}, s.g.KeysOf(1))
	s.end(1, FailureNone)
	s.outcome()
	assert.Equal(t, Counts{Detected: 3, Accepted: 1, AlreadyActive: 1, Disabled: 1, Completed: 1}, s.g.Counts())
}
