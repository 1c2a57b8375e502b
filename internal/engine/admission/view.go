package admission

import (
	"iter"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
)

const (
	defaultShown = 50
	maxShown     = 500
)

// View returns the holders and waiters that match the filter.
func (c *Core) View(filter contract.AdmissionFilter) contract.AdmissionView {
	if filter.Limit = min(filter.Limit, maxShown); filter.Limit <= 0 {
		filter.Limit = defaultShown
	}
	v := contract.AdmissionView{
		Keys: c.claims.held, HolderCount: len(c.holders),
		LaneCount: c.lanes.names.len(), PoolCount: c.pools.pools.len(), ObjectCount: c.pools.objects.len(),
	}
	v.Recovering, v.Expected = c.Recovering()
	if v.Recovering {
		v.Unlisted = c.recovery.unlisted
	}
	v.Expected = v.Expected[:min(len(v.Expected), filter.Limit)]
	if filter.WorkflowID != "" {
		c.viewOf(filter, &v)
		return v
	}
	for name := range limited(c.lanes.names.from(filter.After), filter) {
		v.Lanes = append(v.Lanes, c.lanes.view(name, filter, c.registry))
	}
	for name := range limited(c.pools.pools.from(filter.After), filter) {
		v.Pools = append(v.Pools, c.pools.poolView(name, filter))
	}
	for name := range limited(c.pools.objects.from(filter.After), filter) {
		v.Objects = append(v.Objects, c.pools.objectView(name, filter))
	}
	for h := range c.order.all() {
		if len(v.Holders) == filter.Limit {
			break
		}
		if h.live > 0 {
			v.Holders = append(v.Holders, h.AdmissionHolder)
		}
	}
	return v
}

func limited(names iter.Seq[string], filter contract.AdmissionFilter) iter.Seq[string] {
	return func(yield func(string) bool) {
		left := filter.Limit
		for name := range names {
			if name == filter.After {
				continue
			}
			if left--; left < 0 || !yield(name) {
				return
			}
		}
	}
}

func (c *Core) viewOf(filter contract.AdmissionFilter, v *contract.AdmissionView) {
	lanes, pools, objects := newSorted(strings.Compare), newSorted(strings.Compare), newSorted(strings.Compare)
	for _, h := range c.holdersNamed(filter.WorkflowID) {
		v.Holders = append(v.Holders, h.AdmissionHolder)
		for r := range h.requests.all() {
			if r.Lane != "" {
				lanes.add(r.Lane)
			}
			for _, amount := range r.Pools {
				pools.add(amount.Pool)
			}
			for _, object := range r.Objects {
				objects.add(object.Name)
			}
			if lanes.len()+pools.len()+objects.len() >= filter.Limit {
				break
			}
		}
	}
	for name := range lanes.all() {
		v.Lanes = append(v.Lanes, c.lanes.view(name, filter, c.registry))
	}
	for name := range pools.all() {
		v.Pools = append(v.Pools, c.pools.poolView(name, filter))
	}
	for name := range objects.all() {
		v.Objects = append(v.Objects, c.pools.objectView(name, filter))
	}
}

func (r *request) use() contract.AdmissionUse {
	return contract.AdmissionUse{WorkflowID: r.Holder.WorkflowID, ID: r.ID, JobType: r.JobType, For: r.For, Since: r.Since, FreeAt: r.FreeAt}
}

func (s *lanes) view(name string, filter contract.AdmissionFilter, requests *registry) contract.AdmissionLane {
	l := s.byName[name]
	v := contract.AdmissionLane{Name: name, WaitingCount: l.waiting.len()}
	if l.holder != nil {
		v.Holder = new(l.holder.use())
	}
	v.Waiting = requests.uses(l.waiting, filter, (*request).use)
	return v
}

// Pool describes one pool; an unknown one has the size 1.
func (c *Core) Pool(name string) contract.AdmissionPool {
	if c.pools.byName[poolMark+name] == nil {
		return contract.AdmissionPool{Name: name, Size: 1}
	}
	return c.pools.poolView(name, contract.AdmissionFilter{Limit: defaultShown})
}

func (p *resources) poolView(name string, filter contract.AdmissionFilter) contract.AdmissionPool {
	s := p.byName[poolMark+name]
	use := func(r *request) contract.AdmissionUse {
		u := r.use()
		u.N, u.Kept = r.amountOf(name), slices.Contains(r.Reserves, poolMark+name)
		return u
	}
	return contract.AdmissionPool{
		Name: name, Size: s.size(), Declared: s.declared, Operator: s.operator, Used: s.used,
		HolderCount: s.holders.len(), WaitingCount: s.waiting.len(), Holders: p.requests.uses(s.holders, filter, use), Waiting: p.requests.uses(s.waiting, filter, use),
	}
}

func (p *resources) objectView(name string, filter contract.AdmissionFilter) contract.AdmissionThing {
	s := p.byName[objectMark+name]
	use := func(r *request) contract.AdmissionUse {
		u := r.use()
		for _, object := range r.Objects {
			u.Shared = u.Shared || object.Name == name && object.Shared
		}
		u.Kept = slices.Contains(r.Reserves, objectMark+name)
		return u
	}
	return contract.AdmissionThing{
		Name: name, HolderCount: s.holders.len(), WaitingCount: s.waiting.len(), Holders: p.requests.uses(s.holders, filter, use), Waiting: p.requests.uses(s.waiting, filter, use),
	}
}

// KeyHolder returns the holder of a key.
func (c *Core) KeyHolder(key uint64) (contract.AdmissionUse, bool) {
	r := c.claims.holder(key)
	if r == nil {
		return contract.AdmissionUse{}, false
	}
	return r.use(), true
}
