package weed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/roundsman/roundsman/internal/seaweedfs/masterpb"
)

// ErrLeaseLost ends a hold whose lease was not renewed in time, or that another
// client got: nothing may be changed any more.
var ErrLeaseLost = errors.New("the cluster's shell lease was lost")

// errClosed refuses a hold of a process that ends.
var errClosed = errors.New("this process ends and takes no lease any more")

// lockName is the lock of `weed shell`.
const lockName = "shell"

// KeeperOptions are the times of a lease. The zero value has those for a master's
// lease of 10 s.
type KeeperOptions struct {
	// Renew is how often the lease is renewed; Valid how long after the request of the
	// last renewal it counts, less than the master's 10 s by what a call may be late.
	Renew, Valid time.Duration
	// Retry is the wait between two attempts to get or to renew the lease.
	Retry time.Duration
	// Slice is how long the lease is held before it is given back for Yield, which is
	// longer than the second in which a waiting shell asks again.
	Slice, Yield time.Duration
	// Drain is how long new work waits for the work that holds the lease up, so that it
	// can be given back. MaxHold is when it waits without a bound.
	Drain, MaxHold time.Duration
	// Linger keeps the lease for the next job of a batch.
	Linger time.Duration
}

// WithDefaults fills what is zero.
func (o KeeperOptions) WithDefaults() KeeperOptions {
	set := func(value *time.Duration, standard time.Duration) {
		if *value == 0 {
			*value = standard
		}
	}
	set(&o.Renew, 3*time.Second)
	set(&o.Valid, 7*time.Second)
	set(&o.Retry, 500*time.Millisecond)
	set(&o.Slice, 3*time.Second)
	set(&o.Yield, 1200*time.Millisecond)
	set(&o.Drain, 1500*time.Millisecond)
	set(&o.MaxHold, time.Minute)
	set(&o.Linger, time.Second)
	return o
}

// Locker takes and releases the master's lock. Lease returns which master answered.
type Locker interface {
	Lease(ctx context.Context, token, since int64) (newToken, newSince int64, master string, err error)
	Release(ctx context.Context, token, since int64) error
}

// locker is the [Locker] of a cluster.
type locker struct {
	cluster *Cluster
	client  string
}

// Lease implements [Locker].
func (l locker) Lease(ctx context.Context, token, since int64) (newToken, newSince int64, master string, err error) {
	request := &masterpb.LeaseRequest{PreviousToken: token, PreviousLockTime: since, LockName: lockName, ClientName: l.client}
	master, err = l.cluster.onMaster(ctx, leaseTimeout, func(ctx context.Context, client masterpb.SeaweedClient) error {
		response, err := client.LeaseAdminToken(ctx, request)
		newToken, newSince = response.GetToken(), response.GetLockTsNs()
		return err
	})
	return newToken, newSince, master, err
}

// Release implements [Locker].
func (l locker) Release(ctx context.Context, token, since int64) error {
	_, err := l.cluster.onMaster(ctx, leaseTimeout, func(ctx context.Context, client masterpb.SeaweedClient) error {
		_, err := client.ReleaseAdminToken(ctx, &masterpb.ReleaseRequest{PreviousToken: token, PreviousLockTime: since, LockName: lockName})
		return err
	})
	return err
}

// Keeper keeps one lease for all jobs of a process that change a cluster. It takes
// the lease when the first of them enters, renews it, gives it back for a moment
// after every slice, so that an operator's shell gets its turn, and releases it after
// the last of them has left.
type Keeper struct {
	lock    Locker
	options KeeperOptions

	mu      sync.Mutex
	changed chan struct{} // closed and made again with every change
	running bool
	open    bool // work may enter
	active  int  // holds between Enter and Leave, without those that pause
	waiting int
	epoch   *epoch
	blocked string // why the lease is not there
	// silent is since when no master has answered; zero while one does.
	silent time.Time
	// withheld counts those that want the lease not to be held.
	withheld int
	closing  chan struct{} // closed by [Keeper.Close]
}

// epoch is one time of holding the lease.
type epoch struct {
	token, since int64
	master       string
	validUntil   time.Time
	began        time.Time
	ctx          context.Context //nolint:containedctx // it is what ends with the lease
	end          context.CancelCauseFunc
}

// NewKeeper keeps the shell lease of a cluster; client is the name that others see.
func NewKeeper(cluster *Cluster, client string, options KeeperOptions) *Keeper {
	return NewKeeperOf(locker{cluster, client}, options)
}

// NewKeeperOf keeps the lease of any lock.
func NewKeeperOf(lock Locker, options KeeperOptions) *Keeper {
	return &Keeper{lock: lock, options: options.WithDefaults(), changed: make(chan struct{}), closing: make(chan struct{})}
}

// Hold is one job's part in the lease.
type Hold struct {
	keeper *Keeper
	epoch  *epoch
}

// Blocked is why a lease is not held although it is wanted. The zero value means that it
// is held, or was not asked for yet.
type Blocked struct {
	// Reason names the lease, and its holder or the masters that do not answer.
	Reason string
	// Silent is for how long no master has answered; 0 while one does.
	Silent time.Duration
}

