package run

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/rollover"
	"github.com/roundsman/roundsman/jobtype"
)

func takes(id int, d time.Duration) Item { return Item{ID: id, Estimate: d} }

// closing plays a run whose window closes after a while.
func closing(t *testing.T, policy jobtype.Policy, after time.Duration, slots int) *script {
	t.Helper()
	policy.PerWorkerExecutionConcurrency = 10
	s := play(t, Config{}, policy, node("a", slots))
	s.e.SetClosing(s.now, Closing{At: epoch.Add(after)})
	return s
}

func TestWhatDoesNotFitIsPassedOver(t *testing.T) {
	t.Parallel()
	s := closing(t, jobtype.Policy{}, time.Hour, 1)
	assert.Equal(t, "2@a", starts(s.offer(takes(1, 2*time.Hour), takes(2, 30*time.Minute), takes(3, 20*time.Minute))))
	wait := s.e.WaitOf(1, s.now)
	assert.Equal(t, []any{contract.CodeWindowFit, epoch.Add(time.Hour)}, []any{wait.Code, wait.Until})
	assert.Equal(t, 1, s.e.Late())
	s.wait(41 * time.Minute)
	assert.Equal(t, 2, s.e.Late(), "it fits no more, and nobody had to look for a worker to know")
	s.e.SetClosing(s.now, Closing{At: s.now.Add(3 * time.Hour)})
	s.take()
	assert.Zero(t, s.e.Late())
	assert.Equal(t, "1@a", starts(s.end(2, "")), "a longer window brings it back")
	s.e.Stop(s.now, NotStarted, "the window has closed")
	s.take()
	assert.Equal(t, "2 completed; 3 not started the window has closed", s.ended())
}

func TestALearnedRunTimeStandsInForAnEstimate(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{PerWorkerExecutionConcurrency: 10}, node("a", 4))
	s.e.SetClosing(s.now, Closing{At: epoch.Add(10 * time.Minute), Learned: 12 * time.Minute})
	assert.Equal(t, "2@a", starts(s.offer(takes(1, 0), takes(2, time.Minute))))
	s.e.SetClosing(s.now, Closing{At: epoch.Add(10 * time.Minute), Learned: 9 * time.Minute})
	assert.Equal(t, "1@a", starts(s.take()))
}

// No wait for a worker, a retry or a time lets an item start after the closing.
func TestTheClosingHoldsForWhatWaits(t *testing.T) {
	t.Parallel()
	s := closing(t, jobtype.Policy{RetryLimit: 3, RetryBackoff: seconds(540)}, 10*time.Minute, 1)
	late := takes(3, 2*time.Minute)
	late.NotBefore = epoch.Add(9 * time.Minute)
	assert.Equal(t, "1@a", starts(s.offer(takes(1, 3*time.Minute), takes(2, 2*time.Minute), late)))
	assert.Equal(t, contract.CodeWindowFit, s.e.WaitOf(3, s.now).Code, "it is known from the beginning")
	s.wait(2 * time.Minute)
	assert.Equal(t, "2@a", starts(s.end(1, contract.FailureFailed)))
	assert.Equal(t, contract.CodeWindowFit, s.e.WaitOf(1, s.now).Code, "after its back-off it does not fit")
	s.end(2, contract.FailureWorkerLost)
	assert.Empty(t, starts(s.wait(7*time.Minute)))
	assert.Equal(t, 3, s.e.Late())
	s.reload()
	assert.Equal(t, 3, s.e.Late())
	assert.Equal(t, "1@a", starts(func() []Decision {
		s.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true})
		s.now = s.now.Add(time.Hour)
		s.e.SetClosing(s.now, Closing{})
		return s.take()
	}()))
}

// TestALateCheckpointMakesALostItemFit: after the item was abandoned, the worker reports its
// progress and its loss.
func TestALateCheckpointMakesALostItemFit(t *testing.T) {
	t.Parallel()
	s := closing(t, jobtype.Policy{WorkerLossLimit: 3}, time.Hour, 4)
	require.Equal(t, "1@a", starts(s.offer(takes(1, 40*time.Minute))))
	s.wait(30 * time.Minute)
	s.step(Ended{Item: 1, Attempt: 1, Ending: Ending{Failure: contract.FailureWorkerLost, Unreported: true}})
	s.wait(Grace)
	require.Equal(t, 1, s.e.Late())
	s.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true})
	s.step(Delivered{Item: 1, Attempt: 1, Fence: s.e.items[1].Sent, Ending: Ending{Failure: contract.FailureWorkerLost, Checkpoint: json.RawMessage(`1`), Done: 90}})
	assert.Zero(t, s.e.Late(), "four minutes are left of it")
}

