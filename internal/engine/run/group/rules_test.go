package group

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

func TestPriorityThenOrder(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1)},
		jobtype.Proposal{Priority: jobtype.PriorityLow}, jobtype.Proposal{}, jobtype.Proposal{Priority: jobtype.PriorityCritical},
		jobtype.Proposal{}, jobtype.Proposal{Priority: jobtype.PriorityHigh})
	order := started(s.last)
	for _, job := range []int{3, 5, 2, 4} {
		order = append(order, started(s.end(job, FailureNone))...)
	}
	assert.Equal(t, []string{"3@a", "5@a", "2@a", "4@a", "1@a"}, order)
}

func TestJobsSpreadOverFreeSlotsAndTiesRotate(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 2), node("b", 4), node("c", 2)}, make([]jobtype.Proposal, 8)...)
	assert.Equal(t, []string{"1@b", "2@b", "3@a", "4@c", "5@b", "6@a", "7@c", "8@b"}, started(s.last))
}

func TestPerWorkerLimitIsUsedInFull(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{GlobalExecutionConcurrency: 100, PerWorkerExecutionConcurrency: 4}, []Worker{node("a", 8)}, make([]jobtype.Proposal, 9)...)
	assert.Len(t, started(s.last), 4)
}

func TestNotBeforeAndExpiresAt(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 1)},
		jobtype.Proposal{},
		jobtype.Proposal{NotBefore: epoch.Add(time.Minute)},
		jobtype.Proposal{ExpiresAt: epoch.Add(30 * time.Second)})
	assert.Equal(t, []string{"1@a"}, started(s.last))
	assert.Empty(t, started(s.wait(31*time.Second)), "the worker is busy")
	assert.Equal(t, 1, s.g.Counts().Expired)
	assert.Empty(t, started(s.end(1, FailureNone)), "too early for the second")
	assert.Equal(t, []string{"2@a"}, started(s.wait(30*time.Second)))
	s.end(2, FailureNone)
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
	assert.Equal(t, "1 expired", reason)
}

func TestRetryGoesElsewhereAfterBackoff(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{RetryLimit: 1, RetryBackoff: seconds(7)}), []Worker{node("a", 4), node("b", 1)}, jobtype.Proposal{})
	require.Equal(t, []string{"1@a"}, started(s.last))
	assert.Empty(t, started(s.end(1, FailureFailed)))
	assert.Empty(t, started(s.wait(6*time.Second)))
	assert.Equal(t, []string{"1@b"}, started(s.wait(time.Second)), "although a has more free slots")
	s.end(1, FailureFailed)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeFailed, outcome)
	assert.Equal(t, []contract.JobError{{JobID: contract.JobID(1), Message: "because failed", Worker: "b"}}, s.g.Errors(10))
}

// TestOnlyStartedRetriesCount: a job that ends before its retry starts has no such retry.
func TestOnlyStartedRetriesCount(t *testing.T) {
	t.Parallel()
	ends := map[string]source.Event{
		"its key is disabled":  KeyStopped{DedupeKey: "k", Reason: "disabled"},
		"its type is disabled": TypeStopped{Code: contract.HoldRetryBudget, Reason: "disabled"},
		"it is canceled":       source.CancelItem{Item: 1, Reason: "canceled"},
	}
	for name, end := range ends {
		s := play(t, jobtype.Policy{RetryLimit: 5, RetryBackoff: seconds(60)}, []Worker{node("a", 1)}, jobtype.Proposal{DedupeKey: "k"})
		s.end(1, FailureFailed)
		s.roll()
		s.wait(2 * time.Minute)
		require.Equal(t, 2, s.attempt(1), name)
		s.end(1, FailureFailed)
		s.roll()
		s.step(end)
		assert.Equal(t, PhaseEnded, s.g.Phase(), name)
		assert.Equal(t, 1, s.g.Counts().Retries, name)
	}
}

