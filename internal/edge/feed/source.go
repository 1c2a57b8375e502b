package feed

import (
	"context"
	"sync"
	"time"
)

const (
	// FreshFor is how old an answer of a [Source] may be.
	FreshFor = time.Second
	// floor is the least time between two fetches of a source. Two calls to
	// visibility per fetch stay well below the ten that a namespace may make in a second.
	floor = 500 * time.Millisecond
	// keptFor is the time for which a source returns its last value while its fetch fails.
	keptFor = time.Minute
	// fetchWithin bounds a fetch, which does not end with the request that caused it.
	fetchWithin = 30 * time.Second
)

// Source fetches a value once for all requests at about the same time.
type Source[T any] struct {
	fetch func(context.Context) (T, error)

	mu sync.Mutex
	// age counts the calls of Stale.
	age int
	// kept is the newest answer; its AsOf is zero before the first.
	kept Answer[T]
	// keptAge is the age that kept has seen; began is the newest fetch's start.
	keptAge int
	began   time.Time
	running *fetching[T]
}

// Answer is a value of a [Source].
type Answer[T any] struct {
	Value T
	// AsOf is when its fetch began.
	AsOf time.Time
	// Refused is why there is no newer one.
	Refused error
}

// fetching is a fetch that has not ended. age and answer are valid after done.
type fetching[T any] struct {
	done   chan struct{}
	age    int
	answer Answer[T]
	err    error
}

// NewSource makes a source of fetch's results.
func NewSource[T any](fetch func(context.Context) (T, error)) *Source[T] {
	return &Source[T]{fetch: fetch}
}

// Stale makes the next [Source.Get] fetch.
func (s *Source[T]) Stale() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.age++
}

// Get returns a value that is no older than [FreshFor] and was fetched after the last
// [Source.Stale]. If the fetch fails, it returns the last value for a minute, with the error in
// Refused. Callers share the value and must not change it.
func (s *Source[T]) Get(ctx context.Context) (Answer[T], error) {
	s.mu.Lock()
	wanted := s.age
	for {
		if s.keptAge >= wanted && !s.kept.AsOf.IsZero() && time.Since(s.kept.AsOf) < FreshFor {
			answer := s.kept
			s.mu.Unlock()
			return answer, nil
		}
		if s.running == nil {
			s.running = &fetching[T]{done: make(chan struct{})}
			go s.run(context.WithoutCancel(ctx), s.running)
		}
		current := s.running
		s.mu.Unlock()
		select {
		case <-current.done:
		case <-ctx.Done():
			return Answer[T]{}, ctx.Err()
		}
		if current.age >= wanted {
			return current.answer, current.err
		}
		s.mu.Lock() // It began before the change that the caller must see.
	}
}

func (s *Source[T]) run(ctx context.Context, f *fetching[T]) {
	s.mu.Lock()
	wait := time.Until(s.began.Add(floor))
	s.mu.Unlock()
	if wait > 0 {
		<-time.After(wait)
	}
	s.mu.Lock()
	s.began, f.age = time.Now(), s.age
	began := s.began
	s.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	value, err := s.fetch(limited)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.kept, s.keptAge = Answer[T]{Value: value, AsOf: began.UTC()}, f.age
		f.answer = s.kept
	case !s.kept.AsOf.IsZero() && time.Since(s.kept.AsOf) < keptFor:
		f.answer = Answer[T]{Value: s.kept.Value, AsOf: s.kept.AsOf, Refused: err}
	default:
		f.err = err
	}
	s.running = nil
	close(f.done)
}
