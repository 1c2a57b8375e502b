package admission

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// request is something that a holder asked for: it waits or is granted.
type request struct {
	// Its keys are in keys.
	contract.AdmissionItem

	Holder  contract.AdmissionHolder
	JobType string
	// Seq is its place in the order of arrival.
	Seq int64
	// Since is when it was asked or, once Granted, when it was granted.
	Since   time.Time
	Granted bool
	// Waited is how long it waited for its grant.
	Waited time.Duration
	Fence  int64
	// FreeAt is set when its holder has ended, or was reset and does not know of it:
	// then it is an orphan, which stays so unless it is asked for again.
	FreeAt time.Time
	Orphan bool
	// keys are those that it claims, freed counts those among them that are free
	// again.
	keys  []uint64
	freed int
	// contention is its place among those that wait for resources.
	contention
}

func bySeq(a, b *request) int { return cmp.Compare(a.Seq, b.Seq) }

func (r *request) wantsResources() bool { return len(r.Pools)+len(r.Objects) > 0 }

func (e Requested) apply(c *Core, now time.Time) {
	c.revive(e)
	if e.Reassert {
		c.hear(e.Holder.WorkflowID)
		c.forgetOthers(e, now)
	}
	c.settle(e, now)
	c.keepResults(e)
	released := c.release(e)
	for _, held := range e.Held {
		// A holder that gives back what it asserts in one message has it no more: the
		// job ended in the workflow task that took the question in.
		if !e.ReleaseAll && !released[held.ID] {
			c.reassert(e, held, now)
		}
	}
	for _, item := range e.Items {
		c.ask(e, item, now)
	}
	c.reportStopped(e, now)
}

// revive takes back that a holder has ended: it sends. A group that was terminated
// and reset is the same holder again, and what was to be freed after its grace would
// be given to others while it works. A message from before its end, which comes late,
// does no harm: the watcher finds its end once more.
//
// Its resources are kept for the longest of its graces: it may still run what it
// started under another heartbeat timeout.
func (c *Core) revive(e Requested) {
	h := c.holders[e.Holder]
	if h == nil {
		return
	}
	h.grace = max(h.grace, e.Grace.Std())
	if h.ending == 0 {
		return
	}
	for _, r := range h.requests.list() {
		if !r.Orphan {
			c.setFreeAt(r, time.Time{})
		}
	}
}

// release drops what the message gives back and returns its ids.
func (c *Core) release(e Requested) map[string]bool {
	if e.ReleaseAll {
		for _, r := range c.requestsOf(e.Holder) {
			c.drop(r)
		}
		return nil
	}
	released := make(map[string]bool, len(e.Release))
	for _, id := range e.Release {
		released[id] = true
		if r := c.known(e.Holder, id); r != nil {
			c.drop(r)
		}
	}
	return released
}

// forgetOthers drops what the holder does not name any more. Admission was away
// when it was released; or the holder was reset, and what it has started with it
// may live on for its grace.
func (c *Core) forgetOthers(e Requested, now time.Time) {
	named := map[string]bool{}
	for i := range e.Held {
		named[e.Held[i].ID] = true
	}
	for i := range e.Items {
		named[e.Items[i].ID] = true
	}
	for _, r := range c.requestsOf(e.Holder) {
		switch {
		case named[r.ID] || r.Orphan:
		case e.Reset:
			c.end(r, now)
			r.Orphan = true
		default:
			c.drop(r)
		}
	}
}

// newRequest reads an item; ok is false if its keys cannot be read.
func (c *Core) newRequest(e Requested, item contract.AdmissionItem, now time.Time) (r *request, ok bool) {
	keys, err := UnpackKeys(item.Keys)
	c.seq++
	r = &request{AdmissionItem: item, Holder: e.Holder, JobType: e.JobType, Seq: c.seq, Since: now, keys: keys}
	r.Keys, r.Pools, r.Objects = nil, merged(item.Pools), united(item.Objects)
	return r, err == nil
}

func (c *Core) ask(e Requested, item contract.AdmissionItem, now time.Time) {
	if known := c.known(e.Holder, item.ID); known != nil {
		if !e.Reset && !known.Orphan || known.same(item) {
			c.again(known, e, item)
			return
		}
		c.remove(known)
	}
	r, readable := c.newRequest(e, item, now)
	if rule := r.fault(); rule != "" || !readable {
		c.refuse(r, contract.AdmissionRefusal{Code: contract.RefusedInvalid, Object: rule})
		return
	}
	if c.disables(r, e.Budget, now) || c.disablesTask(r, now) || !c.admits(r) {
		return
	}
	switch {
	case r.Lane != "":
		c.askLane(r)
	case r.wantsResources():
		c.askResources(r, e.DeclaredAt)
	default:
		c.add(r)
		c.claims.asked += len(r.keys)
		if c.recovery == nil {
			c.answerKey(r, e.Budget, now)
		}
	}
	if h := c.holders[e.Holder]; h != nil {
		h.grace, h.budget = max(h.grace, e.Grace.Std()), e.Budget
	}
}

// again answers a repeat.
func (c *Core) again(known *request, e Requested, item contract.AdmissionItem) {
	switch {
	case !known.Granted && known.wantsResources():
		c.asked = append(c.asked, known)
	case !known.Granted:
	case e.Reset || known.Orphan:
		c.renew(known)
	case len(item.Keys) > 0:
		c.repeatKeys(known, item)
	default:
		c.answer(known)
	}
}

func (e Repeated) apply(c *Core, _ time.Time) {
	for _, r := range c.requestsOf(contract.AdmissionHolder(e)) {
		if r.Granted && !r.Orphan && (r.Lane != "" || r.Budget != nil || r.wantsResources()) {
			c.answer(r)
		}
	}
}

// same reports whether a holder that was reset asks for the same thing as under that
// name before: what is found again may have other numbers. Which of its keys are
// still its own is always decided again.
func (r *request) same(item contract.AdmissionItem) bool {
	return len(item.Keys) == 0 && r.Lane == item.Lane && r.Start == item.Start && r.sameTask(item.Budget) &&
		slices.EqualFunc(r.Pools, merged(item.Pools), sameAmount) && slices.Equal(r.Objects, united(item.Objects))
}

// sameAmount leaves out the declared size, which is no part of the request.
func sameAmount(a, b contract.AdmissionAmount) bool { return a.Pool == b.Pool && a.N == b.N }

// fault returns the rule that the request breaks, or "".
func (r *request) fault() string {
	kinds := 0
	for _, present := range []bool{r.Lane != "", len(r.keys) > 0, r.wantsResources()} {
		if present {
			kinds++
		}
	}
	if kinds > 1 {
		return contract.RuleOneKind
	}
	for _, amount := range r.Pools {
		if amount.Pool == "" || amount.N < 1 {
			return contract.RulePool
		}
	}
	for _, object := range r.Objects {
		if object.Name == "" {
			return contract.RuleObject
		}
	}
	return ""
}