func TestPermanentIsNotRetried(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{RetryLimit: 5}, []Worker{node("a", 1)}, jobtype.Proposal{})
	s.end(1, FailurePermanent)
	assert.Equal(t, 1, s.g.Counts().Failed)
	assert.Zero(t, s.g.Counts().Retries)
}

func TestStaleIsCountedApart(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, jobtype.Proposal{})
	s.end(1, FailureStale)
	assert.Equal(t, 1, s.g.Counts().Stale)
}

func TestWorkerLossLimit(t *testing.T) {
	t.Parallel()
	s := playWith(t, Config{Policy: jobtype.Policy{WorkerLossLimit: 1, RetryLimit: 9}, Budget: true}, []Worker{node("a", 1), node("b", 1)})
	s.detected(jobtype.Proposal{DedupeKey: "k"})
	s.end(1, FailureWorkerLost)
	s.wait(run.Grace)
	assert.Equal(t, []string{"replaced WORKER_LOST 1"}, s.noted())
	s.end(1, FailureWorkerLost)
	s.wait(run.Grace)
	assert.Equal(t, 1, s.g.Counts().Failed)
	assert.Equal(t, []string{"ended LOSES_WORKERS 1"}, s.noted())
	assert.Contains(t, s.g.Errors(1)[0].Message, "LOSES_WORKERS: lost with a, b within")
	failed := s.g.TakeEndings(s.now).Failed
	require.Len(t, failed, 2, "both losses count against the retry budget")
	assert.Equal(t, []string{"k"}, failed[0].Keys)
}

func TestOnWorkerLossFailAndHold(t *testing.T) {
	t.Parallel()
	fail := play(t, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossFail}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	fail.end(1, FailureWorkerLost)
	fail.wait(run.Grace)
	assert.Equal(t, 1, fail.g.Counts().Failed)

	hold := play(t, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	hold.end(1, FailureWorkerLost)
	assert.Empty(t, started(hold.wait(time.Minute)), "b must not get it")
	views := hold.jobs()
	assert.Equal(t, string(StateHeld), views[0].State)
	assert.Contains(t, views[0].Wait.Detail, "worker a must come back")
	assert.Equal(t, []string{"1@a"}, started(hold.ran(run.WorkerProbed{ID: "a", Instance: "i1", Alive: true})))
}

func TestLateOutcomeOfHeldJobCounts(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, []Worker{node("a", 1)}, jobtype.Proposal{})
	s.end(1, FailureWorkerLost)
	s.wait(time.Minute)
	s.step(run.Delivered{Item: 1, Attempt: 1})
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome)
}

func TestFullWorkerCoolsDown(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, jobtype.Proposal{})
	assert.Empty(t, started(s.end(1, FailureAtCapacity)))
	assert.Empty(t, started(s.wait(run.CoolDown-time.Millisecond)))
	assert.Equal(t, []string{"1@a"}, started(s.wait(time.Millisecond)))
}

func TestUnsupportedWorkerIsLeftOut(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{}, jobtype.Proposal{})
	assert.Equal(t, []string{"1@b"}, started(s.end(1, FailureUnsupported)))
	assert.Equal(t, []string{"2@b"}, started(s.end(1, FailureNone)))
}

func TestPinsAndLabels(t *testing.T) {
	t.Parallel()
	b := node("b", 1)
	b.Labels = map[string]string{"disk": "ssd"}
	off := offline("c")
	s := play(t, wide(jobtype.Policy{ExecutionTimeout: seconds(60)}), []Worker{node("a", 1), b, off},
		jobtype.Proposal{Node: "c"}, jobtype.Proposal{Labels: map[string]string{"disk": "ssd"}}, jobtype.Proposal{Node: "zz"}, jobtype.Proposal{Labels: map[string]string{"disk": "tape"}})
	assert.Equal(t, []string{"2@b"}, started(s.last))
	assert.Equal(t, "it is pinned to worker c, which is OFFLINE", s.g.Errors(10)[0].Message)
	views := s.jobs()
	assert.Equal(t, &contract.WaitReason{
		Code: WaitNoWorker, Object: "zz", Since: s.now, Until: s.now.Add(time.Minute),
		Detail: "worker zz is not registered, and the job is pinned to it; until then it waits, then it fails",
	}, views[2].Wait)
	s.wait(61 * time.Second)
	messages := []string{}
	for _, e := range s.g.Errors(10) {
		messages = append(messages, e.Message)
	}
	assert.Equal(t, []string{
		"it is pinned to worker c, which is OFFLINE",
		"NO_WORKER: worker zz is not registered (waited 1 min)",
		"NO_WORKER: no online worker has label disk=tape (waited 1 min)",
	}, messages)
}

func TestNewWorkerIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 1)}, jobtype.Proposal{}, jobtype.Proposal{})
	assert.Equal(t, []string{"2@b"}, started(s.ran(run.WorkersChanged{Workers: []Worker{node("a", 1), node("b", 1)}})))
}

func TestDeadlineModes(t *testing.T) {
	t.Parallel()
	jobs := []jobtype.Proposal{{}, {}}
	cancel := play(t, jobtype.Policy{MaxRuntime: seconds(60)}, []Worker{node("a", 1)}, jobs...)
	assert.Equal(t, "max_runtime of 1m is over", decided(cancel.wait(time.Minute), run.Cancel)[0].Reason)
	cancel.end(1, FailureCanceled)
	outcome, reason := cancel.outcome()
	assert.Equal(t, OutcomeTimeout, outcome)
	assert.Equal(t, "max_runtime of 1m is over", reason)
	assert.Equal(t, 1, cancel.g.Counts().Canceled)
	assert.Equal(t, 1, cancel.g.Counts().NotStarted)

	drain := play(t, jobtype.Policy{MaxRuntime: seconds(60), OnDeadline: jobtype.DeadlineDrain, DrainGrace: seconds(30)}, []Worker{node("a", 1)}, jobs...)
	assert.Empty(t, drain.wait(time.Minute))
	assert.Equal(t, "max_runtime and drain_grace are over", decided(drain.wait(30*time.Second), run.Cancel)[0].Reason)
	drain.end(1, FailureNone)
	assert.Equal(t, 1, drain.g.Counts().Completed, "it ended well in spite of the cancellation")
}

func TestPauseStopsTheClock(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{MaxRuntime: seconds(60)}, []Worker{node("a", 1)}, jobtype.Proposal{}, jobtype.Proposal{})
	s.step(source.Paused{Note: strings.Repeat("n", 1<<20)})
	assert.Len(t, s.g.engine.Paused().Note, maxErrorBytes, "it travels with the run")
	assert.Empty(t, started(s.end(1, FailureNone)))
	assert.Empty(t, s.wait(time.Hour))
	assert.Equal(t, []string{"2@a"}, started(s.step(source.Resumed{})))
	assert.Empty(t, s.wait(59*time.Second))
	assert.Len(t, s.wait(time.Second), 1, "canceled when a minute was not paused")
}

func TestHandlerThatIgnoresCancelIsForgotten(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{HeartbeatTimeout: seconds(5)}, []Worker{node("a", 1)}, jobtype.Proposal{})
	s.step(source.Canceled{Reason: "enough"})
	s.wait(5*time.Second + run.CancelWait)
	assert.Len(t, decided(s.all, run.Forget), 1)
	outcome, reason := s.outcome()
	assert.Equal(t, []string{"canceled", "enough"}, []string{string(outcome), reason})
	views := s.jobs()
	assert.Contains(t, views[0].Error, "may still run")
}

