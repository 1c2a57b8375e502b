package admission

import (
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

const (
	// ReserveLimit is the time for which a free resource is reserved. It doubles after each failure, up to maxRounds
	// times. The holder of the other resource may need the reserved one in order to end: its handler may submit a job
	// and wait for it. For DAGs this is detected, see [resources.within].
	ReserveLimit = time.Minute
	maxRounds    = 7
	// maxReserving bounds the aged requests that reserve at the same time, oldest first.
	maxReserving = 16
)

// A resource that is no longer reserved may serve others.
func (c *Core) serveReserving(now time.Time) {
	p := &c.pools
	for len(p.reserving) < maxReserving && p.aged.len() > 0 {
		r := p.aged.first()
		p.aged.remove(r)
		p.unenroll(r)
		r.Reserving = true
		p.reserving = append(p.reserving, r)
	}
	if len(p.reserving)+len(p.reserved) == 0 {
		return
	}
	slices.SortFunc(p.reserving, bySeq)
	before := make([]int, len(p.reserved))
	for i, s := range p.reserved {
		before[i], s.reserved = s.reserved, 0
	}
	former := p.reserved
	p.reserved = nil
	for _, r := range slices.Clone(p.reserving) {
		if p.blockedAt(r) == nil {
			p.unwait(r)
			p.take(r)
			c.grant(r, now)
			p.countPass(r)
			continue
		}
		p.reserve(r, now)
	}
	p.reservedChanged = len(p.reserving) < maxReserving && p.aged.len() > 0
	for i, s := range former {
		if s.reserved < before[i] {
			p.markFreed(s)
		}
	}
}

// reserve reserves resources one at a time, always one that is not free. So common resources are not idle while
// another job holds a rare one. A resource that was free and reserved for too long is released.
func (p *resources) reserve(r *request, now time.Time) {
	isFree := func(marked string) bool { n := r.needOf(marked); return n.resource != nil && n.offers(n.n) }
	missing := func(marked string) bool { return !isFree(marked) }
	if until := r.reservesUntil(); !until.IsZero() && !until.After(now) {
		r.Reserves = slices.DeleteFunc(r.Reserves, isFree)
		r.Rounds = min(r.Rounds+1, maxRounds)
	}
	if !slices.ContainsFunc(r.Reserves, missing) {
		for _, need := range p.needsOf(r) {
			if !need.offers(need.n) {
				r.Reserves = append(r.Reserves, need.marked())
				break
			}
		}
	}
	switch idle := slices.ContainsFunc(r.Reserves, isFree); {
	case !idle:
		r.ReservedSince = time.Time{}
	case r.ReservedSince.IsZero() || !r.reservesUntil().After(now):
		r.ReservedSince = now
	}
	for _, marked := range r.Reserves {
		n := r.needOf(marked)
		if n.reserved == 0 {
			p.reserved = append(p.reserved, n.resource)
		}
		n.reserve(n.n)
	}
}

func (s *resource) marked() string {
	if s.isPool {
		return poolMark + s.name
	}
	return objectMark + s.name
}

func (r *request) needOf(marked string) need {
	for _, n := range r.needs {
		if n.marked() == marked {
			return n
		}
	}
	return need{}
}

func (r *request) reservesUntil() time.Time {
	if r.ReservedSince.IsZero() {
		return time.Time{}
	}
	return r.ReservedSince.Add(ReserveLimit << r.Rounds)
}

func (p *resources) reservedTooLong(now time.Time) bool {
	return slices.ContainsFunc(p.reserving, func(r *request) bool {
		until := r.reservesUntil()
		return !until.IsZero() && !until.After(now)
	})
}

// within reports whether the request comes from inside a task or job that holds resources, which are released only
// after this request is granted. A wait for another reservation could never end.
func (p *resources) within(r *request) bool {
	id := r.Holder.WorkflowID
	for at := range len(id) {
		if id[at] == '/' && p.outer[id[:at]] > 0 {
			return true
		}
	}
	return p.outer[id] > 0
}

// Requests from within a counted job or task change their class.
func (p *resources) countOuter(r *request, by int) {
	outer := r.Holder.WorkflowID + "/" + r.For
	before := p.outer[outer]
	if p.outer[outer] += by; before+by == 0 {
		delete(p.outer, outer)
	}
	if before > 0 && before+by > 0 {
		return
	}
	inner := p.requests.holdersNamed(outer)
	for h := range p.requests.order.from(&holder{AdmissionHolder: contract.AdmissionHolder{WorkflowID: outer + "/"}}) {
		if !strings.HasPrefix(h.WorkflowID, outer+"/") {
			break
		}
		inner = append(inner, h)
	}
	for _, h := range inner {
		for _, r := range h.requests.list() {
			if r.class != nil {
				p.unenroll(r)
				p.enroll(r)
			}
		}
		p.reservedChanged = true
	}
}
