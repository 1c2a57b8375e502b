package run

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func reloaded(t *testing.T, cfg Config, e *Engine, now time.Time) *Engine {
	t.Helper()
	var s Snapshot
	require.NoError(t, json.Unmarshal(state(t, e), &s))
	restored, err := Restore(cfg, s, now)
	require.NoError(t, err)
	return restored
}

func TestTheSmallestOrderStartsFirst(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1))
	got := starts(s.offer(Item{ID: 1, Order: 3}, Item{ID: 2, Order: 2}, Item{ID: 3, Order: 0}, Item{ID: 4, Order: 2}, Item{ID: 5, Order: 1}))
	for _, id := range []int{3, 5, 2, 4} {
		got += " " + starts(s.end(id, ""))
	}
	assert.Equal(t, "3@a 5@a 2@a 4@a 1@a", got)
}

func TestItemsSpreadOverFreeSlotsAndTiesRotate(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{PerWorkerExecutionConcurrency: 10}, node("a", 2), node("b", 4), node("c", 2))
	assert.Equal(t, "1@b 2@b 3@a 4@c 5@b 6@a 7@c 8@b", starts(s.plain(8)))
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Limit: 3}, jobtype.Policy{PerWorkerExecutionConcurrency: 2}, node("a", 8), node("b", 1))
	assert.Equal(t, "1@a 2@b 3@a", starts(s.plain(5)))
	assert.Equal(t, contract.CodeGlobalLimit, s.e.WaitOf(4, s.now).Code)
	s.e.SetLimit(10)
	assert.Empty(t, starts(s.take()))
	assert.Equal(t, contract.CodeWorkerLimit, s.e.WaitOf(4, s.now).Code)
	assert.Equal(t, "4@a", starts(s.end(3, "")))
}

func TestNotBeforeAndExpiresAt(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1))
	assert.Equal(t, "1@a", starts(s.offer(Item{ID: 1}, Item{ID: 2, NotBefore: epoch.Add(time.Minute)}, Item{ID: 3, ExpiresAt: epoch.Add(30 * time.Second)}, Item{ID: 4, ExpiresAt: epoch})))
	assert.Equal(t, contract.CodeNotBefore, s.e.WaitOf(2, s.now).Code)
	assert.Empty(t, starts(s.wait(31*time.Second)))
	assert.Equal(t, "4 expired "+explain.TextExpired+"; 3 expired "+explain.TextExpired, s.ended())
	assert.Empty(t, starts(s.end(1, "")), "too early for the second")
	assert.Equal(t, "2@a", starts(s.wait(30*time.Second)))
}

func TestAnItemThatRanDoesNotExpire(t *testing.T) {
	t.Parallel()
	for failure, expires := range map[Failure]bool{
		contract.FailureFailed: false, contract.FailureWorkerLost: false, contract.FailureDraining: true, contract.FailureAtCapacity: true, contract.FailureUnsupported: true,
	} {
		s := play(t, Config{}, jobtype.Policy{RetryLimit: 1, RetryBackoff: seconds(40), OnWorkerLoss: jobtype.WorkerLossReplace}, node("a", 1))
		s.offer(Item{ID: 1, ExpiresAt: epoch.Add(30 * time.Second)})
		s.end(1, failure)
		s.step(WorkersChanged{Workers: []contract.WorkerView{offline("a", false)}})
		s.wait(35 * time.Second)
		assert.Equal(t, expires, strings.Contains(s.ended(), "expired"), failure)
	}
}

func TestRetriesGoElsewhereAfterTheBackOff(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{RetryLimit: 1, RetryBackoff: seconds(7)}, node("a", 4), node("b", 1))
	require.Equal(t, "1@a", starts(s.plain(1)))
	assert.Empty(t, starts(s.end(1, contract.FailureFailed)))
	assert.Equal(t, contract.CodeBackoff, s.e.WaitOf(1, s.now).Code)
	assert.Empty(t, starts(s.wait(6*time.Second)))
	assert.Equal(t, "1@b", starts(s.wait(time.Second)), "although a has more free slots")
	s.end(1, contract.FailureFailed)
	assert.Equal(t, "1 failed because failed", s.ended())
}

