package dispatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

// script plays one group by hand.
type script struct {
	t   *testing.T
	g   *Group
	now time.Time
	// all decisions so far; last those of the last step.
	all, last []Decision
}

func play(t *testing.T, policy jobtype.Policy, workers []Worker, found ...jobtype.Proposal) *script {
	t.Helper()
	s := &script{t: t, now: epoch}
	s.g = New(Config{JobType: "jt", Handler: "h", Policy: policy.WithDefaults()}, s.now)
	s.step(WorkersChanged{Workers: workers})
	if len(found) > 0 {
		s.detected(found...)
	}
	return s
}

func (s *script) step(event Event) []Decision {
	s.last = append([]Decision(nil), s.g.Next(s.now, event)...)
	s.all = append(s.all, s.last...)
	return s.last
}

// wait lets time pass as the workflow does.
func (s *script) wait(d time.Duration) []Decision {
	var decisions []Decision
	until := s.now.Add(d)
	for s.g.Phase() != PhaseEnded {
		wake := s.g.NextWake()
		if wake.IsZero() || wake.After(until) {
			break
		}
		s.now = wake
		decisions = append(decisions, s.step(Tick{})...)
	}
	s.now = until
	return append(decisions, s.step(Tick{})...)
}

func (s *script) detected(found ...jobtype.Proposal) {
	s.t.Helper()
	attempt := s.g.detect.Attempt
	page := Page{Attempt: attempt, Proposals: found}
	require.NoError(s.t, s.g.CheckPage(page))
	s.g.TakePage(page)
	s.step(DetectionEnded{Attempt: attempt, Pages: 1, Emitted: len(found)})
}

func (s *script) end(job int, failure Failure) []Decision {
	return s.step(JobEnded{Job: job, Attempt: s.g.jobs[job-1].Attempt, Ending: Ending{Failure: failure, Message: "because " + string(failure)}})
}

// started lists the jobs started in the last step, with their workers.
func started(decisions []Decision) []string {
	var list []string
	for _, d := range decisions {
		if start, ok := d.(StartJob); ok {
			list = append(list, fmt.Sprintf("%d@%s", start.Job, start.ID))
		}
	}
	return list
}

func (s *script) outcome() (Outcome, string) {
	s.t.Helper()
	require.Equal(s.t, PhaseEnded, s.g.Phase())
	return s.g.outcome, s.g.reason
}

func node(id string, slots int) Worker {
	return Worker{ID: id, Instance: "i1", State: "ONLINE", Online: true, Fresh: true, Detect: true, Execute: true, Shared: true, Slots: slots}
}

func seconds(n int) jobtype.Duration { return jobtype.Duration(time.Duration(n) * time.Second) }

func wide(p jobtype.Policy) jobtype.Policy {
	p.GlobalExecutionConcurrency, p.PerWorkerExecutionConcurrency = 10, 10
	return p
}

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
	assert.Equal(t, []string{"1@b", "2@b", "3@c", "4@a", "5@b", "6@c", "7@a", "8@b"}, started(s.last))
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
	assert.Equal(t, []JobError{{N: 1, Message: "because failed", Worker: "b"}}, s.g.Errors(10))
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

func TestLostJobIsRecalledThenReplaced(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	require.Equal(t, []string{"1@a"}, started(s.last))
	assert.Equal(t, []Decision{ProbeWorker{ID: "a", Instance: "i1"}}, s.end(1, FailureWorkerLost))
	assert.Empty(t, started(s.wait(RecallGrace-time.Millisecond)))
	assert.Equal(t, []string{"1@b"}, started(s.wait(time.Millisecond)))
	assert.Equal(t, 1, s.g.Counts().Replacements)
	assert.Zero(t, s.g.Counts().Retries)
}

