package admission

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/contract"
)

const (
	// RecoveryLimit is how long a recovering core waits for those who were named
	// but are not heard. A workflow answers within milliseconds unless nobody
	// runs it, and one that is paused for ever must not stop everybody else.
	RecoveryLimit = 2 * time.Minute
	// fenceShift leaves room for a million fences per millisecond, so that a core
	// that begins later begins above whatever was given before.
	fenceShift = 20
)

// fenceFloor is the first fence of a core that began at now and inherits nothing.
func fenceFloor(now time.Time) int64 { return now.UnixMilli() << fenceShift }

// Core is the state of admission. Create it with [New] or [Restore]; it is not
// safe for concurrent use.
//
// Each event costs the same with ten requests and with a hundred thousand: nothing
// here goes through all of them.
type Core struct {
	// seq numbers requests in the order of arrival, next is the next fence.
	seq, next int64
	// holders has each holder's requests, waiting and granted; order has the
	// holders by their ids.
	holders map[contract.AdmissionHolder]*holder
	order   *sorted[*holder]
	// ofType has the requests of a job type, expiring those whose holder has ended,
	// by when they are free.
	ofType map[string]*sorted[*request]
	// ofTask has the requests of a task with a retry budget, by the hash of its key.
	ofTask   map[uint64]*sorted[*request]
	expiring *sorted[*request]
	lanes    lanes
	claims   claims
	pools    resources
	// outcomes are what is remembered of failures.
	outcomes *outcomes
	// past is what was released last, now the time of the event.
	past    past
	results results
	now     time.Time
	// recovery is nil once everything is known.
	recovery *recovery
	// weight bounds the bytes of the state, see [MaxWeight].
	weight int
	out    []Decision
	// asked are the requests for resources of this event that had no grant when they came.
	asked []*request
	// disabled is what the retry budget has disabled since [Core.Disabled].
	disabled []contract.AdmissionHold
}

// New returns a core that began at now with what an earlier one left. It knows
// nothing of earlier grants, so it is recovering until it was told who must be
// heard, see [Expected].
func New(now time.Time, durable Durable) *Core {
	c := empty()
	c.inherit(now, durable)
	c.recovery = newRecovery(now)
	return c
}

func empty() *Core {
	return &Core{
		holders: map[contract.AdmissionHolder]*holder{},
		order:   newSorted(compareHolders),
		ofType:  map[string]*sorted[*request]{},
		ofTask:  map[uint64]*sorted[*request]{},
		expiring: newSorted(func(a, b *request) int {
			return cmp.Or(a.FreeAt.Compare(b.FreeAt), cmp.Compare(a.Seq, b.Seq))
		}),
		lanes: newLanes(), claims: newClaims(), pools: newResources(), outcomes: newOutcomes(), results: newResults(),
	}
}

// Next takes one event and returns the decisions, in order. The slice is valid
// until the next call.
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

// NextDeadline is when Next must be called even if nothing happens; zero if
// nothing is waited for.
func (c *Core) NextDeadline() time.Time {
	var next time.Time
	if c.recovery != nil {
		next = c.recovery.Until
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

// grant gives a request its fences and tells the holder.
func (c *Core) grant(r *request, now time.Time) {
	r.Fences = max(r.Fences, 1)
	r.Waited = now.Sub(r.Since).Truncate(time.Millisecond)
	r.Granted, r.Since, r.Fence = true, now, c.next
	c.next += r.Fences
	c.answer(r)
}

// renew gives a holder that was reset what it has again, with fences above those
// that it has used and does not remember.
func (c *Core) renew(r *request) {
	r.Fences = max(r.Fences, 1)
	r.Fence, r.Orphan = c.next, false
	c.setFreeAt(r, time.Time{})
	c.next += r.Fences
	c.answer(r)
}

// answer repeats a grant as it was decided.
func (c *Core) answer(r *request) {
	c.decide(Granted{r.Holder, contract.AdmissionGrant{ID: r.ID, Fence: r.Fence, Fences: r.Fences, Result: c.resultFor(r)}})
}

// answerWaiting tells holders which of their requests wait: those take no place of the run.
func (c *Core) answerWaiting() {
	for _, r := range c.asked {
		if !r.Granted && c.known(r.Holder, r.ID) == r {
			c.decide(Waits{r.Holder, r.ID})
		}
	}
	clear(c.asked)
	c.asked = c.asked[:0]
}

func (c *Core) add(r *request) {
	h := c.holderOf(r)
	h.requests.add(r)
	h.byID[r.ID] = r
	if r.FreeAt.IsZero() {
		h.live++
	} else {
		c.expiring.add(r)
		h.ending++
	}
	ofType := c.ofType[r.JobType]
	if ofType == nil {
		ofType = newSorted(bySeq)
		c.ofType[r.JobType] = ofType
	}
	ofType.add(r)
	c.addOfTask(r)
	c.weight += r.weight()
}

// drop frees what a request held and remembers that it was held. One that was never
// added is ignored.
func (c *Core) drop(r *request) {
	if c.remove(r) {
		c.remember(r)
	}
}

// remove frees what a request held, and reports whether it was known.
func (c *Core) remove(r *request) bool {
	h := c.holders[r.Holder]
	if h == nil || h.byID[r.ID] != r {
		return false
	}
	c.free(r)
	c.setFreeAt(r, time.Time{})
	c.weight -= r.weight()
	delete(h.byID, r.ID)
	h.requests.remove(r)
	h.live--
	if h.requests.len() == 0 {
		c.weight -= h.weight()
		delete(c.holders, r.Holder)
		c.order.remove(h)
	}
	ofType := c.ofType[r.JobType]
	if ofType.remove(r); ofType.len() == 0 {
		delete(c.ofType, r.JobType)
	}
	c.removeOfTask(r)
	return true
}

func (c *Core) free(r *request) {
	switch {
	case r.Lane != "":
		c.leaveLane(r)
	case r.wantsResources():
		c.leaveResources(r)
	default:
		c.claims.drop(r)
	}
}

// setFreeAt sets when a request is freed because its holder has ended or has
// forgotten it; zero: it has not.
func (c *Core) setFreeAt(r *request, at time.Time) {
	if r.FreeAt.Equal(at) {
		return
	}
	h := c.holders[r.Holder]
	switch {
	case r.FreeAt.IsZero():
		h.live--
		h.ending++
	case at.IsZero():
		c.expiring.remove(r)
		h.live++
		h.ending--
	default:
		c.expiring.remove(r)
	}
	if r.FreeAt = at; !at.IsZero() {
		c.expiring.add(r)
	}
}

func (c *Core) expire(now time.Time) {
	for r := c.expiring.first(); r != nil && !r.FreeAt.After(now); r = c.expiring.first() {
		c.drop(r)
	}
}
