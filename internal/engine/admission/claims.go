package admission

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

const (
	// MaxKeys bounds the keys held at once: eight bytes each, they travel in the
	// state of one workflow.
	MaxKeys = 120_000
	// purgedAtOnce bounds the keys of released claims that one event takes out of
	// the index. Whatever is left in it counts as free.
	purgedAtOnce = 512
)

// claims are the dedupe keys that requests hold.
type claims struct {
	by map[uint64]*request
	// held counts the keys in by that are held, asked those of requests that have no
	// answer yet.
	held, asked int
	// released are requests whose keys are still in by.
	released []*request
}

func newClaims() claims { return claims{by: map[uint64]*request{}} }

// holder returns the request that holds a key, or nil.
func (s *claims) holder(key uint64) *request {
	if r := s.by[key]; r != nil && r.freed <= len(r.keys) {
		return r
	}
	return nil
}

func (s *claims) take(key uint64, r *request) {
	s.by[key] = r
	s.held++
}

// drop releases all keys of a request, however many they are: freed beyond the
// number of its keys says so, and purge takes them out.
func (s *claims) drop(r *request) {
	if !r.Granted {
		s.asked -= len(r.keys)
		return
	}
	if len(r.keys) == 0 {
		return
	}
	s.held -= len(r.keys) - r.freed
	r.freed = len(r.keys) + 1
	s.released = append(s.released, r)
}

func (s *claims) purge() {
	for left := purgedAtOnce; left > 0 && len(s.released) > 0; {
		r := s.released[0]
		n := min(left, len(r.keys))
		for _, key := range r.keys[:n] {
			if s.by[key] == r {
				delete(s.by, key)
			}
		}
		r.keys, left = r.keys[n:], left-n
		if len(r.keys) == 0 {
			s.released[0] = nil
			s.released = s.released[1:]
		}
		r.freed = len(r.keys) + 1
	}
}

// freeKeys takes keys from the requests of their holder: their jobs have ended.
func (c *Core) freeKeys(holder contract.AdmissionHolder, keys []uint64) {
	for _, key := range keys {
		r := c.claims.holder(key)
		if r == nil || r.Holder != holder {
			continue
		}
		delete(c.claims.by, key)
		c.claims.held--
		r.freed++
		if 2*r.freed > len(r.keys) {
			r.keys = c.claims.keysOf(r)
			r.freed = 0
		}
	}
}

// keysOf lists the keys that a request holds.
func (s *claims) keysOf(r *request) []uint64 {
	list := make([]uint64, 0, len(r.keys)-r.freed)
	for _, key := range r.keys {
		if s.by[key] == r {
			list = append(list, key)
		}
	}
	return list
}

// answerKeys answers what was asked while the core was recovering.
func (c *Core) answerKeys(now time.Time) {
	var late []*request
	for h := range c.order.all() {
		for _, r := range h.requests.list() {
			if !r.Granted && r.Lane == "" && !r.wantsResources() {
				late = append(late, r)
			}
		}
	}
	slices.SortFunc(late, bySeq)
	for _, r := range late {
		if budget := c.holders[r.Holder].budget; !c.disables(r, budget, now) && !c.disablesTask(r, now) {
			c.answerKey(r, budget, now)
		}
	}
}

// answerKey claims every key that is free; the request keeps those.
func (c *Core) answerKey(r *request, budget *contract.RetryBudget, now time.Time) {
	if over := c.claims.held + len(r.keys) - MaxKeys; over > 0 {
		n := len(r.keys)
		c.drop(r)
		c.refuse(r, contract.AdmissionRefusal{Code: contract.RefusedFull, Object: contract.FullKeys, N: n, Limit: MaxKeys, Used: c.claims.held})
		return
	}
	grant := contract.AdmissionGrant{ID: r.ID}
	var taken takenKeys
	asked, held := r.keys, make([]uint64, 0, len(r.keys))
	for i, key := range asked {
		if c.outcomes.keyOff(key, budget, now) != nil {
			grant.HeldBack = append(grant.HeldBack, contract.AdmissionHeldKey{AdmissionHold: *c.outcomes.Keys[key].hold(now), Index: i})
			continue
		}
		switch by := c.claims.holder(key); by {
		case nil:
			c.claims.take(key, r)
			held = append(held, key)
		case r: // The same key twice.
		default:
			taken.add(by.Holder.WorkflowID, i)
		}
	}
	c.claims.asked -= len(asked)
	r.keys = held
	r.Fences = max(r.Fences, 1)
	r.Granted, r.Since, r.Fence = true, now, c.next
	c.next += r.Fences
	grant.Fence, grant.Fences, grant.Taken = r.Fence, r.Fences, taken.list
	c.decide(Granted{r.Holder, grant})
}

// repeatKeys answers a claim that is granted already. The keys that it does not hold
// are reported as taken, also those that are free by now: a holder that has had the
// answer ignores this one and would not give them back.
func (c *Core) repeatKeys(r *request, item contract.AdmissionItem) {
	asked, _ := UnpackKeys(item.Keys)
	var taken takenKeys
	for i, key := range asked {
		switch by := c.claims.holder(key); by {
		case r:
		case nil:
			taken.add("", i)
		default:
			taken.add(by.Holder.WorkflowID, i)
		}
	}
	c.decide(Granted{r.Holder, contract.AdmissionGrant{ID: r.ID, Fence: r.Fence, Fences: r.Fences, Taken: taken.list}})
}

// takenKeys lists keys by their holders, in the order of the holders' first.
type takenKeys struct {
	list  []contract.AdmissionTaken
	index map[string]int
}

func (t *takenKeys) add(by string, i int) {
	at, known := t.index[by]
	if !known {
		if t.index == nil {
			t.index = map[string]int{}
		}
		at = len(t.list)
		t.index[by] = at
		t.list = append(t.list, contract.AdmissionTaken{By: by})
	}
	t.list[at].Indexes = append(t.list[at].Indexes, i)
}
