package admission

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

const (
	// RecoveryLimit bounds the wait for reports. A workflow with a worker answers within milliseconds, and a paused
	// one must not stop all others.
	RecoveryLimit = 2 * time.Minute
	// fenceShift leaves room for a million fences per millisecond, so that a later core begins above all earlier fences.
	fenceShift = 20
)

func fenceFloor(now time.Time) int64 { return now.UnixMilli() << fenceShift }

// Core is the state of admission, from [New] or [Restore]. No event visits all requests. It is not safe for
// concurrent use.
type Core struct {
	seq, next int64
	*registry
	*outcomes
	past
	*recovery // nil after it

	lanes   lanes
	claims  claims
	results results
	pools   resources
	now     time.Time
	out     []Decision
	asked   []*request
}

// New returns a core with the durable data of an earlier one. It recovers until [Expected] has named the holders and
// they have reported.
func New(now time.Time, durable Durable) *Core {
	c := empty()
	c.inherit(now, durable)
	c.recovery = newRecovery(now)
	return c
}

func empty() *Core {
	requests := newRegistry()
	return &Core{
		registry: requests, lanes: newLanes(), claims: newClaims(), outcomes: newOutcomes(), results: newResults(),
		pools: newResources(requests),
	}
}

// Next applies one event and returns the decisions. The slice is valid until the next call.
func (c *Core) Next(now time.Time, event Event) []Decision {
	c.out, c.now = c.out[:0], now
	event.apply(c, now)
	c.expire(now)
	c.claims.purge()
	c.results.expire(now)
	if c.recovery != nil && c.recovery.over(now) {
		c.recovery = nil
		c.answerKeys(now)
	}
	if c.recovery == nil {
		c.serveLanes(now)
		c.serveResources(now)
	}
	c.answerWaiting()
	c.results.fit(MaxWeight - c.Weight())
	c.past.makeRoom(MaxWeight - c.Weight() - c.results.weight)
	return c.out
}

// NextDeadline returns the time by which Next must be called; zero if nothing is pending.
func (c *Core) NextDeadline() time.Time {
	var next time.Time
	if c.recovery != nil {
		next = c.recovery.Until
		if at := c.recovery.listAt; at.After(c.now) && at.Before(next) {
			next = at
		}
	}
	if r := c.expiring.first(); r != nil && (next.IsZero() || r.FreeAt.Before(next)) {
		next = r.FreeAt
	}
	for _, r := range c.pools.reserving {
		if until := r.reservesUntil(); !until.IsZero() && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	return next
}

func (c *Core) grant(r *request, now time.Time) {
	r.Fences = max(r.Fences, 1)
	r.Waited = now.Sub(r.Since).Truncate(time.Millisecond)
	r.Granted, r.Since, r.Fence = true, now, c.next
	c.next += r.Fences
	c.answer(r)
}

// renew gives a reset holder new fences, above those that it has used and forgotten.
func (c *Core) renew(r *request) {
	r.Fences = max(r.Fences, 1)
	r.Fence, r.Orphan = c.next, false
	c.setFreeAt(r, time.Time{})
	c.next += r.Fences
	c.answer(r)
}

func (c *Core) answer(r *request) {
	c.decide(Granted{r.Holder, contract.AdmissionGrant{ID: r.ID, Fence: r.Fence, Fences: r.Fences, Result: c.results.resultFor(r)}})
}

// A waiting request uses no concurrency slot of the run, so its holder gets a report.
func (c *Core) answerWaiting() {
	for _, r := range c.asked {
		if !r.Granted && c.known(r.Holder, r.ID) == r {
			c.decide(Waits{r.Holder, r.ID})
		}
	}
	clear(c.asked)
	c.asked = c.asked[:0]
}

func (c *Core) drop(r *request) {
	if c.remove(r) {
		c.past.remember(r, c.now)
	}
}

func (c *Core) remove(r *request) bool {
	if c.known(r.Holder, r.ID) != r {
		return false
	}
	c.free(r)
	c.forgetRequest(r)
	return true
}

func (c *Core) free(r *request) {
	switch {
	case r.Lane != "":
		c.lanes.leave(r)
	case r.wantsResources():
		c.pools.leave(r)
	default:
		c.claims.drop(r)
	}
}

func (c *Core) expire(now time.Time) {
	for r := c.expiring.first(); r != nil && !r.FreeAt.After(now); r = c.expiring.first() {
		c.drop(r)
	}
}
