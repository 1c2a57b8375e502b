package workers

import (
	"context"
	"sync"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// gateMaxWait is how long a task that finds the gate shut may wait. A slot
// often becomes free within it; beyond, another worker is the better place.
const gateMaxWait = time.Second

// maxWaitFor is gateMaxWait, or less for a task whose worker is taken to be lost
// when it is silent for that long: no beat is sent for it while it waits. 0: it has no
// heartbeat timeout.
func maxWaitFor(heartbeatTimeout time.Duration) time.Duration {
	if heartbeatTimeout <= 0 {
		return gateMaxWait
	}
	return min(gateMaxWait, heartbeatTimeout/2)
}

// gate is the exact limit of what runs at once in this process: in total, and
// per handler. Waiting tasks are admitted in order of arrival among those that
// fit.
type gate struct {
	mu      sync.Mutex
	total   limit
	keys    map[string]*limit
	waiting []*waiter
	// changed gets a word when there may be room that was not there before.
	changed chan struct{}
	// past adds up how much was used; now is the clock for it.
	past usage
	now  func() time.Time
}

// limit is a cap (0: none) and what counts against it.
type limit struct{ cap, used int }

func (l *limit) open() bool { return l.cap <= 0 || l.used < l.cap }

type waiter struct {
	key string
	// jobType is that of the waiting task.
	jobType string
	passed  chan struct{}
}

// newGate limits the total; caps holds limits of single keys, 0 meaning none.
func newGate(total int, caps map[string]int) *gate {
	g := &gate{total: limit{cap: total}, keys: make(map[string]*limit, len(caps)), changed: make(chan struct{}, 1), now: time.Now}
	for key, limited := range caps {
		g.keys[key] = &limit{cap: limited}
	}
	g.pass()
	return g
}

// enter waits at most maxWait for a place of a task under key. On true the caller must
// call leave exactly once.
func (g *gate) enter(ctx context.Context, key, jobType string, maxWait time.Duration) (leave func(), ok bool) {
	w, passed := g.tryEnter(key, jobType)
	if passed {
		return func() { g.leave(key) }, true
	}
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-w.passed:
		return func() { g.leave(key) }, true
	case <-timer.C:
	case <-ctx.Done():
	}
	if g.withdraw(w) {
		return nil, false
	}
	// The place was given in the moment of giving up.
	return func() { g.leave(key) }, true
}

func (g *gate) tryEnter(key, jobType string) (*waiter, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.take(key) {
		return nil, true
	}
	w := &waiter{key: key, jobType: jobType, passed: make(chan struct{})}
	g.waiting = append(g.waiting, w)
	return w, false
}

// queued counts the waiting tasks by job type.
func (g *gate) queued() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	var counts map[string]int
	for _, w := range g.waiting {
		if counts == nil {
			counts = map[string]int{}
		}
		counts[w.jobType]++
	}
	return counts
}

// take counts key in if there is room; the caller holds the lock.
func (g *gate) take(key string) bool {
	own := g.limit(key)
	if !g.total.open() || !own.open() {
		return false
	}
	g.pass()
	g.total.used++
	own.used++
	return true
}

func (g *gate) limit(key string) *limit {
	own, known := g.keys[key]
	if !known {
		own = &limit{}
		g.keys[key] = own
	}
	return own
}

// withdraw removes a waiter and reports false if it was let in meanwhile.
func (g *gate) withdraw(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range g.waiting {
		if other == w {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return true
		}
	}
	return false
}

func (g *gate) leave(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass()
	g.total.used--
	g.limit(key).used--
	g.admit()
}

// admit admits every waiting task that fits now; the caller holds the lock.
func (g *gate) admit() {
	rest := g.waiting[:0]
	for _, w := range g.waiting {
		if g.take(w.key) {
			close(w.passed)
		} else {
			rest = append(rest, w)
		}
	}
	clear(g.waiting[len(rest):])
	g.waiting = rest
	g.Poke()
}

// Poke signals changed.
func (g *gate) Poke() {
	select {
	case g.changed <- struct{}{}:
	default: // There is a word already.
	}
}

// Room reports whether a task under key would be let in at once.
func (g *gate) Room(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) == 0 && g.total.open() && g.limit(key).open()
}

// Resize changes the total. A job that already runs above a smaller one continues.
func (g *gate) Resize(total int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass()
	g.total.cap = total
	g.admit()
}

// pass adds up what was used since the last change; the caller holds the lock.
func (g *gate) pass() { g.past.pass(g.now(), g.total.used, g.total.cap) }

// Usage tells how much was used until now.
func (g *gate) Usage() []contract.WorkerUsageSpan {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass()
	return g.past.told()
}

// Waiting counts the tasks that wait to be admitted.
func (g *gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// Used counts the tasks that were admitted and have not left.
func (g *gate) Used() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total.used
}
