package weed

import (
	"context"
	"time"
)

func (k *Keeper) run() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.wanted() {
		if k.withheld > 0 {
			_ = k.wait(context.Background(), nil)
			continue
		}
		if !k.acquire() {
			continue
		}
		if yields := k.hold(); yields && k.wanted() {
			k.sleep(k.options.Yield)
		}
	}
	k.running = false
	k.unblock()
	k.broadcast()
}

func (k *Keeper) wanted() bool { return k.active > 0 || k.waiting > 0 && !k.closed() }

// acquire requests the lease once. After a refusal it waits for the next time.
func (k *Keeper) acquire() bool {
	made, err := k.request(0, 0)
	if err != nil {
		k.block(err)
		k.broadcast()
		k.sleep(k.options.Retry)
		return false
	}
	if k.withheld > 0 { // requested meanwhile
		k.releaseOf(made)
		return false
	}
	k.unblock()
	k.epoch, k.open = made, true
	k.epoch.ctx, k.epoch.end = context.WithCancelCause(context.Background())
	k.broadcast()
	return true
}

func (k *Keeper) request(token, since int64) (*epoch, error) {
	k.mu.Unlock()
	defer k.mu.Lock()
	sent := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), k.options.Valid)
	defer cancel()
	newToken, newSince, master, err := k.lock.Lease(ctx, token, since)
	return &epoch{token: newToken, since: newSince, master: master, began: sent, validUntil: sent.Add(k.options.Valid)}, err
}

// hold yields if the release was for other clients.
func (k *Keeper) hold() (yields bool) {
	e := k.epoch
	renew, slice := time.Now().Add(k.options.Renew), e.began.Add(k.options.Slice)
	var idle time.Time
	for {
		now := time.Now()
		if k.wanted() {
			idle = time.Time{}
		} else if idle.IsZero() {
			idle = now.Add(k.options.Linger)
		}
		switch {
		case !now.Before(e.validUntil):
			k.lose(e)
			return true
		case !now.Before(renew):
			lost := k.renew(e)
			if lost {
				k.lose(e)
				return true
			}
			renew = nextRenewal(e, k.options)
			continue
		case !idle.IsZero() && (k.closed() || !now.Before(idle)), !k.open && k.active == 0:
			yields = !k.open
			k.giveBack(e)
			return yields
		case k.open && (k.withheld > 0 || !now.Before(slice)):
			k.open = false // holds that pause or leave make room
			slice = now.Add(k.options.Drain)
			k.broadcast()
			continue
		case !k.open && k.withheld == 0 && !now.Before(slice) && now.Sub(e.began) < k.options.MaxHold:
			k.open = true // a hold is in the middle of a long step
			slice = now.Add(k.options.Slice)
			k.broadcast()
			continue
		}
		k.sleepUntil(earliest(now, e.validUntil, renew, idle, slice))
	}
}

func nextRenewal(e *epoch, o KeeperOptions) time.Time {
	now := time.Now()
	if regular := e.validUntil.Add(o.Renew - o.Valid); regular.After(now) {
		return regular
	}
	return now.Add(o.Retry)
}

// earliest is the first of the future times, at least a millisecond away.
func earliest(now time.Time, times ...time.Time) time.Time {
	next := now.Add(time.Second)
	for _, t := range times {
		if t.After(now) && t.Before(next) {
			next = t
		}
	}
	return next
}

// renew reports a loss: another client, or another master, which cannot exclude a holder in between.
func (k *Keeper) renew(e *epoch) (lost bool) {
	made, err := k.request(e.token, e.since)
	if err != nil {
		k.block(err)
		return IsLocked(err)
	}
	k.unblock()
	if made.master != e.master {
		k.epoch = nil
		k.releaseOf(made)
		return true
	}
	e.token, e.since, e.validUntil = made.token, made.since, made.validUntil
	return false
}

func (k *Keeper) lose(e *epoch) {
	e.end(ErrLeaseLost)
	k.epoch, k.open = nil, false
	k.broadcast()
	for k.active > 0 { // they leave soon: their context has ended
		_ = k.wait(context.Background(), nil)
	}
}

func (k *Keeper) giveBack(e *epoch) {
	k.open = false
	e.end(nil)
	k.releaseOf(e)
	k.epoch = nil
	k.broadcast()
}

// releaseOf calls the master. Without that call the lease ends by itself.
func (k *Keeper) releaseOf(e *epoch) {
	k.mu.Unlock()
	defer k.mu.Lock()
	ctx, cancel := context.WithTimeout(context.Background(), leaseTimeout)
	defer cancel()
	_ = k.lock.Release(ctx, e.token, e.since)
}

func (k *Keeper) sleep(d time.Duration) {
	k.mu.Unlock()
	defer k.mu.Lock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-k.closing:
	}
}

func (k *Keeper) sleepUntil(t time.Time) {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	_ = k.wait(context.Background(), timer.C)
}