func TestSuspectWorkerGetsWorkOnlyAfterABeat(t *testing.T) {
	t.Parallel()
	signs := map[string]Event{
		"probe":        WorkerProbed{ID: "a", Instance: "i1", Alive: true},
		"newer beat":   WorkersChanged{Workers: []Worker{{ID: "a", Instance: "i1", Online: true, Fresh: true, Execute: true, Slots: 1, Beat: 1}}},
		"new instance": WorkersChanged{Workers: []Worker{{ID: "a", Instance: "i2", Online: true, Fresh: true, Execute: true, Slots: 1}}},
	}
	for name, event := range signs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, jobtype.Proposal{})
			s.end(1, FailureWorkerLost)
			assert.Empty(t, started(s.wait(time.Minute)), "the only worker is suspect")
			assert.Empty(t, started(s.step(WorkerProbed{ID: "a", Instance: "i1"})), "a silent probe changes nothing")
			assert.Equal(t, []string{"1@a"}, started(s.step(event)))
		})
	}
}

func TestWorkerLossLimit(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{WorkerLossLimit: 1, RetryLimit: 9}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	s.end(1, FailureWorkerLost)
	s.wait(RecallGrace)
	s.end(1, FailureWorkerLost)
	s.wait(RecallGrace)
	assert.Equal(t, 1, s.g.Counts().Failed)
	assert.Contains(t, s.g.Errors(1)[0].Message, "lost 2 times, worker_loss_limit is 1")
}

func TestOnWorkerLossFailAndHold(t *testing.T) {
	t.Parallel()
	fail := play(t, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossFail}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	fail.end(1, FailureWorkerLost)
	fail.wait(RecallGrace)
	assert.Equal(t, 1, fail.g.Counts().Failed)

	hold := play(t, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	hold.end(1, FailureWorkerLost)
	assert.Empty(t, started(hold.wait(time.Minute)), "b must not get it")
	views, _ := hold.g.Jobs(Filter{Limit: 1}, hold.now)
	assert.Equal(t, StateHeld, views[0].State)
	assert.Contains(t, views[0].Wait.Detail, "worker a must come back")
	assert.Equal(t, []string{"1@a"}, started(hold.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true})))
}

func TestLateOutcomeOfHeldJobCounts(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, []Worker{node("a", 1)}, jobtype.Proposal{})
	s.end(1, FailureWorkerLost)
	s.wait(time.Minute)
	s.step(OutcomeDelivered{Job: 1, Attempt: 1})
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome)
}

func TestFullWorkerCoolsDown(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, jobtype.Proposal{})
	assert.Empty(t, started(s.end(1, FailureAtCapacity)))
	assert.Empty(t, started(s.wait(CoolDown-time.Millisecond)))
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
	off := Worker{ID: "c", Instance: "i1", State: "OFFLINE", Offline: true, Execute: true, Slots: 1}
	s := play(t, wide(jobtype.Policy{ExecutionTimeout: seconds(60)}), []Worker{node("a", 1), b, off},
		jobtype.Proposal{Node: "c"}, jobtype.Proposal{Labels: map[string]string{"disk": "ssd"}}, jobtype.Proposal{Node: "zz"}, jobtype.Proposal{Labels: map[string]string{"disk": "tape"}})
	assert.Equal(t, []string{"2@b"}, started(s.last))
	assert.Equal(t, "it is pinned to worker c, which is OFFLINE", s.g.Errors(10)[0].Message)
	views, _ := s.g.Jobs(Filter{Limit: 10}, s.now)
	assert.Equal(t, Wait{
		Code: WaitNoWorker, Object: "zz", Since: s.now, Until: s.now.Add(time.Minute),
		Detail: "worker zz is not available: no such worker is registered, and the job is pinned to it; until then it waits, then it fails",
	}, views[2].Wait)
	s.wait(61 * time.Second)
	messages := []string{}
	for _, e := range s.g.Errors(10) {
		messages = append(messages, e.Message)
	}
	assert.Equal(t, []string{
		"it is pinned to worker c, which is OFFLINE",
		"worker zz is not available for 1m",
		"no worker with handler h and labels disk=tape is available for 1m",
	}, messages)
}

func TestNewWorkerIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 1)}, jobtype.Proposal{}, jobtype.Proposal{})
	assert.Equal(t, []string{"2@b"}, started(s.step(WorkersChanged{Workers: []Worker{node("a", 1), node("b", 1)}})))
}

