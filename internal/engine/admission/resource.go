package admission

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

type resources struct {
	requests       *registry
	byName         map[string]*resource
	pools, objects *sorted[string]
	classes        map[string]*class
	// Classes without a first visit, and resources with releases since the last service.
	fresh           []*class
	freed           []*resource
	aged            *sorted[*request]
	reserving       []*request
	reserved        []*resource
	reservedChanged bool
	// Granted requests by the task or job that they serve. Requests from within it pass reservations.
	outer  map[string]int
	weight int
}

func newResources(requests *registry) resources {
	return resources{
		requests: requests,
		byName:   map[string]*resource{}, pools: newSorted(strings.Compare), objects: newSorted(strings.Compare),
		classes: map[string]*class{}, aged: newSorted(bySeq), outer: map[string]int{},
	}
}

// resource is a pool or an object, held by one exclusive request or by several shared ones.
type resource struct {
	name   string
	isPool bool
	// For pools: newest declared size with its time, and an operator's size, which wins.
	declared         int
	declaredAt       time.Time
	operator         int
	used             int
	exclusive        *request
	shared           int
	holders, waiting *sorted[*request]
	largest          *sorted[*request]
	contended
	reserved int
	isFreed  bool
}

// Amounts of an object, so that pools and objects are counted alike.
const (
	together = 1
	alone    = 2
)

const (
	poolMark   = "pool "
	objectMark = "object "
)

// The default size is 1, as in Luigi.
func (s *resource) size() int { return max(cmp.Or(s.operator, s.declared), 1) }

func (s *resource) has(n int) bool {
	switch {
	case s.isPool:
		return s.used+n <= s.size()
	case n == alone:
		return s.exclusive == nil && s.shared == 0
	}
	return s.exclusive == nil
}

func (s *resource) offers(n int) bool {
	if s.isPool {
		return s.used+s.reserved+n <= s.size()
	}
	return s.has(n) && (s.reserved == 0 || s.reserved == together && n == together)
}

func (s *resource) reserve(n int) {
	if s.isPool {
		s.reserved += n
	} else {
		s.reserved = max(s.reserved, n)
	}
}

type need struct {
	*resource
	n int
}

func (p *resources) resource(name string, isPool bool) *resource {
	marked := objectMark + name
	if isPool {
		marked = poolMark + name
	}
	s := p.byName[marked]
	if s == nil {
		s = &resource{name: name, isPool: isPool, holders: newSorted(bySeq), waiting: newSorted(bySeq)}
		if s.young = newSorted(bySeq); isPool {
			s.largest = newSorted(func(a, b *request) int { return cmp.Or(cmp.Compare(b.amountOf(name), a.amountOf(name)), bySeq(a, b)) })
			p.pools.add(name)
		} else {
			p.objects.add(name)
		}
		p.byName[marked] = s
	}
	return s
}

func (r *request) amountOf(pool string) int {
	for _, amount := range r.Pools {
		if amount.Pool == pool {
			return amount.N
		}
	}
	return 0
}

// The next request declares a forgotten resource again. An operator's size stays.
func (p *resources) forget(s *resource) {
	if s.holders.len()+s.waiting.len() > 0 || s.operator > 0 {
		return
	}
	s.reserved = 0
	if s.isPool {
		delete(p.byName, poolMark+s.name)
		p.pools.remove(s.name)
	} else {
		delete(p.byName, objectMark+s.name)
		p.objects.remove(s.name)
	}
}

// Objects come first: the holder of an object may wait for a pool, hardly ever the other way round.
func (p *resources) needsOf(r *request) []need {
	if r.needs != nil {
		return r.needs
	}
	r.needs = make([]need, 0, len(r.Objects)+len(r.Pools))
	for _, object := range r.Objects {
		n := alone
		if object.Shared {
			n = together
		}
		r.needs = append(r.needs, need{p.resource(object.Name, false), n})
	}
	for _, amount := range r.Pools {
		r.needs = append(r.needs, need{p.resource(amount.Pool, true), amount.N})
	}
	return r.needs
}

// A smaller size may leave requests waiting for more than the pool will ever have. Of two sizes of the same time, the
// first one counts.
func (c *Core) declare(amounts []contract.AdmissionAmount, at time.Time) {
	for _, amount := range amounts {
		s := c.pools.resource(amount.Pool, true)
		if at.Before(s.declaredAt) || s.declared > 0 && at.Equal(s.declaredAt) {
			continue
		}
		before := s.size()
		s.declared, s.declaredAt = amount.Size, at
		c.resized(s, before)
	}
	for _, amount := range amounts { // The refusal of its only request forgets a pool.
		if s := c.pools.resource(amount.Pool, true); s.declaredAt.IsZero() {
			s.declared, s.declaredAt = amount.Size, at
		}
	}
}

