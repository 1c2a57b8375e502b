package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

func tape(id string, slots int) Worker {
	w := node(id, slots)
	w.Labels = map[string]string{"disk": "tape"}
	return w
}

var onTape = jobtype.Proposal{Labels: map[string]string{"disk": "tape"}, Priority: jobtype.PriorityLow}

func TestAWorkerThatCameWhileTheGroupWasFullIsSeen(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{ExecutionTimeout: seconds(60), GlobalExecutionConcurrency: 2}
	s := play(t, policy, []Worker{node("a", 1), node("b", 1)}, onTape, jobtype.Proposal{}, jobtype.Proposal{})
	s.end(2, FailureFailed) // A place is free: nobody has a tape.
	s.step(WorkersChanged{Workers: []Worker{node("a", 1), node("b", 1)}})
	require.Equal(t, WaitNoWorker, s.job(1).Wait.Code)
	policy.GlobalExecutionConcurrency = 1
	s.step(PolicySet{Policy: policy.WithDefaults()})
	s.wait(10 * time.Second)
	s.step(WorkersChanged{Workers: []Worker{node("a", 1), node("b", 1), tape("c", 1)}})
	assert.Equal(t, WaitGlobalLimit, s.job(1).Wait.Code)
	s.wait(2 * time.Minute)
	require.Equal(t, StatePending, s.job(1).State, "%s", s.job(1).Error)
	assert.Equal(t, []string{"1@c"}, started(s.end(3, FailureNone)))
}

func TestWhilePausedNothingWaitsForAWorker(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{ExecutionTimeout: seconds(60)}, []Worker{node("a", 1)}, onTape)
	require.Equal(t, WaitNoWorker, s.job(1).Wait.Code)
	s.wait(30 * time.Second)
	s.step(Paused{})
	s.wait(time.Hour)
	require.Equal(t, StatePending, s.job(1).State, "%s", s.job(1).Error)
	s.step(Resumed{})
	assert.Equal(t, s.now, s.job(1).Wait.Since)
	s.wait(59 * time.Second)
	require.Equal(t, StatePending, s.job(1).State)
	s.wait(time.Second)
	assert.Equal(t, "no worker with handler h and labels disk=tape is available for 1m", s.job(1).Error)
}

// A server that is killed after it has taken a report and before it has answered
// is told once more, knows no such attempt any more, and sends the worker to the
// group.
func TestAReportThatIsRepeatedCostsNoSecondRetry(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{RetryLimit: 1, RetryBackoff: seconds(10)}, []Worker{node("a", 1)}, jobtype.Proposal{})
	s.end(1, FailureFailed)
	again := Ending{Failure: FailureFailed, Message: "because", Worker: "a", Instance: "i1"}
	s.step(OutcomeDelivered{Job: 1, Attempt: 1, Ending: again})
	require.Equal(t, StatePending, s.job(1).State)
	assert.Equal(t, 1, s.g.Counts().Retries)
	assert.Equal(t, []string{"1@a"}, started(s.wait(10*time.Second)))

	s = play(t, jobtype.Policy{}, []Worker{node("a", 1), node("b", 1)}, jobtype.Proposal{})
	s.end(1, FailureDraining)
	require.Equal(t, 2, s.g.jobs[0].Attempt)
	s.step(OutcomeDelivered{Job: 1, Attempt: 1, Ending: Ending{Failure: FailureDraining}})
	assert.Equal(t, 1, s.g.Counts().Replacements)
}

func TestOfATimeoutOnlyASuccessIsNews(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{RetryLimit: 2, RetryBackoff: seconds(10)}, []Worker{node("a", 1)}, jobtype.Proposal{})
	s.step(JobEnded{Job: 1, Attempt: 1, Ending: Ending{Failure: FailureTimeout, Unheard: true}})
	s.step(OutcomeDelivered{Job: 1, Attempt: 1, Ending: Ending{Failure: FailureTimeout, Message: "over its time"}})
	assert.Equal(t, 1, s.g.Counts().Retries, "the attempt has cost its retry")
	s.step(OutcomeDelivered{Job: 1, Attempt: 1})
	assert.Equal(t, StateCompleted, s.job(1).State)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome)
}

func TestHoldDoesNotWaitForAWorkerThatNobodyKnows(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{Routing: jobtype.RoutingShared}, []Worker{node("a", 1)}, jobtype.Proposal{}, jobtype.Proposal{})
	s.step(PolicySet{Policy: wide(jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}).WithDefaults()})
	s.end(1, FailureWorkerLost) // Nobody knows who took it.
	s.wait(RecallGrace)
	assert.NotEqual(t, StateHeld, s.job(1).State)
}

func TestWhatIsShedGivesBackWhatItWasGranted(t *testing.T) {
	t.Parallel()
	s := &script{t: t, now: epoch}
	s.g = New(Config{JobType: "jt", Handler: "h", Policy: jobtype.Policy{}.WithDefaults(), Claims: true}, s.now)
	s.step(WorkersChanged{Workers: []Worker{node("a", 1)}})
	s.detected(jobtype.Proposal{Resources: map[string]int{"db": 1}})
	s.g.rollover.Hold = true
	s.step(Admitted{Job: 1, Ask: 1, Fence: 1, Fences: 10})
	_, decisions, err := s.g.Shed(10, s.now)
	require.Error(t, err, "nothing fits into that")
	assert.Equal(t, []Decision{GiveUp{Job: 1, Ask: 1}}, decisions)
}

// Of two workers that look full, and serve different jobs, the one that may be
// tried later must not make the group forget the other.
func TestTheEarliestTrialCounts(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, nil)
	s.g.wakeToTry(epoch.Add(time.Second))
	s.g.wakeToTry(epoch.Add(time.Minute))
	assert.Equal(t, epoch.Add(time.Second), s.g.NextWake())
}

func TestAJobThatIsBeingCanceledSaysSo(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, jobtype.Proposal{})
	s.step(JobCanceled{Job: 1, Reason: "the disk is replaced"})
	assert.Equal(t, StateRunning, s.job(1).State)
	assert.Equal(t, "it is being canceled: the disk is replaced", s.job(1).Error)
	s.end(1, FailureCanceled)
	assert.Equal(t, "the disk is replaced", s.job(1).Error)
}

// An operator who wants the jobs stopped that drain after the closing need not
// wait for drain_grace.
func TestJobsThatDrainAreStoppedByAnotherOnWindowEnd(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{OnWindowEnd: jobtype.WindowEndDrain}.WithDefaults()
	s := &script{t: t, now: epoch}
	s.g = New(Config{JobType: "jt", Handler: "h", Policy: policy, Window: &Window{Closes: epoch.Add(time.Minute)}}, s.now)
	s.step(WorkersChanged{Workers: []Worker{node("a", 1)}})
	s.detected(jobtype.Proposal{})
	s.wait(2 * time.Minute)
	require.Equal(t, StateRunning, s.job(1).State)
	policy.OnWindowEnd = jobtype.WindowEndCheckpoint
	decided := s.step(PolicySet{Policy: policy})
	require.Len(t, decided, 1)
	assert.Equal(t, CancelJob{Job: 1, Attempt: 1, Reason: s.g.reason}, decided[0])
}