func TestDeadlineModes(t *testing.T) {
	t.Parallel()
	jobs := []jobtype.Proposal{{}, {}}
	cancel := play(t, jobtype.Policy{MaxRuntime: seconds(60)}, []Worker{node("a", 1)}, jobs...)
	assert.Equal(t, []Decision{CancelJob{Job: 1, Attempt: 1, Reason: "max_runtime of 1m is over"}}, cancel.wait(time.Minute))
	cancel.end(1, FailureCanceled)
	outcome, reason := cancel.outcome()
	assert.Equal(t, OutcomeTimeout, outcome)
	assert.Equal(t, "max_runtime of 1m is over", reason)
	assert.Equal(t, 1, cancel.g.Counts().Canceled)
	assert.Equal(t, 1, cancel.g.Counts().NotStarted)

	drain := play(t, jobtype.Policy{MaxRuntime: seconds(60), OnDeadline: jobtype.DeadlineDrain, DrainGrace: seconds(30)}, []Worker{node("a", 1)}, jobs...)
	assert.Empty(t, drain.wait(time.Minute))
	assert.Equal(t, []Decision{CancelJob{Job: 1, Attempt: 1, Reason: "max_runtime and drain_grace are over"}}, drain.wait(30*time.Second))
	drain.end(1, FailureNone)
	assert.Equal(t, 1, drain.g.Counts().Completed, "it ended well in spite of the cancellation")
}

func TestPauseStopsTheClock(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{MaxRuntime: seconds(60)}, []Worker{node("a", 1)}, jobtype.Proposal{}, jobtype.Proposal{})
	s.step(Paused{Note: "n"})
	assert.Empty(t, started(s.end(1, FailureNone)))
	assert.Empty(t, s.wait(time.Hour))
	assert.Equal(t, []string{"2@a"}, started(s.step(Resumed{})))
	assert.Empty(t, s.wait(59*time.Second))
	assert.Len(t, s.wait(time.Second), 1, "canceled when a minute was not paused")
}

func TestHandlerThatIgnoresCancelIsForgotten(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{HeartbeatTimeout: seconds(5)}, []Worker{node("a", 1)}, jobtype.Proposal{})
	s.step(GroupCanceled{Reason: "enough"})
	assert.Equal(t, []Decision{ForgetJob{Job: 1, Attempt: 1}, End{Outcome: OutcomeCanceled, Reason: "enough"}}, s.wait(5*time.Second+cancelPatience))
	views, _ := s.g.Jobs(Filter{Limit: 1}, s.now)
	assert.Contains(t, views[0].Error, "may still run")
}

func TestDetectionIsTriedElsewhereAndStartsOver(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1), node("b", 1)})
	first, ok := s.last[0].(StartDetection)
	require.True(t, ok)
	s.g.TakePage(Page{Attempt: 1, Proposals: []jobtype.Proposal{{DedupeKey: "x"}}})
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
	s.step(DetectionEnded{Attempt: 1, Failure: FailureFailed, Message: "the disk is gone"})
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeFailed, outcome)
	assert.Equal(t, "detection on a: the disk is gone", reason)
}

// TestAWorkerThatFailsToDetectIsNotAskedAgain where there is another: its disk may
// be full, and the others' may not.
func TestAWorkerThatFailsToDetectIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	run := func(avoid string, workers ...Worker) (asked, failed string) {
		s := &script{t: t, now: epoch}
		s.g = New(Config{Handler: "h", Policy: jobtype.DefaultPolicy(), LastDetector: "a", AvoidDetector: avoid}, epoch)
		start, ok := s.step(WorkersChanged{Workers: workers})[0].(StartDetection)
		require.True(t, ok)
		assert.Empty(t, s.g.FailedDetector(), "it has not ended")
		s.step(DetectionEnded{Attempt: 1, Failure: FailureFailed, Message: "the disk is full"})
		return start.ID, s.g.FailedDetector()
	}
	asked, failed := run("", node("a", 1), node("b", 1))
	assert.Equal(t, []string{"a", "a"}, []string{asked, failed})
	asked, failed = run("a", node("a", 1), node("b", 1))
	assert.Equal(t, []string{"b", "b"}, []string{asked, failed})
	asked, _ = run("a", node("a", 1))
	assert.Equal(t, "a", asked, "there is no other")
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 1)}, jobtype.Proposal{})
	assert.Empty(t, s.g.FailedDetector(), "it succeeded")
}