func TestDetectionIsTriedElsewhereAndStartsOver(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1), node("b", 1)})
	first, ok := s.last[0].(StartDetection)
	require.True(t, ok)
	s.g.TakePage(s.now, Page{Attempt: 1, Proposals: []jobtype.Proposal{{DedupeKey: "x"}}})
	decisions := s.step(DetectionEnded{Attempt: 1, Failure: FailureWorkerLost})
	second, ok := decisions[len(decisions)-1].(StartDetection)
	require.True(t, ok)
	assert.NotEqual(t, first.ID, second.ID)
	assert.Zero(t, s.g.Counts().Accepted, "half a detection does not count")
	require.ErrorContains(t, s.g.CheckPage(Page{Attempt: 1, Seq: 1}), "detection 2 is the current one")
	require.ErrorContains(t, s.g.CheckPage(Page{Attempt: 2, Seq: 1}), "page 0 is the next one")
}

func TestDetectionThatFailsEndsTheGroup(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1)})
	s.step(DetectionEnded{Attempt: 1, Failure: contract.FailurePermanent, Message: "the disk is gone"})
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeFailed, outcome)
	assert.Equal(t, "detection on a: the disk is gone", reason)
}

// A worker that is suspect for a moment may have the program that another one lacks.
func TestADetectionWaitsForAWorkerThatMayHaveItsProgram(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1), node("b", 1)})
	first, ok := find[StartDetection](s.last)
	require.True(t, ok)
	s.step(DetectionEnded{Attempt: 1, Failure: FailureWorkerLost})
	s.step(DetectionEnded{Attempt: 2, Failure: contract.FailureNotInstalled, Message: "no such program"})
	require.Equal(t, PhaseDetecting, s.g.Phase())
	back := node(first.ID, 1)
	back.Beat++
	again, ok := find[StartDetection](s.ran(run.WorkersChanged{Workers: []Worker{back}, Partial: true}))
	require.True(t, ok)
	assert.Equal(t, first.ID, again.ID)
	s.step(DetectionEnded{Attempt: 3, Failure: contract.FailureNotInstalled, Message: "no such program"})
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeFailed, outcome, "both lack it")
	assert.Equal(t, "NOT_INSTALLED: none of 2 workers that detect has the program: no such program", reason)
	assert.Equal(t, contract.CodeNotInstalled, s.g.Result(s.now).Code)
}

// The only worker detects for others for minutes: the group tries at times, shows its wait, and does not end.
func TestDetectionWaitsForADetectSlot(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 4)})
	refused := 0
	for s.now.Before(epoch.Add(5 * time.Minute)) {
		if s.g.detect.running() {
			refused++
			s.step(DetectionEnded{Attempt: s.g.detect.Attempt, Failure: FailureAtCapacity, Message: "no free slot"})
			wait := s.g.Status(s.now).Wait
			require.NotNil(t, wait)
			assert.Equal(t, WaitSlots, wait.Code)
			assert.Equal(t, "a", wait.Object)
			assert.Equal(t, epoch, wait.Since)
		}
		s.wait(time.Second)
	}
	assert.Equal(t, 4+9, refused, "after 2, 4, 8 and 16 s, then every 30 s: %d times", refused)
	s.step(DetectionEnded{Attempt: s.g.detect.Attempt, Failure: FailureAtCapacity})
	s.ran(run.WorkersChanged{Workers: []Worker{node("a", 4), node("b", 1)}})
	again, _ := find[StartDetection](s.last)
	require.Equal(t, StartDetection{Attempt: refused + 2, ID: "b", Instance: "i1", Timeout: s.g.Policy().DetectionTimeout.Std(), KeyedInGroup: backlog.KeyedInGroup}, again, "another worker is asked at once")
	s.detected(make([]jobtype.Proposal, 2)...)
	assert.Equal(t, []string{"1@a", "2@a"}, started(s.last), "jobs have slots of their own")
}

// A live worker that takes no detection in time is busy: the group waits for it, however often.
func TestDetectionWaitsForABusyWorkerThatLives(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 4)})
	for n := range 20 {
		require.True(t, s.g.detect.running())
		s.step(DetectionEnded{Attempt: n + 1, Failure: FailureNotTaken, Message: "worker a did not take it in time"})
		s.wait(time.Minute)
		require.False(t, s.g.detect.running(), "it has shown no life since")
		s.ran(run.WorkerProbed{ID: "a", Instance: node("a", 4).Instance, Alive: true})
	}
	s.detected(make([]jobtype.Proposal, 1)...)
	assert.Equal(t, []string{"1@a"}, started(s.last))
}

