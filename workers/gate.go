package workers

import (
	"context"
	"sync"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// gateMaxWait bounds the wait of a task at a full gate; after it, another worker is better.
const gateMaxWait = time.Second

// maxWaitFor is less for a short heartbeat timeout: no beat is sent while a task waits.
func maxWaitFor(heartbeatTimeout time.Duration) time.Duration {
	if heartbeatTimeout <= 0 {
		return gateMaxWait
	}
	return min(gateMaxWait, heartbeatTimeout/2)
}

// gate is the exact limit of concurrent work in this process. Waiting tasks are admitted in order of arrival among
// those that fit.
type gate struct {
	mu      sync.Mutex
	total   limit
	keys    map[string]*limit
	waiting []*waiter
	// changed gets an entry when there may be new room.
	changed chan struct{}
	// past sums up the use of slots; now is its clock.
	past usage
	now  func() time.Time
}

// limit is a cap (0 means none) and its use.
type limit struct{ cap, used int }

func (l *limit) open() bool { return l.cap <= 0 || l.used < l.cap }

type waiter struct {
	key     string
	jobType string
	passed  chan struct{}
}

// newGate limits the total; caps limits single keys, 0 meaning no limit.
func newGate(total int, caps map[string]int) *gate {
	g := &gate{total: limit{cap: total}, keys: make(map[string]*limit, len(caps)), changed: make(chan struct{}, 1), now: time.Now}
	for key, limited := range caps {
		g.keys[key] = &limit{cap: limited}
	}
	g.pass()
	return g
}

// enter waits at most maxWait for a slot. If ok, the caller must call leave exactly once.
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
	// The slot was given during the timeout.
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

// take uses a slot for key if there is room; the caller holds the lock.
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
	default: // There is an entry already.
	}
}

// Room reports whether a task of key would be admitted at once.
func (g *gate) Room(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) == 0 && g.total.open() && g.limit(key).open()
}

// Resize changes the total. A running job above a smaller total continues.
func (g *gate) Resize(total int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass()
	g.total.cap = total
	g.admit()
}

// pass records the use since the last change; the caller holds the lock.
func (g *gate) pass() { g.past.pass(g.now(), g.total.used, g.total.cap) }

// Usage returns the use until now.
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

// Used counts the admitted tasks that have not left.
func (g *gate) Used() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total.used
}
