package keys

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// freshFor is how old the keys in memory may be: a revoked key is refused everywhere
// within this time.
const freshFor = 2 * time.Second

// readWithin bounds one look at the keys.
const readWithin = 3 * time.Second

// Ring checks keys, with one look at the server for all requests of some seconds.
type Ring struct {
	store  *Store
	flight singleflight.Group

	mu   sync.Mutex
	keys []stored
	at   time.Time
	// seen are uses that are not noted yet.
	seen map[string]time.Time
}

// NewRing checks against a store.
func NewRing(store *Store) *Ring { return &Ring{store: store, seen: map[string]time.Time{}} }

// Check finds the key that secret is. ErrUnknown is the answer to all others; another
// error means that the keys cannot be read, and nobody may be let in.
func (r *Ring) Check(ctx context.Context, secret string) (Key, error) {
	if idOf(secret) == "" {
		return Key{}, ErrUnknown
	}
	keys, err := r.fresh(ctx)
	if err != nil {
		return Key{}, err
	}
	now := time.Now()
	key, err := match(keys, secret, now)
	if err == nil && now.Sub(key.LastUsed) >= usedEvery {
		r.note(ctx, key.ID, now)
	}
	return key, err
}

// Valid reports whether the key with that id may still be used.
func (r *Ring) Valid(ctx context.Context, id string) (bool, error) {
	keys, err := r.fresh(ctx)
	now := time.Now()
	return slices.ContainsFunc(keys, func(k stored) bool { return k.ID == id && k.valid(now) }), err
}

// fresh gives keys that are at most freshFor old.
func (r *Ring) fresh(ctx context.Context) ([]stored, error) {
	r.mu.Lock()
	keys, at := r.keys, r.at
	r.mu.Unlock()
	if !at.IsZero() && time.Since(at) < freshFor {
		return keys, nil
	}
	read, err, _ := r.flight.Do("read", func() (any, error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
		defer cancel()
		began := time.Now()
		held, _, err := r.store.read(limited)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		r.keys, r.at = held.Keys, began
		r.mu.Unlock()
		return held.Keys, nil
	})
	if err != nil {
		return nil, err
	}
	keys, _ = read.([]stored)
	return keys, nil
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
