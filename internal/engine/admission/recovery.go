package admission

import (
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// During recovery nothing is granted until every possible holder has reported, with its waiting requests, or has ended.
type recovery struct {
	// Workflows that have not reported yet; named means that the list is complete.
	expected map[string]bool
	named    bool
	// heard has the holders with a report before their names were known.
	heard   map[string]bool
	resized map[string]bool
	Until   time.Time
	// unlisted is why the names are not known; they are requested again at listAt.
	unlisted string
	listAt   time.Time
}

// listPause is the wait before possible holders are listed again.
const listPause = 10 * time.Second

func newRecovery(now time.Time) *recovery {
	return &recovery{Until: now.Add(RecoveryLimit), expected: map[string]bool{}, heard: map[string]bool{}, resized: map[string]bool{}}
}

func (r *recovery) over(now time.Time) bool {
	return r.named && len(r.expected) == 0 || !now.Before(r.Until)
}

func (r *recovery) missing() []string { return slices.Sorted(maps.Keys(r.expected)) }

func (r *recovery) hear(id string) {
	if r != nil {
		delete(r.expected, id)
		r.heard[id] = true
	}
}

// Recovering reports whether the core is recovering, and the workflows still expected to report.
func (r *recovery) Recovering() (recovering bool, expected []string) {
	if r == nil {
		return false, nil
	}
	return true, r.missing()
}

// Asking reports whether the list of possible holders is missing.
func (r *recovery) Asking() bool { return r != nil && !r.named }

// ListAt returns the time before which they are not listed again; zero if there is none.
func (r *recovery) ListAt() time.Time {
	if r == nil {
		return time.Time{}
	}
	return r.listAt
}

func (e Expected) apply(c *Core, _ time.Time) {
	r := c.recovery
	if r == nil {
		return
	}
	for _, id := range e.IDs {
		if !r.heard[id] {
			r.expected[id] = true
		}
	}
	r.named = r.named || e.Final
	if e.Final {
		r.unlisted, r.listAt = "", time.Time{}
	}
}

func (e Unlisted) apply(c *Core, now time.Time) {
	if r := c.recovery; r.Asking() {
		r.unlisted, r.listAt = e.Reason, now.Add(listPause)
	}
}

// Grants of an earlier time may contradict later ones, so only durable data stay.
func (e Recover) apply(c *Core, now time.Time) {
	fresh := New(now, c.Durable())
	fresh.seq, fresh.out, fresh.disabled = c.seq, c.out, c.disabled
	fresh.inherit(now, e.Durable)
	*c = *fresh
}

func (e Inherited) apply(c *Core, now time.Time) {
	sizes := maps.Clone(e.Durable.Sizes)
	//workflowcheck:ignore what is deleted does not depend on the order
	maps.DeleteFunc(sizes, func(pool string, _ int) bool { return c.recovery == nil || c.recovery.resized[pool] })
	e.Durable.Sizes = sizes
	c.inherit(now, e.Durable)
}

func (c *Core) reassert(e Requested, held contract.AdmissionHeld, now time.Time) {
	c.next = max(c.next, held.Fence+max(held.Fences, 1))
	if known := c.known(e.Holder, held.ID); known != nil {
		if known.Granted && !e.Reset {
			return
		}
		c.remove(known)
	}
	r, readable := c.newRequest(e, held.AdmissionItem, earliest(held.Since, now))
	r.Granted, r.Fence = true, held.Fence
	switch lost := c.contested(r); {
	case !readable:
		return
	case lost.Code != "":
		lost.ID = r.ID
		c.decide(Lost{r.Holder, lost})
		return
	case !c.hasRoom(r.weight() + keyWeight*len(r.keys) + c.holderWeightOf(r)):
		c.decide(Lost{r.Holder, contract.AdmissionRefusal{ID: r.ID, Code: contract.RefusedFull, Object: contract.FullState, Used: c.Weight(), Limit: MaxWeight}})
		return
	}
	c.declare(r.Pools, e.DeclaredAt)
	c.add(r)
	h := c.holders[r.Holder]
	h.grace, h.budget = max(h.grace, e.Grace.Std()), e.Budget
	switch {
	case r.Lane != "":
		l := c.lanes.lane(r.Lane)
		l.holder = r
		c.lanes.hadTurn(l, r.JobType, r.Seq, c.hasRoom)
	case r.wantsResources():
		c.pools.take(r)
	default:
		for _, key := range r.keys {
			c.claims.claim(key, r)
		}
	}
	if e.Reset {
		c.renew(r)
	}
}

// Another clock has measured the asserted time, and it may be missing.
func earliest(since, now time.Time) time.Time {
	if since.IsZero() || since.After(now) {
		return now
	}
	return since
}

// contested returns the part of a request that belongs to another holder, with an empty code if there is none.
func (c *Core) contested(r *request) contract.AdmissionRefusal {
	if l := c.lanes.byName[r.Lane]; r.Lane != "" && l != nil && l.holder != nil {
		return contract.AdmissionRefusal{Code: contract.RefusedTaken, Object: r.Lane, By: l.holder.Holder.WorkflowID}
	}
	for _, key := range r.keys {
		if by := c.claims.holder(key); by != nil && !r.succeeds(by) {
			return contract.AdmissionRefusal{Code: contract.RefusedTaken, Object: contract.TakenKey, By: by.Holder.WorkflowID}
		}
	}
	for _, object := range r.Objects {
		s := c.pools.byName[objectMark+object.Name]
		switch {
		case s == nil:
		case s.exclusive != nil:
			return contract.AdmissionRefusal{Code: contract.RefusedTaken, Object: object.Name, By: s.exclusive.Holder.WorkflowID}
		case !object.Shared && s.shared > 0:
			return contract.AdmissionRefusal{Code: contract.RefusedTaken, Object: object.Name, By: s.holders.first().Holder.WorkflowID}
		}
	}
	return contract.AdmissionRefusal{}
}