func TestBackOffDoublesUpToItsBound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		retry Retry
		waits []int
	}{
		{Retry{Limit: 3, Backoff: 2 * time.Second, MaxBackoff: 7 * time.Second}, []int{2, 4, 7}},
		{Retry{Limit: 3, Backoff: 2 * time.Second}, []int{2, 2, 2}},
	} {
		s := play(t, Config{}, jobtype.Policy{RetryLimit: 0}, node("a", 1))
		s.offer(Item{ID: 1, Retry: &c.retry})
		for _, wait := range c.waits {
			s.end(1, contract.FailureFailed)
			assert.Empty(t, starts(s.wait(seconds(wait).Std()-time.Millisecond)))
			assert.Equal(t, "1@a", starts(s.wait(time.Millisecond)))
		}
		s.end(1, contract.FailureFailed)
		assert.Equal(t, "1 failed because failed", s.ended())
	}
}

// The effect of each kind of failure on an item with one retry left.
func TestWhatEachFailureMeans(t *testing.T) {
	t.Parallel()
	for failure, want := range map[Failure]struct{ ended, restarts string }{
		contract.FailureNone:        {ended: "1 completed"},
		contract.FailureFailed:      {restarts: "1@b"},
		contract.FailureTimeout:     {restarts: "1@b"},
		contract.FailureStale:       {restarts: "1@b"},
		"of a later version":        {restarts: "1@b"},
		contract.FailurePermanent:   {ended: "1 failed because permanent"},
		contract.FailureCanceled:    {ended: "1 canceled because canceled"},
		contract.FailureAtCapacity:  {restarts: "1@b"},
		contract.FailureDraining:    {restarts: "1@b"},
		contract.FailureUnsupported: {restarts: "1@b"},
		contract.FailureNotTaken:    {restarts: "1@b"},
		contract.FailureWorkerLost:  {restarts: "1@b"},
		contract.FailureCannotStart: {restarts: "1@b"},
	} {
		s := play(t, Config{}, jobtype.Policy{RetryLimit: 1}, node("a", 2), node("b", 1))
		require.Equal(t, "1@a", starts(s.plain(1)))
		got := starts(s.end(1, failure)) + starts(s.wait(10*time.Second))
		assert.Equal(t, want.restarts, got, failure)
		assert.Equal(t, want.ended, s.ended(), failure)
	}
}

// Failures that cost no retry may happen any number of times.
func TestWhatCostsNoRetry(t *testing.T) {
	t.Parallel()
	for _, failure := range []Failure{contract.FailureAtCapacity, contract.FailureDraining, contract.FailureNotTaken, contract.FailureCannotStart} {
		s := play(t, Config{}, jobtype.Policy{}, node("a", 1), node("b", 1))
		s.plain(1)
		for range 20 {
			s.end(1, failure)
			for s.e.items[1].Phase != PhaseRunning {
				for _, id := range []string{"a", "b"} {
					s.step(WorkerProbed{ID: id, Instance: "i1", Alive: true, BeatAt: s.now})
				}
				s.wait(time.Second)
			}
		}
		view, _ := s.e.View(1)
		assert.Zero(t, view.Retries)
		_, replaced := s.e.Again()
		assert.Equal(t, 20, replaced)
	}
}

func TestStaleIsToldApart(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1))
	s.plain(1)
	s.end(1, contract.FailureStale)
	assert.Equal(t, "1 stale because stale", s.ended())
}

func TestUnsupportedWorkerIsLeftOut(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1), node("b", 1))
	s.plain(3)
	assert.Empty(t, starts(s.end(1, contract.FailureUnsupported)))
	assert.Equal(t, "1@b", starts(s.end(2, "")))
	next := node("a", 1)
	next.Instance = "i2"
	assert.Equal(t, "3@a", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{next, node("b", 1)}})), "another process may have it")
}

func TestPinsAndLabels(t *testing.T) {
	t.Parallel()
	b := node("b", 1)
	b.Labels = map[string]string{"disk": "ssd"}
	s := play(t, Config{}, jobtype.Policy{ExecutionTimeout: seconds(60)}, node("a", 1), b, offline("c", false))
	got := s.offer(Item{ID: 1, Want: Want{Node: "c"}}, Item{ID: 2, Want: Want{Labels: map[string]string{"disk": "ssd"}}}, Item{ID: 3, Want: Want{Node: "zz"}}, Item{ID: 4, Want: Want{Labels: map[string]string{"disk": "tape"}}})
	assert.Equal(t, "2@b", starts(got))
	assert.Equal(t, "1 failed it is pinned to worker c, which is OFFLINE", s.ended())
	wait := s.e.WaitOf(3, s.now)
	assert.Equal(t, []any{contract.CodeNoWorker, "zz", epoch, epoch.Add(time.Minute)}, []any{wait.Code, wait.Object, wait.Since, wait.Until})
	s.wait(61 * time.Second)
	assert.Equal(t, "1 failed it is pinned to worker c, which is OFFLINE; "+
		"4 failed NO_WORKER: no online worker has label disk=tape (waited 1 min); 3 failed NO_WORKER: worker zz is not registered (waited 1 min)", s.ended())
}

