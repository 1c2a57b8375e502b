package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/registry"
)

const (
	// Each query serves all pings of the pause before: a thousand workers with a ping every five seconds would cause
	// two hundred queries per second.
	askEvery = 250 * time.Millisecond
	// askWithin bounds the wait of a ping for the registry. A worker beats without an answer, too.
	askWithin = time.Second
	// A poll for each short job must not wait for the registry.
	pollsTrust = 5 * time.Second
	// forgetAfter is the age at which the answer about a worker that no longer calls is dropped.
	forgetAfter = time.Hour
)

type standing struct {
	contract.WorkerSettings
	at time.Time
}

// A call gets an answer that was requested after the call began, or else the last answer.
type fleet struct {
	registry *registry.Registry

	mu     sync.Mutex
	last   map[contract.Incarnation]standing
	next   *question
	at     time.Time
	silent bool
	// heard is the time of the newest query with an answer. The results of earlier queries are dropped.
	heard time.Time
}

type question struct {
	of   map[contract.Incarnation]contract.WorkerSettings
	err  error
	done chan struct{}
}

func newFleet(r *registry.Registry) *fleet {
	return &fleet{registry: r, last: map[contract.Incarnation]standing{}}
}

// An error means that the registry does not answer and there is no earlier answer.
func (f *fleet) settings(ctx context.Context, who contract.Incarnation) (contract.WorkerSettings, error) {
	asked, silent := f.join(ctx, who)
	wait := askWithin
	if silent {
		wait = 0 // A later call gets the answer.
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-asked.done:
		if asked.err == nil {
			return asked.of[who], nil
		}
	case <-timer.C:
	case <-ctx.Done():
		return contract.WorkerSettings{}, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.last[who]; ok {
		return known.WorkerSettings, nil
	}
	return contract.WorkerSettings{}, context.DeadlineExceeded
}

func (f *fleet) recent(ctx context.Context, who contract.Incarnation) (contract.WorkerSettings, error) {
	f.mu.Lock()
	known, ok := f.last[who]
	f.mu.Unlock()
	if ok && time.Since(known.at) < pollsTrust {
		return known.WorkerSettings, nil
	}
	return f.settings(ctx, who)
}

// join reports whether the last query had no answer.
func (f *fleet) join(ctx context.Context, who contract.Incarnation) (*question, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = &question{of: map[contract.Incarnation]contract.WorkerSettings{}, done: make(chan struct{})}
		// The query outlives this call, since others wait for it.
		go f.put(context.WithoutCancel(ctx), f.next, time.Until(f.at.Add(askEvery)))
	}
	f.next.of[who] = contract.WorkerSettings{}
	return f.next, f.silent
}

func (f *fleet) put(ctx context.Context, q *question, pause time.Duration) {
	defer close(q.done)
	timer := time.NewTimer(pause)
	<-timer.C
	f.mu.Lock()
	at := time.Now()
	f.next, f.at = nil, at
	of := slices.Collect(maps.Keys(q.of))
	f.mu.Unlock()
	found, err := f.registry.Standing(ctx, of)
	f.mu.Lock()
	defer f.mu.Unlock()
	if q.err = err; err == nil {
		for i, who := range of {
			q.of[who] = found[i]
		}
	}
	if at.Before(f.heard) {
		return
	}
	if f.silent = err != nil; !f.silent {
		f.heard = at
		f.keep(q.of, at)
	}
}

func (f *fleet) keep(answers map[contract.Incarnation]contract.WorkerSettings, at time.Time) {
	for who, settings := range answers {
		if settings.Known {
			f.last[who] = standing{settings, at}
		} else {
			delete(f.last, who)
		}
	}
	maps.DeleteFunc(f.last, func(_ contract.Incarnation, old standing) bool { return at.Sub(old.at) > forgetAfter })
}
