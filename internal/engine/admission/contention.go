package admission

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxOvertakes is how often a waiting request for resources may be passed by
// others at one of the things that it needs. It trades use of the pools (a large
// request does not hold up small ones) against the longest wait.
const MaxOvertakes = 16

// contention is a request's place among those that wait for resources.
type contention struct {
	needs []need
	class *class
	// Aged: it was overtaken too often. Reserving: it is one of the oldest that were.
	Aged, Reserving bool
	// Reserves is what is reserved for it, ReservedSince since when some of that is
	// free and unused, Rounds how often it gave that up; see [Core.reserve].
	Reserves      []string
	ReservedSince time.Time
	Rounds        int
}

// class is a group of waiting requests with the same needs: if the first of them does
// not fit, none does. It is found under one need that is missing, so that only those
// classes are looked at that wait for something that was given back.
type class struct {
	key     string
	members *sorted[*request]
	// at is where it is found; nil: nowhere yet.
	at *bucket
}

// bucket has the classes that miss n of a resource.
type bucket struct {
	n       int
	classes *sorted[*class]
}

// contended is what waits for a resource.
type contended struct {
	// missing has the classes that wait until it is given back, parked those that
	// wait until it is not reserved any more; both by amount, ascending.
	missing, parked []*bucket
	// young has the waiting requests that are not aged. passes has the highest
	// sequence numbers among those that were granted while an older one waited, in
	// descending order: a request below the last of [MaxOvertakes] is aged.
	young  *sorted[*request]
	passes []int64
}

// byRank orders requests that wait: aged ones first, by their age, then by priority,
// then in the order of asking.
func byRank(a, b *request) int {
	switch {
	case a.Aged != b.Aged && a.Aged:
		return -1
	case a.Aged != b.Aged:
		return 1
	case a.Aged:
		return bySeq(a, b)
	}
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), bySeq(a, b))
}

func byFirst(a, b *class) int { return byRank(a.members.first(), b.members.first()) }

func bucketOf(list *[]*bucket, n int) *bucket {
	at, found := slices.BinarySearchFunc(*list, n, func(b *bucket, n int) int { return cmp.Compare(b.n, n) })
	if !found {
		*list = slices.Insert(*list, at, &bucket{n: n, classes: newSorted(byFirst)})
	}
	return (*list)[at]
}

// wait queues a request that was not looked at yet.
func (c *Core) wait(r *request) {
	for _, need := range c.needsOf(r) {
		need.waiting.add(r)
		if need.isPool {
			need.largest.add(r)
		}
		if !r.Aged {
			need.young.add(r)
		}
	}
	switch {
	case r.Reserving:
		c.pools.reserving = append(c.pools.reserving, r)
		return
	case r.Aged:
		c.pools.aged.add(r)
	}
	c.enroll(r)
}

// enroll puts a request into its class. A class that was blocked still is.
func (c *Core) enroll(r *request) {
	key := c.classKey(r)
	k := c.pools.classes[key]
	if k == nil {
		k = &class{key: key, members: newSorted(byRank)}
		c.pools.classes[key] = k
		c.pools.fresh = append(c.pools.fresh, k)
	}
	r.class = k
	at := k.at
	k.moveTo(nil)
	k.members.add(r)
	k.moveTo(at)
}

// unenroll takes a request out of its class.
func (c *Core) unenroll(r *request) {
	k := r.class
	if k == nil {
		return
	}
	at := k.at
	k.moveTo(nil)
	k.members.remove(r)
	r.class = nil
	if k.members.len() > 0 {
		k.moveTo(at)
		return
	}
	delete(c.pools.classes, k.key)
}

func (k *class) moveTo(at *bucket) {
	if k.at != nil {
		k.at.classes.remove(k)
	}
	if k.at = at; at != nil {
		at.classes.add(k)
	}
}

func (c *Core) classKey(r *request) string {
	var key strings.Builder
	key.WriteString(strconv.FormatBool(c.within(r)))
	for _, need := range c.needsOf(r) {
		key.WriteString(strconv.Quote(need.name))
		key.WriteString(strconv.FormatBool(need.isPool))
		key.WriteString(strconv.Itoa(need.n))
	}
	return key.String()
}