// The other worker is sent the detection at once, and the busy one has a pause.
func TestADetectionThatWasNotTakenGoesElsewhere(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 1), node("b", 1)})
	first, _ := find[StartDetection](s.last)
	second, ok := find[StartDetection](s.step(DetectionEnded{Attempt: 1, Failure: FailureNotTaken}))
	require.True(t, ok)
	assert.NotEqual(t, first.ID, second.ID)
	s.step(DetectionEnded{Attempt: 2, Failure: FailureNotTaken})
	decisions := s.ran(run.WorkerProbed{ID: first.ID, Instance: first.Instance, Alive: true})
	_, again := find[StartDetection](decisions)
	require.False(t, again, "it has a pause")
	third, ok := find[StartDetection](s.wait(run.CoolDown))
	require.True(t, ok)
	assert.Equal(t, first.ID, third.ID)
}

func TestLimitsOfADetection(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{MaxJobsPerDetection: 2}, []Worker{node("a", 1)})
	big := jobtype.Proposal{DedupeKey: "big", Detail: string(make([]byte, jobtype.MaxProposalBytes))}
	page := Page{Attempt: 1, Proposals: []jobtype.Proposal{{DedupeKey: "1"}, {DedupeKey: "1"}, big, {}, {}, {DedupeKey: "9"}}}
	answer := s.g.TakePage(s.now, page)
	assert.Equal(t, PageAnswer{Accepted: 2, Duplicates: 1, Surplus: 2, Full: true}, answer)
	assert.Equal(t, answer, s.g.TakePage(s.now, page), "the same page again changes nothing")
	s.step(DetectionEnded{Attempt: 1, Pages: 1, Emitted: 10, Surplus: 4})
	assert.Equal(t, contract.GroupCounts{Detected: 10, Accepted: 2, Duplicates: 1, Surplus: 6, Invalid: 1}, s.g.Counts())
}

func TestPolicyChangesTheRunningGroup(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 8)}, make([]jobtype.Proposal, 5)...)
	require.Len(t, started(s.last), 1)
	wider := wide(jobtype.Policy{}).WithDefaults()
	require.NoError(t, s.g.CheckPolicy(wider, nil))
	assert.Len(t, started(s.step(PolicySet{Policy: wider})), 4)
	require.Error(t, s.g.CheckPolicy(jobtype.Policy{}, nil))
}

func TestContinueAsNewHappensWhenNothingIsInFlight(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 1)}, make([]jobtype.Proposal, 3)...)
	s.g.engine.Observe(s.now, 20_000, 0, 0)
	assert.Empty(t, started(s.end(1, FailureNone)), "jobs are short, so the group drains")
	assert.True(t, s.g.ShouldContinueAsNew())
	data, err := s.g.Snapshot()
	require.NoError(t, err)
	next, err := Restore(data, s.now)
	require.NoError(t, err)
	next.engine.Observe(s.now, 3, 0, 0)
	assert.Equal(t, []string{"2@a"}, started(next.Next(s.now, run.Tick{})))
}

// TestManyEndingsAreReportedBeforeContinueAsNew: the state would have the keys once more. A few of them travel.
func TestManyEndingsAreReportedBeforeContinueAsNew(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{100, 150} {
		g := New(Config{Policy: wide(jobtype.Policy{}).WithDefaults(), Claims: true}, epoch)
		g.endings.Ended(nil, 1, true, epoch)
		for n := range jobs {
			g.endings.Ended(nil, uint64(n+1), n%2 == 0, epoch) //nolint:gosec // small
		}
		g.phase = PhaseRunning
		g.engine.Progressed()
		g.engine.Observe(epoch, 20_000, 0, 0)
		require.True(t, g.engine.ShouldContinueAsNew())
		g.out = nil
		g.report(epoch)
		assert.Len(t, g.out, jobs/128)
		assert.Equal(t, jobs < 128, g.endings.Heavy() || len(g.endings.Endings.DoneHashes) > 0)
	}
}

