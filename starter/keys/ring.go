package keys

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

// freshFor is the delay of a revocation.
const freshFor = 2 * time.Second

// afreshEvery and afreshBurst limit the reads for unknown keys, which anyone can send.
const (
	afreshEvery = time.Second
	afreshBurst = 10
)

const readWithin = 3 * time.Second

// Ring checks keys. It reads the server at most once per freshFor, and for unknown keys.
type Ring struct {
	store  *Store
	flight singleflight.Group
	afresh *rate.Limiter

	mu   sync.Mutex
	held record
	at   time.Time
	seen map[string]time.Time
	// ended is the time of the last session that this process has ended.
	ended time.Time
}

// NewRing returns a Ring for a store.
func NewRing(store *Store) *Ring {
	return &Ring{store: store, seen: map[string]time.Time{}, afresh: rate.NewLimiter(rate.Every(afreshEvery), afreshBurst)}
}

// Check returns the key with this secret, or ErrUnknown. After any other error access must be denied.
func (r *Ring) Check(ctx context.Context, secret string) (Key, error) {
	if idOf(secret) == "" {
		return Key{}, ErrUnknown
	}
	held, err := r.fresh(ctx)
	if err != nil {
		return Key{}, err
	}
	now := time.Now()
	key, err := match(held.Keys, secret, now)
	if err != nil && !held.has(idOf(secret)) && r.afresh.Allow() {
		// The key may be newer than the keys in memory.
		if held, err = r.readSince(ctx, now); err != nil {
			return Key{}, err
		}
		key, err = match(held.Keys, secret, now)
	}
	if err == nil && now.Sub(key.LastUsed) >= usedEvery {
		r.note(ctx, key.ID, now)
	}
	return key, err
}

// Valid reports whether the key with this id may still be used.
func (r *Ring) Valid(ctx context.Context, id string) (bool, error) {
	held, err := r.fresh(ctx)
	now := time.Now()
	return slices.ContainsFunc(held.Keys, func(k stored) bool { return k.ID == id && k.valid(now) }), err
}

// Ended reports whether a session was ended early.
func (r *Ring) Ended(ctx context.Context, session Session) (bool, error) {
	held, err := r.fresh(ctx)
	return held.ended(session), err
}

// EndSession ends one session. Reads that began before do not count, so that this process refuses the session at once.
func (r *Ring) EndSession(ctx context.Context, session Session) error {
	err := r.store.EndSession(ctx, session)
	r.mu.Lock()
	r.ended = time.Now()
	r.mu.Unlock()
	return err
}

func (r *Ring) fresh(ctx context.Context) (record, error) {
	r.mu.Lock()
	held, at, ended := r.held, r.at, r.ended
	r.mu.Unlock()
	if at.After(ended) && time.Since(at) < freshFor {
		return held, nil
	}
	return r.readSince(ctx, ended)
}

// A shared read that began earlier may miss a new key, or the end of a session.
func (r *Ring) readSince(ctx context.Context, since time.Time) (record, error) {
	held, err := r.read(ctx)
	r.mu.Lock()
	at := r.at
	r.mu.Unlock()
	if err == nil && at.Before(since) {
		return r.read(ctx)
	}
	return held, err
}

func (r *Ring) read(ctx context.Context) (record, error) {
	read, err, _ := r.flight.Do("read", func() (any, error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
		defer cancel()
		began := time.Now()
		held, _, err := r.store.read(limited)
		if err != nil {
			return record{}, err
		}
		r.mu.Lock()
		r.held, r.at = held, began
		r.mu.Unlock()
		return held, nil
	})
	held, _ := read.(record)
	return held, err //nolint:wrapcheck // the store's own
}

func (r *Ring) note(ctx context.Context, id string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.seen[id]) < usedEvery {
		return
	}
	r.seen[id] = now
	go func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
		defer cancel()
		_ = r.store.used(limited, map[string]time.Time{id: now}) // The next use stores it, an hour later.
	}()
}
