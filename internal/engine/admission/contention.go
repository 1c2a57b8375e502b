package admission

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxOvertakes trades use of the pools (a large request does not delay small ones) against the longest wait.
const MaxOvertakes = 16

type contention struct {
	needs []need
	class *class
	// Aged means overtaken too often; Reserving means one of the oldest aged requests.
	Aged, Reserving bool
	// Reserves lists the resources reserved for the request. ReservedSince: one of them is free and unused. Rounds
	// counts dropped reservations; see [resources.reserve].
	Reserves      []string
	ReservedSince time.Time
	Rounds        int
}

// class is a group of waiting requests with the same needs. It is indexed under one missing resource, so that only
// classes that wait for a released resource are visited.
type class struct {
	key     string
	members *sorted[*request]
	at      *bucket
}

type bucket struct {
	n       int
	classes *sorted[*class]
}

type contended struct {
	// parked classes wait for the end of a reservation; both are ascending by amount.
	missing, parked []*bucket
	// young has the waiting requests that are not aged. passes has the highest sequence numbers granted while an
	// older request waited, descending. A request below the last of [MaxOvertakes] is aged.
	young  *sorted[*request]
	passes []int64
}

// byRank: aged requests first, by age; then by priority; then in the order of arrival.
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

func (p *resources) wait(r *request) {
	for _, need := range p.needsOf(r) {
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
		p.reserving = append(p.reserving, r)
		return
	case r.Aged:
		p.aged.add(r)
	}
	p.enroll(r)
}

func (p *resources) enroll(r *request) {
	key := p.classKey(r)
	k := p.classes[key]
	if k == nil {
		k = &class{key: key, members: newSorted(byRank)}
		p.classes[key] = k
		p.fresh = append(p.fresh, k)
	}
	r.class = k
	at := k.at
	k.moveTo(nil)
	k.members.add(r)
	k.moveTo(at)
}

func (p *resources) unenroll(r *request) {
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
	delete(p.classes, k.key)
}

func (k *class) moveTo(at *bucket) {
	if k.at != nil {
		k.at.classes.remove(k)
	}
	if k.at = at; at != nil {
		at.classes.add(k)
	}
}

func (p *resources) classKey(r *request) string {
	var key strings.Builder
	key.WriteString(strconv.FormatBool(p.within(r)))
	for _, need := range p.needsOf(r) {
		key.WriteString(strconv.Quote(need.name))
		key.WriteString(strconv.FormatBool(need.isPool))
		key.WriteString(strconv.Itoa(need.n))
	}
	return key.String()
}

func (p *resources) unwait(r *request) {
	for _, need := range p.needsOf(r) {
		need.waiting.remove(r)
		if need.isPool {
			need.largest.remove(r)
		}
		need.young.remove(r)
		if need.young.len() == 0 {
			p.weight -= passWeight * len(need.passes)
			need.passes = nil
		}
	}
	p.unenroll(r)
	p.aged.remove(r)
	if r.Reserving {
		p.reserving = slices.DeleteFunc(p.reserving, func(other *request) bool { return other == r })
		p.reservedChanged = true
	}
	r.contention = contention{needs: r.needs}
}

// serveResources grants requests that fit: first those that reserve, oldest first; then by rank. Others pass a
// request that does not fit, up to [MaxOvertakes] times.
func (c *Core) serveResources(now time.Time) {
	p := &c.pools
	if len(p.freed)+len(p.fresh) == 0 && !p.reservedChanged && !p.reservedTooLong(now) {
		return
	}
	p.reservedChanged = false
	c.serveReserving(now)
	for _, k := range p.fresh {
		if k.members.len() > 0 && k.at == nil {
			first := p.needsOf(k.members.first())[0]
			k.moveTo(bucketOf(&first.missing, first.n))
			p.markFreed(first.resource)
		}
	}
	p.fresh = nil
	for k := p.candidate(); k != nil; k = p.candidate() {
		r := k.members.first()
		if at := p.blockedAt(r); at != nil {
			k.moveTo(at)
			continue
		}
		p.unwait(r)
		p.take(r)
		c.grant(r, now)
		p.countPass(r)
	}
}

// A resource without a candidate is not visited again, because serving only takes.
func (p *resources) candidate() *class {
	var best *class
	left := p.freed[:0]
	for _, s := range p.freed {
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
	clear(p.freed[len(left):])
	p.freed = left
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

func compacted(list []*bucket) []*bucket {
	if len(list) < 8 {
		return list
	}
	return slices.DeleteFunc(list, func(b *bucket) bool { return b.classes.len() == 0 })
}

func (p *resources) blockedAt(r *request) *bucket {
	needs := p.needsOf(r)
	for _, need := range needs {
		if !need.has(need.n) {
			return bucketOf(&need.missing, need.n)
		}
	}
	if p.within(r) {
		return nil
	}
	for _, need := range needs {
		if !need.offers(need.n) {
			return bucketOf(&need.parked, need.n)
		}
	}
	return nil
}

// countPass ages the requests that a granted one has passed too often.
func (p *resources) countPass(r *request) {
	for _, need := range p.needsOf(r) {
		if need.young.len() == 0 || need.young.first().Seq > r.Seq {
			continue
		}
		at, _ := slices.BinarySearchFunc(need.passes, r.Seq, func(seq, x int64) int { return cmp.Compare(x, seq) })
		if at == MaxOvertakes {
			continue
		}
		need.passes = slices.Insert(need.passes, at, r.Seq)
		if p.weight += passWeight; len(need.passes) > MaxOvertakes {
			need.passes = need.passes[:MaxOvertakes]
			p.weight -= passWeight
		}
		p.age(need.resource)
	}
}

func (p *resources) age(s *resource) {
	for len(s.passes) == MaxOvertakes && s.young.len() > 0 && s.young.first().Seq < s.passes[MaxOvertakes-1] {
		r := s.young.first()
		at := r.class.at
		r.class.moveTo(nil)
		r.class.members.remove(r)
		r.Aged = true
		r.class.members.add(r)
		r.class.moveTo(at)
		for _, need := range p.needsOf(r) {
			need.young.remove(r)
		}
		p.aged.add(r)
		p.reservedChanged = true
	}
}