func TestDetectionSticksAndElseTakesTurns(t *testing.T) {
	t.Parallel()
	detector := func(last string, sequence int64) string {
		g := New(Config{Handler: "h", Policy: jobtype.DefaultPolicy(), LastDetector: last, Sequence: sequence}, epoch)
		start, ok := g.Next(epoch, WorkersChanged{Workers: []Worker{node("a", 1), node("b", 1), node("c", 1)}})[0].(StartDetection)
		require.True(t, ok)
		return start.ID
	}
	assert.Equal(t, "b", detector("b", 7))
	assert.NotEqual(t, detector("gone", 1), detector("gone", 2))
}

// The only worker detects for others for minutes: the group asks now and then, says
// what it waits for, and gives up nothing.
func TestDetectionWaitsForADetectSlot(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 4)})
	refused := 0
	for s.now.Before(epoch.Add(5 * time.Minute)) {
		if s.g.detect.Running {
			refused++
			s.step(DetectionEnded{Attempt: s.g.detect.Attempt, Failure: FailureAtCapacity, Message: "no free slot"})
			wait := s.g.Status(s.now).Wait
			assert.Equal(t, WaitSlots, wait.Code)
			assert.Equal(t, "a", wait.Object)
			assert.Equal(t, epoch, wait.Since)
		}
		s.wait(time.Second)
	}
	assert.Equal(t, 4+9, refused, "after 2, 4, 8 and 16 s, then every 30 s: %d times", refused)
	s.step(DetectionEnded{Attempt: s.g.detect.Attempt, Failure: FailureAtCapacity})
	s.step(WorkersChanged{Workers: []Worker{node("a", 4), node("b", 1)}})
	require.Equal(t, StartDetection{Attempt: refused + 2, ID: "b", Instance: "i1", Timeout: s.g.Policy().DetectionTimeout.Std()}, s.last[0], "another worker is asked at once")
	s.detected(make([]jobtype.Proposal, 2)...)
	assert.Equal(t, []string{"1@a", "2@a"}, started(s.last), "jobs have slots of their own")
}

func TestNobodyDetects(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{MaxRuntime: seconds(60)}, nil)
	assert.Equal(t, []Decision{WatchFleet{}}, s.last)
	assert.Equal(t, "no worker with handler h is available to detect", s.g.Status(s.now).Waiting)
	s.wait(time.Minute)
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeTimeout, outcome)
	assert.Contains(t, reason, "no worker with handler h")
}

func TestLimitsOfADetection(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{MaxJobsPerDetection: 2}, []Worker{node("a", 1)})
	big := jobtype.Proposal{DedupeKey: "big", Detail: string(make([]byte, jobtype.MaxProposalBytes))}
	page := Page{Attempt: 1, Proposals: []jobtype.Proposal{{DedupeKey: "1"}, {DedupeKey: "1"}, big, {}, {}, {DedupeKey: "9"}}}
	answer := s.g.TakePage(page)
	assert.Equal(t, PageAnswer{Accepted: 2, Duplicates: 1, Surplus: 2, Full: true}, answer)
	assert.Equal(t, answer, s.g.TakePage(page), "the same page again changes nothing")
	s.step(DetectionEnded{Attempt: 1, Pages: 1, Emitted: 10, Surplus: 4})
	assert.Equal(t, Counts{Detected: 10, Accepted: 2, Duplicates: 1, Surplus: 6, Invalid: 1}, s.g.Counts())
}

func TestPolicyChangesTheRunningGroup(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 8)}, make([]jobtype.Proposal, 5)...)
	require.Len(t, started(s.last), 1)
	wider := wide(jobtype.Policy{}).WithDefaults()
	require.NoError(t, s.g.CheckPolicy(wider))
	assert.Len(t, started(s.step(PolicySet{Policy: wider})), 4)
	require.Error(t, s.g.CheckPolicy(jobtype.Policy{}))
}

func TestContinueAsNewHappensWhenNothingIsInFlight(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 1)}, make([]jobtype.Proposal, 3)...)
	s.g.Observe(s.now, rollSoftEvents, 0, 0)
	assert.Empty(t, started(s.end(1, FailureNone)), "jobs are short, so the group drains")
	assert.True(t, s.g.ShouldContinueAsNew())
	data, err := s.g.Snapshot()
	require.NoError(t, err)
	next, err := Restore(data)
	require.NoError(t, err)
	next.Observe(s.now, 3, 0, 0)
	assert.Equal(t, []string{"2@a"}, started(next.Next(s.now, Tick{})))
}

