package admission

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

const (
	// MaxKeys bounds the keys held at once. Each takes eight bytes of the workflow's state.
	MaxKeys = 120_000
	// purgedAtOnce bounds the released keys that one event removes from the index.
	purgedAtOnce = 512
)

type claims struct {
	by          map[uint64]*request
	held, asked int
	// released holds requests whose keys are still in by.
	released []*request
}

func newClaims() claims { return claims{by: map[uint64]*request{}} }

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

// drop has a constant cost: it marks the request, and purge removes its keys.
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

// succeeds: an orphan of the same holder, which was reset, yields its keys to the holder's other requests.
func (r *request) succeeds(by *request) bool { return by != r && by.Orphan && by.Holder == r.Holder }

func (s *claims) claim(key uint64, r *request) *request {
	switch by := s.holder(key); {
	case by == nil:
		s.take(key, r)
	case r.succeeds(by):
		s.by[key] = r
		by.freed++
	default:
		return by
	}
	return nil
}

func (s *claims) regains(r *request) (n int) {
	for _, key := range r.keys {
		if by := s.holder(key); by != nil && r.succeeds(by) {
			n++
		}
	}
	return n
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

func (s *claims) freeKeys(holder contract.AdmissionHolder, keys []uint64) {
	for _, key := range keys {
		r := s.holder(key)
		if r == nil || r.Holder != holder {
			continue
		}
		delete(s.by, key)
		s.held--
		r.freed++
		if 2*r.freed > len(r.keys) {
			r.keys = s.keysOf(r)
			r.freed = 0
		}
	}
}

func (s *claims) keysOf(r *request) []uint64 {
	list := make([]uint64, 0, len(r.keys)-r.freed)
	for _, key := range r.keys {
		if s.by[key] == r {
			list = append(list, key)
		}
	}
	return list
}

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

func (c *Core) answerKey(r *request, budget *contract.RetryBudget, now time.Time) {
	if over := c.claims.held + len(r.keys) - MaxKeys; over > 0 && over > c.claims.regains(r) {
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
		switch by := c.claims.claim(key, r); by {
		case nil:
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

// A holder that received the first answer ignores a repeated one. So keys that the request does not hold are reported
// as taken, even if free by now.
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