// An item that continues from a checkpoint needs the rest of its time, if its handler reported
// progress; otherwise it may need all of it.
func TestWhatIsLeftOfAnItemHasToFit(t *testing.T) {
	t.Parallel()
	s := closing(t, jobtype.Policy{RetryLimit: 1, RetryBackoff: seconds(45 * 60)}, time.Hour, 4)
	rest := func(id int, done float64) Item {
		return Item{ID: id, Estimate: 2 * time.Hour, Checkpoint: json.RawMessage(`1`), Done: done}
	}
	assert.Equal(t, "1@a", starts(s.offer(rest(1, 75), rest(2, 40), rest(3, 0), takes(4, 2*time.Hour))))
	s.step(Ended{Item: 1, Attempt: 1, Ending: Ending{Failure: contract.FailureFailed, Checkpoint: json.RawMessage(`4`), Done: 90}})
	left, whole := s.e.Estimate(1)
	assert.Equal(t, []time.Duration{12 * time.Minute, 2 * time.Hour}, []time.Duration{left.Round(time.Second), whole})
	assert.Equal(t, "1@a", starts(s.wait(45*time.Minute)), "a quarter of an hour is enough now")
	assert.JSONEq(t, `4`, string(s.last[0].Checkpoint))
}

func TestTimersDoNotPileUp(t *testing.T) {
	t.Parallel()
	s := closing(t, jobtype.Policy{}, 24*time.Hour, 1)
	s.offer(Item{ID: 1, Retry: &Retry{Limit: 1 << 20}})
	for range 5 * minTimers {
		require.Equal(t, "1@a", starts(s.end(1, contract.FailureFailed)))
		s.now = s.now.Add(time.Millisecond)
	}
	assert.LessOrEqual(t, len(s.e.timers), 2*minTimers)
	s.reload()
	require.Equal(t, 1, s.e.InFlight())
}

func needy(id int) Item { return Item{ID: id, Needs: Needs{Pools: map[string]int{"db": 1}}} }

func TestResourcesAreHeldFromBeforeTheFirstAttemptToTheEnd(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Claims: true, Limit: 2}, jobtype.Policy{RetryLimit: 1, RetryBackoff: seconds(10), PerWorkerExecutionConcurrency: 9}, node("a", 4))
	got := s.offer(needy(1), needy(2), needy(3), Item{ID: 4})
	require.Equal(t, "watch acquire acquire start", kinds(got), "no more request resources than could start")
	assert.Equal(t, contract.CodeResources, s.e.WaitOf(1, s.now).Code)
	first, second := got[1].Ask, got[2].Ask
	assert.Equal(t, "1@a", starts(s.step(Granted{Item: 1, Ask: first, Fence: 50, Fences: 2})))
	assert.Empty(t, s.step(Granted{Item: 2, Ask: second, Fence: 60, Fences: 2}), "the limit is reached")
	s.step(Ended{Item: 1, Attempt: 1, Ending: Ending{Failure: contract.FailureFailed}})
	assert.Equal(t, "release start", kinds(s.last), "not during a back-off; the one that has its resources starts")
	assert.Empty(t, s.end(2, contract.FailureDraining))
	require.Contains(t, starts(s.wait(DrainCoolDown)), "2@a")
	assert.EqualValues(t, 61, s.last[0].Fence, "placed again without a retry it keeps them")
	assert.Equal(t, "release acquire", kinds(s.end(2, "")), "another requests them then")
	refused := s.last[1].Item
	s.step(Refused{Item: refused, Ask: s.last[1].Ask, Reason: "the pool is too small"})
	assert.Equal(t, fmt.Sprintf("2 completed; %d failed the pool is too small", refused), s.ended())
}