func TestContinueAsNewDoesNotWaitForALongJob(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 2)}, make([]jobtype.Proposal, 9)...)
	s.g.Observe(s.now, rollSoftEvents, 0, 0)
	assert.Empty(t, started(s.end(1, FailureNone)))
	s.now = s.now.Add(rollDrain + time.Second)
	s.g.Observe(s.now, rollSoftEvents+10, 0, 0)
	assert.Equal(t, []string{"3@a"}, started(s.step(Tick{})), "job 2 goes on, so others start again")
	s.g.Observe(s.now, rollHardEvents, 0, 0)
	assert.Empty(t, started(s.end(3, FailureNone)), "the hard limit forces it")
	s.end(2, FailureNone)
	assert.True(t, s.g.ShouldContinueAsNew())
}

// TestNothingStartsThatTheHistoryHasNoRoomFor: what jobs carry counts before it is
// in the history, and jobs that ended with little make room for others.
func TestNothingStartsThatTheHistoryHasNoRoomFor(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{GlobalExecutionConcurrency: 100, PerWorkerExecutionConcurrency: 100}
	s := play(t, policy, []Worker{node("a", 1)}, make([]jobtype.Proposal, 100)...)
	s.g.cfg.StartBytes = 1 << 20
	s.g.Observe(s.now, 100, 1<<20, 0)
	first := started(s.step(WorkersChanged{Workers: []Worker{node("a", 100)}}))
	assert.InDelta(t, 42, len(first), 2, "1 MiB each, and their ends")
	s.g.Observe(s.now, 200, 1<<20, len(first)<<20)
	assert.Empty(t, started(s.end(1, FailureNone)), "they wait to be ordered")
	s.g.Observe(s.now, 200, 12<<20, 0)
	assert.NotEmpty(t, started(s.end(2, FailureNone)), "they were smaller than expected")
}

func TestShedGivesUpTheLeastUrgent(t *testing.T) {
	t.Parallel()
	var found []jobtype.Proposal
	for i := range 50 {
		p := jobtype.Proposal{DedupeKey: fmt.Sprint(i), Detail: fmt.Sprintf("%x", pseudoRandom(i, 800))}
		if i == 49 {
			p.Priority = jobtype.PriorityCritical
		}
		found = append(found, p)
	}
	s := play(t, jobtype.Policy{}, nil)
	s.step(WorkersChanged{Workers: []Worker{node("a", 1)}})
	s.detected(found...)
	s.end(50, FailureNone)
	s.end(1, FailureNone)
	shed, _, err := s.g.Shed(16<<10, s.now)
	require.NoError(t, err)
	assert.Positive(t, shed)
	data, err := s.g.Snapshot()
	require.NoError(t, err)
	assert.LessOrEqual(t, len(data), 16<<10)
	assert.Equal(t, shed, s.g.Counts().NotStarted)
}

// pseudoRandom bytes do not compress.
func pseudoRandom(seed, n int) []byte {
	state := uint64(seed)*2862933555777941757 + 3037000493
	out := make([]byte, n)
	for i := range out {
		state = state*6364136223846793005 + 1442695040888963407
		out[i] = byte(state >> 56)
	}
	return out
}

func TestRestoreRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	good, err := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, jobtype.Proposal{}).g.Snapshot()
	require.NoError(t, err)
	other, err := pack(snapshot{Version: 99})
	require.NoError(t, err)
	misplaced, err := pack(snapshot{Version: snapshotVersion, Jobs: []*job{{N: 7}}})
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"empty": nil, "cut": good[:len(good)/2], "garbage": []byte("garbage"), "version": other, "misplaced": misplaced,
	} {
		_, err := Restore(data)
		assert.Error(t, err, name)
	}
}

func FuzzRestore(f *testing.F) {
	f.Add([]byte("garbage"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if g, err := Restore(data); err == nil {
			g.Next(epoch, Tick{})
		}
	})
}
