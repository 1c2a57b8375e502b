package run_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// deferBy ends the running attempt of an item with "not now".
func (s *stage) deferBy(item int, failure run.Failure, wait time.Duration) string {
	return s.endWith(item, run.Ending{Failure: failure, Message: "exit 75", Delay: wait, Duration: time.Second})
}

// TestADeferredItemGivesItsPlaceBack: the limit of both sources is 10. The first of eleven items
// is deferred more often than its retry limit.
func TestADeferredItemGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	bothSources(t, func(t *testing.T, start begin) {
		s := newStage(t, start, jobtype.Policy{RetryLimit: 0}, make([]work, 11), online("a", 50))
		require.Equal(t, "1@a 2@a 3@a 4@a 5@a 6@a 7@a 8@a 9@a 10@a", s.first)
		assert.Equal(t, "11@a", s.deferBy(1, contract.FailureDeferred, 5*time.Minute), "another item has the place")
		assert.Contains(t, s.waits(t), "DEFERRED ×1")
		assert.Empty(t, s.wait(4*time.Minute+59*time.Second))
		assert.Empty(t, s.wait(time.Minute), "its time has come, and there is no place")
		assert.Equal(t, "1@a", s.end(2, ""))
		for range 5 {
			assert.Empty(t, s.deferBy(1, contract.FailureGuard, time.Minute))
			assert.Contains(t, s.waits(t), "GUARD ×1")
			assert.Equal(t, "1@a", s.wait(time.Minute))
		}
		assert.Equal(t, 7, s.attempt[1])
		s.end(1, "")
		assert.Equal(t, "completed", s.how(1))
	})
}

// TestADeferredItemReleasesItsResources: another item gets the pool meanwhile.
func TestADeferredItemReleasesItsResources(t *testing.T) {
	t.Parallel()
	bothSources(t, func(t *testing.T, start begin) {
		s := newStage(t, start, jobtype.Policy{}, []work{{db: 1}}, online("a", 1))
		require.Equal(t, "1@a", s.grant(1))
		s.deferBy(1, contract.FailureDeferred, time.Minute)
		assert.Empty(t, s.holds)
		s.Engine().Observe(s.now, 20_000, 0, 0)
		require.True(t, s.ShouldContinueAsNew(), "the wait travels")
		s.roll(s.now)
		s.Engine().Observe(s.now, 3, 0, 0)
		s.step(run.WorkersChanged{Workers: []contract.WorkerView{online("a", 1)}})
		assert.Empty(t, s.wait(59*time.Second))
		assert.Empty(t, s.wait(time.Second))
		require.True(t, s.requests(1))
		assert.Equal(t, "1@a", s.grant(1))
		s.end(1, "")
		assert.Equal(t, "completed", s.how(1))
		assert.Empty(t, s.holds)
	})
}

// TestADeferredItemOfAPausedRun: it does not start before the end of the pause, and a cancel
// ends it.
func TestADeferredItemOfAPausedRun(t *testing.T) {
	t.Parallel()
	bothSources(t, func(t *testing.T, start begin) {
		s := newStage(t, start, jobtype.Policy{}, make([]work, 2), online("a", 2))
		s.deferBy(1, contract.FailureDeferred, time.Minute)
		s.deferBy(2, contract.FailureDeferred, time.Hour)
		s.does(s.pause(s.now))
		assert.Empty(t, s.wait(2*time.Minute))
		s.roll(s.now)
		s.Engine().Observe(s.now, 3, 0, 0)
		s.step(run.WorkersChanged{Workers: []contract.WorkerView{online("a", 2)}})
		assert.Equal(t, "1@a", s.does(s.resume(s.now)))
		s.does(s.cancel(s.now, 2))
		assert.Equal(t, "canceled", s.how(2))
		s.end(1, contract.FailureFailed)
		assert.Contains(t, s.how(1), "failed")
	})
}

// TestDeferralsAreBounded: a worker may report any time, and expires_at still applies.
func TestDeferralsAreBounded(t *testing.T) {
	t.Parallel()
	bothSources(t, func(t *testing.T, start begin) {
		s := newStage(t, start, jobtype.Policy{MaxRuntime: jobtype.Duration(48 * time.Hour)}, []work{{}, {}, {expiresAt: time.Minute}}, online("a", 3))
		s.deferBy(1, contract.FailureDeferred, -time.Hour)
		s.deferBy(2, contract.FailureDeferred, 1000*time.Hour)
		s.deferBy(3, contract.FailureGuard, 50*time.Second)
		assert.Equal(t, "1@a", s.wait(time.Second))
		assert.Equal(t, "3@a", s.wait(50*time.Second))
		s.deferBy(3, contract.FailureGuard, 50*time.Second)
		assert.Empty(t, s.wait(time.Minute))
		assert.Contains(t, s.how(3), "expires_at")
		assert.Equal(t, "2@a", s.wait(jobtype.MaxDeferral.Std()))
	})
}
