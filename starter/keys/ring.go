package keys

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

// freshFor is how old the keys in memory may be: a revoked key is refused everywhere
// within this time.
const freshFor = 2 * time.Second

// afreshEvery and afreshBurst limit the looks at the server for unknown keys, which
// anybody can send.
const (
	afreshEvery = time.Second
	afreshBurst = 10
)

// readWithin bounds one look at the keys.
const readWithin = 3 * time.Second

// Ring checks keys, with one look at the server for all requests of some seconds.
type Ring struct {
	store  *Store
	flight singleflight.Group
	afresh *rate.Limiter

	mu   sync.Mutex
	held record
	at   time.Time
	// seen are uses that are not noted yet.
	seen map[string]time.Time
}

// NewRing checks against a store.
func NewRing(store *Store) *Ring {
	return &Ring{store: store, seen: map[string]time.Time{}, afresh: rate.NewLimiter(rate.Every(afreshEvery), afreshBurst)}
}

// Check finds the key that secret is. ErrUnknown is the answer to all others; another
// error means that the keys cannot be read, and nobody may be let in.
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
		// The key may be newer than the record in memory.
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

// Valid reports whether the key with that id may still be used.
func (r *Ring) Valid(ctx context.Context, id string) (bool, error) {
	held, err := r.fresh(ctx)
	now := time.Now()
	return slices.ContainsFunc(held.Keys, func(k stored) bool { return k.ID == id && k.valid(now) }), err
}

// Ended reports whether a session was ended before its time.
func (r *Ring) Ended(ctx context.Context, session Session) (bool, error) {
	held, err := r.fresh(ctx)
	return held.ended(session), err
}

// EndSession ends one session, and forgets the record in memory so that this process
// refuses the session at once.
func (r *Ring) EndSession(ctx context.Context, session Session) error {
	err := r.store.EndSession(ctx, session)
	r.mu.Lock()
	r.at = time.Time{}
	r.mu.Unlock()
	return err
}

// fresh gives a record that is at most freshFor old.
func (r *Ring) fresh(ctx context.Context) (record, error) {
	r.mu.Lock()
	held, at := r.held, r.at
	r.mu.Unlock()
	if !at.IsZero() && time.Since(at) < freshFor {
		return held, nil
	}
	return r.read(ctx)
}

// readSince looks at the server after that time: a look that others began before may miss
// a new key.
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

// read looks at the server.
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

// note writes the use of a key down, once in usedEvery and besides the request.
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
		_ = r.store.used(limited, map[string]time.Time{id: now}) // It is noted an hour later.
	}()
}
