package weed_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lock is a master's lock of one name.
type lock struct {
	mu      sync.Mutex
	token   int64 // of the holder, 0 for none
	next    int64
	foreign bool
	down    bool
	master  string
	leases  int
}

var errLocked = errors.New("already locked by operator")

func (l *lock) Lease(_ context.Context, token, _ int64) (newToken, newSince int64, master string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.down:
		return 0, 0, "", errors.New("no master")
	case l.foreign || l.token != 0 && l.token != token:
		return 0, 0, l.master, errLocked
	}
	l.next++
	l.leases++
	l.token = l.next
	return l.token, 1, l.master, nil
}

func (l *lock) Release(_ context.Context, token, _ int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == token {
		l.token = 0
	}
	return nil
}

func (l *lock) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *lock) free() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token == 0
}

func quick() weed.KeeperOptions {
	const ms = time.Millisecond
	return weed.KeeperOptions{Renew: 20 * ms, Valid: 150 * ms, Retry: 5 * ms, Slice: 60 * ms, Yield: 30 * ms, Drain: 20 * ms, MaxHold: 400 * ms, Linger: 5 * ms}
}

// steady is quick, except that a busy machine loses no lease.
func steady() weed.KeeperOptions {
	options := quick()
	options.Valid = time.Minute
	return options
}

func ended(t *testing.T, k *weed.Keeper) {
	t.Helper()
	require.Eventually(t, func() bool { return !k.Running() }, time.Minute, time.Millisecond)
}

func TestHoldsShareOneLeaseAndItIsReleased(t *testing.T) {
	t.Parallel()
	l := &lock{}
	k := weed.NewKeeperOf(l, weed.KeeperOptions{Linger: time.Millisecond})
	var holds []*weed.Hold
	for range 5 {
		hold, err := k.Enter(t.Context())
		require.NoError(t, err)
		_, err = hold.Check()
		require.NoError(t, err)
		holds = append(holds, hold)
	}
	l.set(func() { assert.Equal(t, 1, l.leases) })
	for _, hold := range holds {
		hold.Leave()
		_, err := hold.Check()
		require.ErrorIs(t, err, weed.ErrLeaseLost)
	}
	ended(t, k)
	assert.True(t, l.free())
}

func TestLateRenewalLosesTheLease(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*lock){
		"no master":     func(l *lock) { l.down = true },
		"another holds": func(l *lock) { l.foreign = true },
		"new master":    func(l *lock) { l.master = "b"; l.token = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &lock{master: "a"}
			k := weed.NewKeeperOf(l, quick())
			hold, err := k.Enter(t.Context())
			require.NoError(t, err)
			ctx, cancel := hold.Context(t.Context())
			defer cancel()
			l.set(func() { spoil(l) })
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), weed.ErrLeaseLost)
			_, err = hold.Check()
			require.ErrorIs(t, err, weed.ErrLeaseLost)
			hold.Leave()
			ended(t, k)
		})
	}
}

// TestCheckNeedsNoTimer: a suspended process notices the loss at the next check, whether or not its timers
// fired.
func TestCheckNeedsNoTimer(t *testing.T) {
	t.Parallel()
	l := &lock{}
	options := quick()
	options.Renew, options.Valid = time.Hour, 30*time.Millisecond
	k := weed.NewKeeperOf(l, options)
	hold, err := k.Enter(t.Context())
	require.NoError(t, err)
	deadline, err := hold.Check()
	require.NoError(t, err)
	require.Eventually(t, func() bool { return time.Now().After(deadline) }, time.Minute, time.Millisecond)
	_, err = hold.Check()
	require.ErrorIs(t, err, weed.ErrLeaseLost)
	hold.Leave()
	ended(t, k)
}