// Blocked returns why the lease is not held.
func (k *Keeper) Blocked() Blocked {
	k.mu.Lock()
	defer k.mu.Unlock()
	made := Blocked{Reason: k.blocked}
	if !k.silent.IsZero() {
		made.Silent = time.Since(k.silent)
	}
	return made
}

// block records why the lease could not be had, or renewed; the caller holds the lock.
func (k *Keeper) block(err error) {
	k.blocked = fmt.Sprintf("lease %q: %s", lockName, Reason(err))
	switch {
	case IsLocked(err):
		k.silent = time.Time{}
	case k.silent.IsZero():
		k.silent = time.Now()
	}
}

func (k *Keeper) unblock() { k.blocked, k.silent = "", time.Time{} }

// Running reports whether the lease is held or wanted.
func (k *Keeper) Running() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.running
}

// Waiting is how many jobs wait for the lease.
func (k *Keeper) Waiting() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.waiting
}

// Enter waits until the lease is held, or ctx ends. [Hold.Leave] must follow.
func (k *Keeper) Enter(ctx context.Context) (*Hold, error) {
	hold := &Hold{keeper: k}
	k.mu.Lock()
	defer k.mu.Unlock()
	return hold, hold.join(ctx)
}

// join waits for the lease; the caller holds the lock.
func (h *Hold) join(ctx context.Context) error {
	k := h.keeper
	if k.closed() {
		return errClosed
	}
	k.waiting++
	defer func() {
		k.waiting--
		k.broadcast()
	}()
	if !k.running {
		k.running = true
		go k.run() //nolint:gosec,contextcheck // the lease outlives the job that wanted it first
	}
	k.broadcast()
	for !k.open || k.epoch == nil {
		if err := k.wait(ctx, nil); err != nil {
			return err
		}
		if k.closed() {
			return errClosed
		}
	}
	k.active++
	h.epoch = k.epoch
	return nil
}

// Leave ends the job's part.
func (h *Hold) Leave() {
	h.keeper.mu.Lock()
	defer h.keeper.mu.Unlock()
	if h.epoch != nil {
		h.keeper.active--
		h.epoch = nil
		h.keeper.broadcast()
	}
}

// Pause lets others have the lease, if their turn has come: it is called where
// nothing on the cluster is half done. handed is true if the lease was given back
// meanwhile, so that everything must be looked at again. After an error the job has
// left.
func (h *Hold) Pause(ctx context.Context) (handed bool, err error) {
	k := h.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open || h.epoch != k.epoch {
		return false, nil
	}
	before := h.epoch
	h.epoch = nil
	k.active--
	k.broadcast()
	if err := h.join(ctx); err != nil {
		return false, err
	}
	return h.epoch != before, nil
}

// Check returns [ErrLeaseLost] unless the lease is held and its last renewal is
// recent, and until when a call may take.
func (h *Hold) Check() (deadline time.Time, err error) {
	k := h.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.epoch == nil || h.epoch != k.epoch || h.epoch.ctx.Err() != nil || !time.Now().Before(h.epoch.validUntil) {
		return time.Time{}, ErrLeaseLost
	}
	return h.epoch.validUntil, nil
}

// Context returns a child of ctx that ends with the lease, with the cause
// [ErrLeaseLost].
func (h *Hold) Context(ctx context.Context) (child context.Context, cancel func()) {
	held, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.epoch.ctx, func() { end(ErrLeaseLost) })
	return held, func() { stop(); end(nil) }
}

// Without runs do while this process does not hold the lease: work that holds it ends
// its steps first, other work waits until do has ended.
func (k *Keeper) Without(ctx context.Context, do func() error) error {
	k.mu.Lock()
	k.withheld++
	k.broadcast()
	defer func() {
		k.mu.Lock()
		k.withheld--
		k.broadcast()
		k.mu.Unlock()
	}()
	for k.epoch != nil {
		if err := k.wait(ctx, nil); err != nil {
			k.mu.Unlock()
			return err
		}
	}
	k.mu.Unlock()
	return do()
}

// Close lets nobody in any more and waits until the holds have left and the lease is
// released, or ctx ends. It may be called again.
func (k *Keeper) Close(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed() {
		close(k.closing)
		k.broadcast()
	}
	for k.running {
		if err := k.wait(ctx, nil); err != nil {
			return fmt.Errorf("the lease %q is not released, it ends by itself within 10 s: %w", lockName, err)
		}
	}
	return nil
}

func (k *Keeper) closed() bool {
	select {
	case <-k.closing:
		return true
	default:
		return false
	}
}

func (k *Keeper) broadcast() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// wait waits for a change, a timer or the end of ctx, without the lock.
func (k *Keeper) wait(ctx context.Context, timer <-chan time.Time) error {
	changed := k.changed
	k.mu.Unlock()
	defer k.mu.Lock()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-changed:
	case <-timer:
	}
	return nil
}
