package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

// registered returns a worker of the registry. It needs a bubble of synctest.
func registered(t *testing.T) (*far, Worker) {
	t.Helper()
	t.Cleanup(func() { time.Sleep(time.Minute) }) // The bubble ends after the last query, for which no call may wait.
	f := &far{known: map[contract.Incarnation]contract.WorkerSettings{press.incarnation(): {Known: true}}, wait: map[int]time.Duration{}}
	return f, Worker{near(t, f), press}
}

// A query serves all calls of the pause before it, and each gets its own answer.
func TestAThousandPingsShareAQuery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		_, err := w.g.fleet.settings(t.Context(), press.incarnation())
		require.NoError(t, err)
		var all sync.WaitGroup
		begun := time.Now()
		for i := range 1000 {
			who := contract.Incarnation{ID: fmt.Sprint("w", i), Instance: "i"}
			f.known[who] = contract.WorkerSettings{Known: true, Held: i%2 == 0}
			all.Go(func() {
				got, err := w.g.fleet.settings(t.Context(), who)
				assert.NoError(t, err)
				assert.Equal(t, contract.WorkerSettings{Known: true, Held: i%2 == 0}, got, who.ID)
			})
		}
		all.Wait()
		require.Len(t, f.questions, 2)
		assert.Len(t, f.questions[1], 1000)
		assert.Equal(t, 250*time.Millisecond, time.Since(begun))
	})
}

// A ping gets an answer that was requested after it began; polls trust one for five seconds.
func TestHowOldAnAnswerMayBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		who := press.incarnation()
		held := func(ask func(context.Context, contract.Incarnation) (contract.WorkerSettings, error)) bool {
			got, err := ask(t.Context(), who)
			require.NoError(t, err)
			return got.Held
		}
		assert.False(t, held(w.g.fleet.settings))
		f.known[who] = contract.WorkerSettings{Known: true, Held: true}
		assert.False(t, held(w.g.fleet.recent))
		time.Sleep(5*time.Second - 1)
		assert.False(t, held(w.g.fleet.recent))
		require.Len(t, f.questions, 1)
		time.Sleep(time.Nanosecond)
		assert.True(t, held(w.g.fleet.recent))
		f.known[who] = contract.WorkerSettings{Known: true}
		assert.False(t, held(w.g.fleet.settings))
		delete(f.known, who)
		got, err := w.g.fleet.settings(t.Context(), who)
		require.NoError(t, err)
		assert.False(t, got.Known)
		assert.NotContains(t, w.g.fleet.last, who, "a poll must not trust an earlier answer")
	})
}

// While the registry is silent, its last answers hold, and only the first call waits for it.
func TestASilentRegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		who, stranger := press.incarnation(), contract.Incarnation{ID: "stranger", Instance: "i"}
		ask := func(who contract.Incarnation) (contract.WorkerSettings, time.Duration, error) {
			begun := time.Now()
			got, err := w.g.fleet.settings(t.Context(), who)
			return got, time.Since(begun), err
		}
		_, _, err := ask(who)
		require.NoError(t, err)
		// It answers late, and then not at all.
		f.wait[2], f.faults.registry = 7*time.Second, errors.New("silent")
		got, took, err := ask(who)
		require.NoError(t, err)
		assert.True(t, got.Known)
		assert.Equal(t, time.Second, took)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for range 3 {
			got, took, err = ask(who)
			require.NoError(t, err)
			assert.True(t, got.Known)
			assert.Zero(t, took, "the registry is known to be silent")
		}
		_, _, err = ask(stranger)
		require.ErrorIs(t, err, context.DeadlineExceeded, "nothing is known about a stranger")
		// The next query has an answer without a caller.
		f.mu.Lock()
		f.faults.registry, f.known[who] = nil, contract.WorkerSettings{Known: true, Held: true}
		f.mu.Unlock()
		_, _, err = ask(who)
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		got, _, err = ask(who)
		require.NoError(t, err)
		assert.True(t, got.Held)
	})
}

// The query outlives the call that began it, since others wait for it.
func TestACallThatEndsDisturbsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		_, err := w.g.fleet.settings(t.Context(), press.incarnation())
		require.NoError(t, err)
		f.wait[2], f.known[press.incarnation()] = 500*time.Millisecond, contract.WorkerSettings{Known: true, Held: true}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			_, err := w.g.fleet.settings(ctx, press.incarnation())
			assert.ErrorIs(t, err, context.Canceled)
		})
		synctest.Wait()
		all.Go(func() {
			got, err := w.g.fleet.settings(t.Context(), press.incarnation())
			assert.NoError(t, err)
			assert.True(t, got.Held, "the new answer")
		})
		synctest.Wait()
		cancel()
		all.Wait()
		assert.Len(t, f.questions, 2)
	})
}

// An earlier question whose answer arrives last is out of date: an operator has held the worker meanwhile.
func TestALateAnswerDoesNotReplaceANewerOne(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]error{"an answer": nil, "a failure": errors.New("silent")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, w := registered(t)
				who := press.incarnation()
				f.wait[1], f.faults.registry = 4*time.Second, fault
				_, err := w.g.fleet.settings(t.Context(), who)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				f.mu.Lock()
				f.faults.registry, f.known[who] = nil, contract.WorkerSettings{Known: true, Held: true}
				f.mu.Unlock()
				got, err := w.g.fleet.settings(t.Context(), who)
				require.NoError(t, err)
				require.True(t, got.Held)
				time.Sleep(3500 * time.Millisecond)
				synctest.Wait()
				got, err = w.g.fleet.recent(t.Context(), who)
				require.NoError(t, err)
				assert.True(t, got.Held)
				assert.False(t, w.g.fleet.silent, "the newest question had an answer")
			})
		})
	}
}

// A later query that failed has no answer that the late one could replace.
func TestALateAnswerCountsAfterAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		who := press.incarnation()
		f.wait[1] = 4 * time.Second
		_, err := w.g.fleet.settings(t.Context(), who)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		f.mu.Lock()
		f.faults.registry = errors.New("silent")
		f.mu.Unlock()
		_, err = w.g.fleet.settings(t.Context(), who)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		got, err := w.g.fleet.settings(t.Context(), who)
		require.NoError(t, err)
		assert.True(t, got.Known)
	})
}