func TestAPauseGivesResourcesBack(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Claims: true}, jobtype.Policy{PerWorkerExecutionConcurrency: 9}, node("a", 1))
	got := s.offer(needy(1))
	s.step(Granted{Item: 1, Ask: got[1].Ask, Fence: 50, Fences: 9})
	s.e.Pause(s.now, "ann", "")
	require.Empty(t, kinds(s.take()), "what runs keeps them")
	require.Equal(t, "release", kinds(s.end(1, contract.FailureAtCapacity)), "what comes back does not")
	s.wait(time.Minute)
	s.e.Resume()
	require.Equal(t, "acquire", kinds(s.take()))
	s.e.Suspend(s.now)
	assert.Equal(t, "release", kinds(s.take()))
	assert.Empty(t, s.step(Granted{Item: 1, Ask: 99, Fence: 70, Fences: 1}))
}

func TestRevokedResourcesEndTheItem(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Claims: true}, jobtype.Policy{}, node("a", 1))
	ask := s.offer(needy(1))[1].Ask
	s.step(Granted{Item: 1, Ask: ask, Fence: 50, Fences: 9})
	assert.Empty(t, s.step(Revoked{Item: 1, Ask: ask + 1, Reason: "of another request"}))
	assert.Equal(t, "cancel", kinds(s.step(Revoked{Item: 1, Ask: ask, Reason: "r"})))
	s.end(1, contract.FailureCanceled)
	assert.Equal(t, "1 canceled "+explain.TextRevoked+"r", s.ended())
}

func TestFencesRunOutAndAreRequestedAgain(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Claims: true, Fence: 10, Fences: 2}, jobtype.Policy{PerWorkerExecutionConcurrency: 9}, node("a", 9))
	got := s.plain(4)
	require.Equal(t, "watch start start fences", kinds(got))
	assert.Equal(t, []int64{10, 11}, []int64{got[1].Fence, got[2].Fence})
	assert.Equal(t, contract.CodeClaims, s.e.WaitOf(3, s.now).Code)
	assert.Empty(t, s.step(Tick{}), "once")
	got = s.step(FencesGranted{Fence: 20, Fences: 9})
	require.Equal(t, "start start", kinds(got))
	assert.EqualValues(t, 20, got[0].Fence)
}

// Before continue-as-new the run waits only for attempts that do not survive it.
func TestContinueAsNew(t *testing.T) {
	t.Parallel()
	s := play(t, Config{RollEvents: 100}, jobtype.Policy{PerWorkerExecutionConcurrency: 9}, node("a", 2))
	s.offer(Item{ID: 1}, Item{ID: 2}, Item{ID: 3}, Item{ID: 4, Want: Want{Nowhere: true, Idle: true}})
	s.e.Observe(s.now, 1, 0, 0)
	s.e.Observe(s.now, 99, 0, 0)
	assert.Equal(t, "3@a", starts(s.end(1, "")))
	s.e.Observe(s.now, 100, 0, 0)
	s.offer(Item{ID: 5})
	assert.Empty(t, starts(s.end(2, "")), "items are short, so the run drains")
	assert.False(t, s.e.ShouldContinueAsNew())
	s.now = s.now.Add(rollover.Drain + time.Second)
	s.e.Observe(s.now, 110, 0, 0)
	assert.Equal(t, "5@a", starts(s.step(Tick{})), "item 3 continues, so others start again")
	s.end(5, "")
	s.e.Observe(s.now, rollover.HardEvents, 0, 0)
	s.end(3, "")
	require.True(t, s.e.ShouldContinueAsNew(), "what is idle travels")
	s.reload()
	assert.Equal(t, 1, s.e.InFlight())
	assert.False(t, s.e.ShouldContinueAsNew())
	s.end(4, "")
	assert.Contains(t, s.ended(), "4 completed")
}

// The input of attempts counts before it is in the history.
func TestNothingStartsThatTheHistoryHasNoRoomFor(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Work: map[string]Work{"": {Handler: "h", Bytes: 1 << 20}}}, jobtype.Policy{}, node("a", 100))
	s.e.Observe(s.now, 100, 1<<20, 0)
	first := count(t, s.plain(100))
	assert.InDelta(t, 42, first, 3, "1 MiB each, and their ends")
	s.e.Observe(s.now, 200, 1<<20, first<<20)
	assert.Empty(t, starts(s.end(1, "")), "they wait to be ordered")
	s.e.Observe(s.now, 200, 12<<20, 0)
	assert.NotEmpty(t, starts(s.end(2, "")), "they were smaller than expected")
}