func TestAnItemThatJoinsOthersWithoutAWorkerGivesUpInItsOwnTime(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{ExecutionTimeout: seconds(600)})
	s.plain(1)
	s.wait(time.Minute)
	s.offer(Item{ID: 2, Timeout: 2 * time.Minute}, Item{ID: 3, Timeout: time.Hour})
	s.wait(2*time.Minute - time.Millisecond)
	assert.Empty(t, s.ended())
	s.wait(time.Millisecond)
	assert.Equal(t, "2 failed NO_WORKER: no online worker has handler h (waited 2 min)", s.ended())
	s.reload()
	s.wait(8 * time.Minute)
	assert.Contains(t, s.ended(), "; 1 failed NO_WORKER: no online worker has handler h (waited 10 min)")
	s.e.SetWork(s.now, "", s.e.work[""])
	assert.Equal(t, "3@a", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 1)}})))
}

// A worker that appears at the last moment serves the item.
func TestAWorkerAtTheLastMoment(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{ExecutionTimeout: seconds(60)})
	s.plain(1)
	s.now = s.now.Add(2 * time.Minute)
	assert.Equal(t, "1@a", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 1)}})))
}

func TestAShorterTimeoutHoldsForWhatWaitsForAWorker(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{ExecutionTimeout: seconds(600)})
	s.plain(1)
	work := s.e.work[""]
	work.Policy.ExecutionTimeout = seconds(30)
	s.e.SetWork(s.now, "", work)
	s.wait(30 * time.Second)
	assert.Equal(t, "1 failed NO_WORKER: no online worker has handler h (waited 30 s)", s.ended())
}

func TestWhilePausedNothingWaitsForAWorker(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{ExecutionTimeout: seconds(60)})
	s.plain(1)
	s.wait(30 * time.Second)
	s.e.Pause(s.now, "ann", "")
	s.wait(time.Hour)
	s.e.Resume()
	s.take()
	assert.Equal(t, s.now, s.e.WaitOf(1, s.now).Since)
	s.wait(59 * time.Second)
	assert.Empty(t, s.ended())
	s.wait(time.Second)
	assert.Equal(t, "1 failed NO_WORKER: no online worker has handler h (waited 1 min)", s.ended())
}

func TestTheSharedQueue(t *testing.T) {
	t.Parallel()
	pulls := node("a", 1)
	pulls.Shared = []string{"jt"}
	s := play(t, Config{Limit: 3}, jobtype.Policy{Routing: jobtype.RoutingShared}, pulls, node("b", 1))
	got := s.offer(Item{ID: 1}, Item{ID: 2}, Item{ID: 3, Want: Want{Node: "b"}}, Item{ID: 4})
	assert.Equal(t, "1@ 2@ 3@b", starts(got), "what is pinned does not go there")
	assert.Equal(t, []bool{true, true, false}, []bool{got[1].Shared, got[2].Shared, got[3].Shared}, "after the watch")
	s.step(WorkersChanged{Workers: []contract.WorkerView{node("b", 1)}})
	assert.Empty(t, starts(s.end(1, "")), "nobody pulls")
	assert.Equal(t, contract.CodeNoWorker, s.e.WaitOf(4, s.now).Code)
	assert.Equal(t, "4@", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{pulls}})))
}

// A worker whose id looks like a word of the engine is a normal worker.
func TestAWorkerCalledNowhere(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("nowhere", 1))
	assert.Equal(t, "1@ 2@nowhere", starts(s.offer(Item{ID: 1, Want: Want{Nowhere: true}}, Item{ID: 2, Want: Want{Node: "nowhere"}}, Item{ID: 3, Want: Want{Node: "nowhere"}})))
}

func TestABusyIDIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{})
	s.offer(Item{ID: 1, Want: Want{Nowhere: true}})
	for range idTries {
		assert.Empty(t, starts(s.end(1, contract.FailureNotTaken)))
		assert.Equal(t, "1@", starts(s.wait(idPause)))
	}
	s.end(1, contract.FailureNotTaken)
	assert.Equal(t, "1 failed because not_taken: cancel it, or wait for its end, and retry (it was waited for 2 min)", s.ended())
}