func TestContinueAsNewDoesNotWaitForALongJob(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 2)}, make([]jobtype.Proposal, 9)...)
	s.g.engine.Observe(s.now, 20_000, 0, 0)
	assert.Empty(t, started(s.end(1, FailureNone)))
	s.now = s.now.Add(6 * time.Second)
	s.g.engine.Observe(s.now, 20_000+10, 0, 0)
	assert.Equal(t, []string{"3@a"}, started(s.step(run.Tick{})), "job 2 continues, so others start again")
	s.g.engine.Observe(s.now, 40_000, 0, 0)
	assert.Empty(t, started(s.end(3, FailureNone)), "the hard limit forces it")
	s.end(2, FailureNone)
	assert.True(t, s.g.ShouldContinueAsNew())
}

func FuzzRestore(f *testing.F) {
	f.Add([]byte("garbage"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if g, err := Restore(data, epoch); err == nil {
			g.Next(epoch, run.Tick{})
		}
	})
}

func TestDetectorSticksRotatesAndAvoids(t *testing.T) {
	t.Parallel()
	detector := func(cfg Config, workers ...Worker) string {
		s := playWith(t, cfg, workers)
		start, ok := find[StartDetection](s.all)
		require.True(t, ok)
		assert.Empty(t, s.g.FailedDetector(), "it has not ended")
		s.step(DetectionEnded{Attempt: 1, Failure: contract.FailurePermanent, Message: "the disk is full"})
		assert.Equal(t, start.ID, s.g.FailedDetector())
		return start.ID
	}
	three := []Worker{node("a", 1), node("b", 1), node("c", 1)}
	assert.Equal(t, "b", detector(Config{LastDetector: "b", Sequence: 7}, three...))
	assert.NotEqual(t, detector(Config{LastDetector: "gone", Sequence: 1}, three...), detector(Config{LastDetector: "gone", Sequence: 2}, three...))
	assert.Equal(t, "b", detector(Config{LastDetector: "a", AvoidDetector: "a"}, three[:2]...))
	assert.Equal(t, "a", detector(Config{LastDetector: "a", AvoidDetector: "a"}, three[0]), "there is no other")
}

func TestRestoreRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	good, err := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, jobtype.Proposal{}).g.Snapshot()
	require.NoError(t, err)
	for name, data := range map[string][]byte{"empty": nil, "cut": good[:len(good)/2], "garbage": []byte("garbage")} {
		_, err := Restore(data, epoch)
		require.Error(t, err, name)
	}
}

// TestFinishedJobsDoNotTravel: ended jobs must not keep a group from continuing as new.
func TestFinishedJobsDoNotTravel(t *testing.T) {
	t.Parallel()
	const n = 60_000
	found := make([]jobtype.Proposal, n)
	for i := range found {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8), byte(i >> 16)})
		found[i].DedupeKey = hex.EncodeToString(sum[:16])
	}
	s := play(t, jobtype.Policy{MaxJobsPerDetection: n, GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 4}, []Worker{node("a", 4)}, found...)
	full, err := s.g.Snapshot()
	require.NoError(t, err)
	for job := 1; job <= n-10; job++ {
		for _, command := range s.g.Next(s.now, run.Ended{Item: job, Attempt: 1}) {
			if store, ok := command.(StoreRecord); ok {
				s.g.Next(s.now, RecordStored{Page: contract.PageName(store.Segment)})
			}
		}
	}
	left, err := s.g.Snapshot()
	require.NoError(t, err)
	assert.Less(t, len(left), 512<<10, "from %d bytes", len(full))
	assert.Equal(t, n-10, s.g.Counts().Completed)
	s.roll()
	for job := n - 9; job <= n; job++ {
		s.end(job, FailureNone)
	}
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome)
	assert.Equal(t, n, s.g.Counts().Completed)
}
