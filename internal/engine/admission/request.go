package admission

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

type request struct {
	contract.AdmissionItem

	Holder  contract.AdmissionHolder
	JobType string
	Seq     int64
	// Since is the time of the request or, once Granted, of the grant.
	Since   time.Time
	Granted bool
	Waited  time.Duration
	Fence   int64
	// FreeAt follows the end or reset of the holder. An orphan was forgotten by a reset holder.
	FreeAt time.Time
	Orphan bool
	keys   []uint64
	freed  int
	contention
}

func bySeq(a, b *request) int { return cmp.Compare(a.Seq, b.Seq) }

func (r *request) wantsResources() bool { return len(r.Pools)+len(r.Objects) > 0 }

func (e Requested) apply(c *Core, now time.Time) {
	c.revive(e)
	if e.Reassert {
		c.recovery.hear(e.Holder.WorkflowID)
		c.forgetOthers(e, now)
	}
	c.settle(e, now)
	c.results.keepResults(e)
	released := c.release(e)
	for _, held := range e.Held {
		// A release wins over an assertion: the job ended in the workflow task that received the query.
		if !e.ReleaseAll && !released[held.ID] {
			c.reassert(e, held, now)
		}
	}
	for _, item := range e.Items {
		c.ask(e, item, now)
	}
	c.reportStopped(e, now)
}

// revive undoes the end of a holder that sends a message: a group that was terminated and reset is the same holder
// again. A late message from before its end is harmless: the watcher detects the end again.
//
// The longest grace applies: the holder may still run attempts of an earlier heartbeat timeout.
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

// Either admission missed the release of an omitted request, or the holder was reset and attempts may live on for the grace.
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
		c.setAside(known, now)
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

// setAside makes place for a request with the same id. The keys of a granted claim stay for the grace: attempts from
// before a reset of the holder may live on.
func (c *Core) setAside(r *request, now time.Time) {
	if !r.Granted || len(r.keys) == 0 {
		c.remove(r)
		return
	}
	before := *c.holders[r.Holder]
	c.forgetRequest(r)
	r.ID, r.Orphan = fmt.Sprintf("%s.before-%d", r.ID, r.Seq), true
	c.add(r)
	h := c.holders[r.Holder]
	h.grace, h.budget = before.grace, before.budget
	c.end(r, now)
}

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

// The numbers of a reset holder's item may have changed. The remaining keys of a claim are always decided again.
func (r *request) same(item contract.AdmissionItem) bool {
	return len(item.Keys) == 0 && r.Lane == item.Lane && r.Start == item.Start && r.sameTask(item.Budget) &&
		slices.EqualFunc(r.Pools, merged(item.Pools), sameAmount) && slices.Equal(r.Objects, united(item.Objects))
}

func sameAmount(a, b contract.AdmissionAmount) bool { return a.Pool == b.Pool && a.N == b.N }

func (r *request) fault() string {
	kinds := lists.Count([]bool{r.Lane != "", len(r.keys) > 0, r.wantsResources()}, func(present bool) bool { return present })
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