// unwait takes a request out of the queues.
func (c *Core) unwait(r *request) {
	for _, need := range c.needsOf(r) {
		need.waiting.remove(r)
		if need.isPool {
			need.largest.remove(r)
		}
		need.young.remove(r)
		if need.young.len() == 0 {
			c.weight -= passWeight * len(need.passes)
			need.passes = nil
		}
	}
	c.unenroll(r)
	c.pools.aged.remove(r)
	if r.Reserving {
		c.pools.reserving = slices.DeleteFunc(c.pools.reserving, func(other *request) bool { return other == r })
		c.pools.reservedChanged = true
	}
	r.contention = contention{needs: r.needs}
}

// serveResources grants what fits: to those that reserve, the oldest first, then, in
// the order of their rank, to those that wait for something that was given back.
// A request that does not fit is passed by those behind, until it was passed often enough.
func (c *Core) serveResources(now time.Time) {
	p := &c.pools
	if len(p.freed)+len(p.fresh) == 0 && !p.reservedChanged && !c.reservedTooLong(now) {
		return
	}
	p.reservedChanged = false
	c.serveReserving(now)
	for _, k := range p.fresh {
		if k.members.len() > 0 && k.at == nil {
			first := c.needsOf(k.members.first())[0]
			k.moveTo(bucketOf(&first.missing, first.n))
			c.freed(first.resource)
		}
	}
	p.fresh = nil
	for k := c.candidate(); k != nil; k = c.candidate() {
		r := k.members.first()
		if at := c.blockedAt(r); at != nil {
			k.moveTo(at)
			continue
		}
		c.unwait(r)
		c.take(r)
		c.grant(r, now)
		c.countPass(r)
	}
}

// candidate returns the class of the highest rank that may fit because something that
// it waited for was given back. A resource without one is not looked at again:
// serving takes and does not give back.
func (c *Core) candidate() *class {
	var best *class
	left := c.pools.freed[:0]
	for _, s := range c.pools.freed {
		k := s.candidate()
		if k == nil {
			s.isFreed = false
			s.missing, s.parked = compacted(s.missing), compacted(s.parked)
			continue
		}
		left = append(left, s)
		if best == nil || byFirst(k, best) < 0 {
			best = k
		}
	}
	clear(c.pools.freed[len(left):])
	c.pools.freed = left
	return best
}

func (s *resource) candidate() *class {
	var best *class
	better := func(b *bucket) {
		if k := b.classes.first(); k != nil && (best == nil || byFirst(k, best) < 0) {
			best = k
		}
	}
	for _, b := range s.missing {
		if !s.has(b.n) {
			break
		}
		better(b)
	}
	for _, b := range s.parked {
		if !s.offers(b.n) {
			break
		}
		better(b)
	}
	return best
}

// compacted drops empty buckets once there are many.
func compacted(list []*bucket) []*bucket {
	if len(list) < 8 {
		return list
	}
	return slices.DeleteFunc(list, func(b *bucket) bool { return b.classes.len() == 0 })
}

// blockedAt returns where a request waits for the first thing that it misses; nil:
// it fits.
func (c *Core) blockedAt(r *request) *bucket {
	needs := c.needsOf(r)
	for _, need := range needs {
		if !need.has(need.n) {
			return bucketOf(&need.missing, need.n)
		}
	}
	if c.within(r) {
		return nil
	}
	for _, need := range needs {
		if !need.offers(need.n) {
			return bucketOf(&need.parked, need.n)
		}
	}
	return nil
}

// countPass counts that a granted request has passed those that waited longer for
// something of the same, and finds those that are aged by now.
func (c *Core) countPass(r *request) {
	for _, need := range c.needsOf(r) {
		if need.young.len() == 0 || need.young.first().Seq > r.Seq {
			continue
		}
		at, _ := slices.BinarySearchFunc(need.passes, r.Seq, func(seq, x int64) int { return cmp.Compare(x, seq) })
		if at == MaxOvertakes {
			continue
		}
		need.passes = slices.Insert(need.passes, at, r.Seq)
		if c.weight += passWeight; len(need.passes) > MaxOvertakes {
			need.passes = need.passes[:MaxOvertakes]
			c.weight -= passWeight
		}
		c.age(need.resource)
	}
}

func (c *Core) age(s *resource) {
	for len(s.passes) == MaxOvertakes && s.young.len() > 0 && s.young.first().Seq < s.passes[MaxOvertakes-1] {
		r := s.young.first()
		at := r.class.at
		r.class.moveTo(nil)
		r.class.members.remove(r)
		r.Aged = true
		r.class.members.add(r)
		r.class.moveTo(at)
		for _, need := range c.needsOf(r) {
			need.young.remove(r)
		}
		c.pools.aged.add(r)
		c.pools.reservedChanged = true
	}
}
