package workers

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
)

func TestGateIsExactUnderLoad(t *testing.T) {
	t.Parallel()
	g := newGate(5, map[string]int{"small": 2, "free": 0})
	var total, small, worst, worstSmall, entered atomic.Int64
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			key := []string{"small", "free", "unknown"}[i%3]
			leave, ok := g.enter(t.Context(), key, "tidy", time.Minute)
			if !assert.True(t, ok) {
				return
			}
			raise(&worst, total.Add(1))
			if key == "small" {
				raise(&worstSmall, small.Add(1))
			}
			entered.Add(1)
			if key == "small" {
				small.Add(-1)
			}
			total.Add(-1)
			leave()
		})
	}
	all.Wait()
	assert.EqualValues(t, 200, entered.Load())
	assert.LessOrEqual(t, worst.Load(), int64(5))
	assert.LessOrEqual(t, worstSmall.Load(), int64(2))
	assert.Zero(t, g.Used())
}

func raise(highest *atomic.Int64, value int64) {
	for seen := highest.Load(); value > seen && !highest.CompareAndSwap(seen, value); seen = highest.Load() {
	}
}

func TestGateRefusesAfterItsMaxWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, nil)
		leave, ok := g.enter(t.Context(), "a", "tidy", time.Second)
		require.True(t, ok)
		before := time.Now()
		_, ok = g.enter(t.Context(), "a", "tidy", time.Second)
		assert.False(t, ok)
		assert.Equal(t, time.Second, time.Since(before))

		passed := make(chan bool)
		go func() {
			leave, ok := g.enter(t.Context(), "a", "tidy", time.Second)
			if ok {
				leave()
			}
			passed <- ok
		}()
		synctest.Wait()
		leave()
		assert.True(t, <-passed, "a place that becomes free within the maxWait is taken")

		ctx, cancel := context.WithCancel(t.Context())
		leave, _ = g.enter(t.Context(), "a", "tidy", time.Second)
		cancel()
		_, ok = g.enter(ctx, "a", "tidy", time.Second)
		assert.False(t, ok)
		leave()
		assert.Zero(t, g.Used())
	})
}

func TestGateLetsOthersPassAFullHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2, map[string]int{"a": 1})
		leaveA, ok := g.enter(t.Context(), "a", "tidy", 0)
		require.True(t, ok)
		waiting := make(chan func())
		go func() {
			leave, _ := g.enter(t.Context(), "a", "tidy", time.Hour)
			waiting <- leave
		}()
		synctest.Wait()
		leaveB, ok := g.enter(t.Context(), "b", "tidy", 0)
		require.True(t, ok, "a waits for its own limit and must not hold up b")
		leaveB()
		leaveA()
		(<-waiting)()
		assert.Zero(t, g.Used())
	})
}

func TestGateResizes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, nil)
		_, ok := g.enter(t.Context(), "a", "tidy", 0)
		require.True(t, ok)
		passed := make(chan bool)
		go func() { _, ok := g.enter(t.Context(), "a", "tidy", time.Hour); passed <- ok }()
		synctest.Wait()
		g.Resize(2)
		assert.True(t, <-passed)
		g.Resize(1)
		_, ok = g.enter(t.Context(), "a", "tidy", time.Second)
		assert.False(t, ok, "a smaller cap holds for who comes next")
		assert.Equal(t, 2, g.Used())
	})
}

func TestGateModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 4).Draw(t, "total")
		caps := map[string]int{"a": rapid.IntRange(0, 3).Draw(t, "a"), "b": rapid.IntRange(0, 3).Draw(t, "b")}
		g := newGate(total, caps)
		inside := map[string][]func(){}
		t.Repeat(map[string]func(*rapid.T){
			"enter": func(t *rapid.T) {
				key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
				fits := len(inside["a"])+len(inside["b"]) < total && (caps[key] == 0 || len(inside[key]) < caps[key])
				leave, ok := g.enter(context.Background(), key, "tidy", 0) //nolint:usetesting // rapid.T has no context
				assert.Equal(t, fits, ok)
				if ok {
					inside[key] = append(inside[key], leave)
				}
			},
			"leave": func(t *rapid.T) {
				key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
				if len(inside[key]) == 0 {
					t.Skip("nobody is inside")
				}
				inside[key][0]()
				inside[key] = inside[key][1:]
			},
			"": func(t *rapid.T) { assert.Equal(t, len(inside["a"])+len(inside["b"]), g.Used()) },
		})
	})
}

// A task that waits for a slot when its worker is stopped does not begin.
func TestWhoWaitsWhenTheWorkerStopsGoesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stopping atomic.Bool
		g := &gates{
			worker: "node-a", execute: newGate(1, nil), stopping: stopping.Load, held: func(string) bool { return false },
			others: func(string, string) (all, ofHandler int) { return 0, 0 },
		}
		info := activity.Info{TaskQueue: contract.WorkerQueue("node-a", "i1")}
		args := []any{contract.ExecuteInput{Handler: "x"}}
		leave, err := g.pass(t.Context(), g.execute, "x", args, info)
		require.NoError(t, err)
		failed := make(chan error, 1)
		go func() {
			_, err := g.pass(t.Context(), g.execute, "x", args, info)
			failed <- err
		}()
		synctest.Wait()
		stopping.Store(true)
		leave()
		require.ErrorContains(t, <-failed, "worker node-a is being stopped")
		assert.Zero(t, g.execute.Used(), "it gave its slot back")
		_, err = g.pass(t.Context(), g.execute, "x", args, info)
		require.ErrorContains(t, err, "worker node-a is being stopped")
		assert.True(t, g.lately.within(time.Second, time.Now()))
		time.Sleep(time.Second)
		assert.False(t, g.lately.within(time.Second, time.Now()))
	})
}
