package weed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/roundsman/roundsman/internal/seaweedfs/masterpb"
)

// ErrLeaseLost ends a hold whose lease was lost. No call may change anything any more.
var ErrLeaseLost = errors.New("the cluster's shell lease was lost")

// errClosed refuses a hold because the process ends.
var errClosed = errors.New("this process ends and takes no lease any more")

// lockName is the lock of `weed shell`.
const lockName = "shell"

// KeeperOptions are the times of a lease. The zero value suits a master's lease of 10 s.
type KeeperOptions struct {
	// Interval of renewals, and validity after a renewal: the master's 10 s less the delay of a call.
	Renew, Valid time.Duration
	// Retry is the wait between two attempts to get or to renew the lease.
	Retry time.Duration
	// After Slice the lease is released for Yield, longer than the second between two attempts of a shell.
	Slice, Yield time.Duration
	// Drain bounds the wait of new work for a release. After MaxHold new work waits without a bound.
	Drain, MaxHold time.Duration
	// Linger is how long the lease is kept for the next job of a batch.
	Linger time.Duration
}

// WithDefaults fills zero fields.
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

// Locker takes and releases the master's lock. Lease returns the address of the master.
type Locker interface {
	Lease(ctx context.Context, token, since int64) (newToken, newSince int64, master string, err error)
	Release(ctx context.Context, token, since int64) error
}

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

// Keeper keeps one lease for all jobs of a process that change a cluster. After every slice it releases the lease for
// a moment, for an operator's shell.
type Keeper struct {
	lock    Locker
	options KeeperOptions

	mu       sync.Mutex
	changed  chan struct{} // closed and made again with every change
	running  bool
	open     bool // work may enter
	active   int  // holds between Enter and Leave, without paused ones
	waiting  int
	epoch    *epoch
	blocked  string // why the lease is not there
	silent   time.Time
	withheld int
	closing  chan struct{} // closed by [Keeper.Close]
}

// epoch is one period of holding the lease.
type epoch struct {
	token, since int64
	master       string
	validUntil   time.Time
	began        time.Time
	ctx          context.Context //nolint:containedctx // it ends with the lease
	end          context.CancelCauseFunc
}

// NewKeeper keeps the shell lease of a cluster. Other clients see client as its holder.
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

// Blocked is the reason why a wanted lease is not held; zero: it is held, or not requested.
type Blocked struct {
	// Reason names the lease, and its holder or the silent masters.
	Reason string
	// Silent is the time without an answer of any master, 0 while one answers.
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

// block records why the lease was not granted or renewed. The caller holds the lock.
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

// Waiting is the number of jobs that wait for the lease.
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
		go k.run() //nolint:gosec,contextcheck // the lease outlives the job that requested it first
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

// Pause hands the lease to others if due. No change may be half done. handed means that everything must be read
// again. After an error the job has left.
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

// Check returns [ErrLeaseLost] unless the lease is held and its last renewal is recent. deadline bounds a call.
func (h *Hold) Check() (deadline time.Time, err error) {
	k := h.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.epoch == nil || h.epoch != k.epoch || h.epoch.ctx.Err() != nil || !time.Now().Before(h.epoch.validUntil) {
		return time.Time{}, ErrLeaseLost
	}
	return h.epoch.validUntil, nil
}

// Context returns a child of ctx that ends with the lease, with the cause [ErrLeaseLost].
func (h *Hold) Context(ctx context.Context) (child context.Context, cancel func()) {
	held, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.epoch.ctx, func() { end(ErrLeaseLost) })
	return held, func() { stop(); end(nil) }
}

// Without runs do while this process does not hold the lease. Other work waits until do has ended.
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

// Close refuses new holds and waits until the lease is released, or ctx ends.
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