func TestLeaseIsGivenBackWhereNothingIsHalfDone(t *testing.T) {
	t.Parallel()
	l := &lock{}
	k := weed.NewKeeperOf(l, steady())
	long, err := k.Enter(t.Context())
	require.NoError(t, err)
	short, err := k.Enter(t.Context())
	require.NoError(t, err)
	_, err = long.Check()
	require.NoError(t, err)
	paused := make(chan bool)
	go func() {
		for {
			handed, err := short.Pause(t.Context())
			if err != nil || handed {
				paused <- handed
				return
			}
		}
	}()
	// The long hold delays the release while it works.
	for range 20 {
		_, err := long.Check()
		require.NoError(t, err)
		require.False(t, l.free())
	}
	long.Leave()
	assert.True(t, <-paused, "it was given back and taken again")
	short.Leave()
	ended(t, k)
}

func TestWithoutWaitsForTheWorkAndKeepsOthersOut(t *testing.T) {
	t.Parallel()
	l := &lock{}
	k := weed.NewKeeperOf(l, steady())
	hold, err := k.Enter(t.Context())
	require.NoError(t, err)
	begun, end := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- k.Without(t.Context(), func() error { close(begun); <-end; return nil })
	}()
	select {
	case <-begun:
		t.Fatal("it runs next to work that holds the lease")
	default:
	}
	hold.Leave()
	<-begun
	assert.True(t, l.free())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = k.Enter(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(end)
	require.NoError(t, <-done)
	again, err := k.Enter(t.Context())
	require.NoError(t, err)
	again.Leave()
	ended(t, k)
}

// slowRelease lets a test act while the lease is being released.
type slowRelease struct {
	*lock
	begun, end chan struct{}
}

func (l slowRelease) Release(ctx context.Context, token, since int64) error {
	l.begun <- struct{}{}
	<-l.end
	return l.lock.Release(ctx, token, since)
}

func TestWorkThatFindsTheLeaseJustReleasedDoesNotWaitForOthers(t *testing.T) {
	t.Parallel()
	l := slowRelease{&lock{}, make(chan struct{}, 1), make(chan struct{})}
	k := weed.NewKeeperOf(l, weed.KeeperOptions{Linger: time.Millisecond, Yield: time.Hour})
	hold, err := k.Enter(t.Context())
	require.NoError(t, err)
	hold.Leave()
	<-l.begun
	entered := make(chan *weed.Hold)
	go func() {
		second, err := k.Enter(t.Context())
		assert.NoError(t, err)
		entered <- second
	}()
	require.Eventually(t, func() bool { return k.Waiting() == 1 }, time.Minute, time.Millisecond)
	close(l.end)
	select {
	case second := <-entered:
		second.Leave()
	case <-time.After(2 * time.Minute):
		t.Fatal("it yields although nobody was kept waiting")
	}
	ended(t, k)
}

// TestCloseReleasesTheLeaseAtOnce: a process that ends does not leave the lease to the master's 10 s, with any
// Linger, and accepts no holds.
func TestCloseReleasesTheLeaseAtOnce(t *testing.T) {
	t.Parallel()
	l := &lock{}
	k := weed.NewKeeperOf(l, weed.KeeperOptions{Linger: time.Hour})
	hold, err := k.Enter(t.Context())
	require.NoError(t, err)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, k.Close(canceled), context.Canceled, "a job still works")
	require.False(t, l.free())
	_, err = hold.Check()
	require.NoError(t, err, "it may end its step")
	_, err = k.Enter(t.Context())
	require.Error(t, err)
	hold.Leave()
	require.NoError(t, k.Close(t.Context()))
	assert.True(t, l.free())
	assert.False(t, k.Running())
}

// TestCloseTurnsAwayThoseThatWait: another client never releases the lease.
func TestCloseTurnsAwayThoseThatWait(t *testing.T) {
	t.Parallel()
	k := weed.NewKeeperOf(&lock{foreign: true}, weed.KeeperOptions{Retry: time.Hour})
	refused := make(chan error)
	go func() {
		_, err := k.Enter(t.Context())
		refused <- err
	}()
	require.Eventually(t, func() bool { return k.Waiting() == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, k.Close(t.Context()))
	require.ErrorContains(t, <-refused, "this process ends")
}