func (c *Core) resized(s *resource, before int) {
	switch {
	case s.size() > before:
		c.pools.markFreed(s)
	case s.size() < before:
		c.refuseTooLarge(s)
	}
}

func (c *Core) askResources(r *request, declaredAt time.Time) {
	c.declare(r.Pools, declaredAt)
	if s := c.pools.tooSmall(r); s != nil {
		c.refuse(r, tooLarge(r, s))
		for _, amount := range r.Pools {
			c.pools.forget(c.pools.resource(amount.Pool, true))
		}
		return
	}
	c.add(r)
	c.pools.wait(r)
	c.asked = append(c.asked, r)
}

func (p *resources) tooSmall(r *request) *resource {
	for _, amount := range r.Pools {
		if s := p.resource(amount.Pool, true); amount.N > s.size() {
			return s
		}
	}
	return nil
}

func tooLarge(r *request, s *resource) contract.AdmissionRefusal {
	return contract.AdmissionRefusal{Code: contract.RefusedTooLarge, Object: s.name, N: r.amountOf(s.name), Limit: s.size()}
}

// Requests for more than the size would wait for ever, and in the end reserve the pool.
func (c *Core) refuseTooLarge(s *resource) {
	for r := s.largest.first(); r != nil && r.amountOf(s.name) > s.size(); r = s.largest.first() {
		refusal := tooLarge(r, s)
		c.drop(r)
		c.refuse(r, refusal)
	}
}

func (p *resources) take(r *request) {
	for _, need := range p.needsOf(r) {
		need.holders.add(r)
		switch {
		case need.isPool:
			need.used += need.n
		case need.n == alone:
			need.exclusive = r
		default:
			need.shared++
		}
	}
	if r.For != "" {
		p.countOuter(r, 1)
	}
}

func (p *resources) putBack(r *request) {
	for _, need := range p.needsOf(r) {
		need.holders.remove(r)
		switch {
		case need.isPool:
			need.used -= need.n
		case need.n == together:
			need.shared--
		case need.exclusive == r:
			need.exclusive = nil
		}
		p.markFreed(need.resource)
	}
	if r.For != "" {
		p.countOuter(r, -1)
	}
}

func (p *resources) markFreed(s *resource) {
	if !s.isFreed {
		s.isFreed = true
		p.freed = append(p.freed, s)
	}
}

func (p *resources) leave(r *request) {
	if r.Granted {
		p.putBack(r)
	} else {
		p.unwait(r)
	}
	for _, need := range p.needsOf(r) {
		p.forget(need.resource)
	}
}

// apply resizes. A pool that no request names and that returns to the declared size is dropped.
func (e Resized) apply(c *Core, _ time.Time) {
	s := c.pools.resource(e.Pool, true)
	before := s.size()
	if c.recovery != nil {
		c.recovery.resized[e.Pool] = true
	}
	c.pools.setOperator(s, max(e.Size, 0))
	c.resized(s, before)
	c.pools.forget(s)
}

func (p *resources) setOperator(s *resource, size int) {
	if s.operator > 0 {
		p.weight -= poolWeight + len(s.name)
	}
	if s.operator = size; size > 0 {
		p.weight += poolWeight + len(s.name)
	}
}

func merged(amounts []contract.AdmissionAmount) []contract.AdmissionAmount {
	sorted := slices.Clone(amounts)
	slices.SortStableFunc(sorted, func(a, b contract.AdmissionAmount) int { return cmp.Compare(a.Pool, b.Pool) })
	out := sorted[:0]
	for _, amount := range sorted {
		if n := len(out); n > 0 && out[n-1].Pool == amount.Pool {
			out[n-1].N += amount.N
			out[n-1].Size = max(out[n-1].Size, amount.Size)
			continue
		}
		out = append(out, amount)
	}
	return out
}

func united(objects []contract.AdmissionObject) []contract.AdmissionObject {
	sorted := slices.Clone(objects)
	slices.SortStableFunc(sorted, func(a, b contract.AdmissionObject) int { return cmp.Compare(a.Name, b.Name) })
	out := sorted[:0]
	for _, object := range sorted {
		if n := len(out); n > 0 && out[n-1].Name == object.Name {
			out[n-1].Shared = out[n-1].Shared && object.Shared
			continue
		}
		out = append(out, object)
	}
	return out
}
