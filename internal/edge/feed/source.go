package feed

import (
	"context"
	"sync"
	"time"
)

const (
	// FreshFor is the maximum age of an answer of a [Source].
	FreshFor = time.Second
	// Two calls to visibility per fetch stay well below a namespace's limit of ten per second.
	floor   = 500 * time.Millisecond
	keptFor = time.Minute
	// fetchWithin bounds a fetch, which outlives the request that caused it.
	fetchWithin = 30 * time.Second
)

// Source fetches a value once for all requests at about the same time.
type Source[T any] struct {
	fetch func(context.Context) (T, error)

	mu      sync.Mutex
	age     int
	kept    Answer[T]
	keptAge int
	began   time.Time
	running *fetching[T]
}

// Answer is a value of a [Source].
type Answer[T any] struct {
	Value T
	AsOf  time.Time
	// Refused is the reason why it is not newer.
	Refused error
}

type fetching[T any] struct {
	done   chan struct{}
	age    int
	answer Answer[T]
	err    error
}

// NewSource returns a source for fetch.
func NewSource[T any](fetch func(context.Context) (T, error)) *Source[T] {
	return &Source[T]{fetch: fetch}
}

// Stale makes the next [Source.Get] fetch.
func (s *Source[T]) Stale() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.age++
}

// Get returns a value not older than [FreshFor] and fetched after the last [Source.Stale], or for a minute the last
// value with the error in Refused. Callers must not change the value.
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
