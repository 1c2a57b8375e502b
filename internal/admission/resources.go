package admission

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// pool is a quantity that is shared out.
type pool struct {
	// Declared is the newest declared size, DeclaredAt when it was declared;
	// Operator is an operator's, which goes before.
	Declared   int       `json:"declared,omitempty"`
	DeclaredAt time.Time `json:"declared_at,omitzero"`
	Operator   int       `json:"operator,omitempty"`
	Used       int       `json:"-"`
}

// size of a pool that nobody declared is 1, as in Luigi.
func (p *pool) size() int { return max(cmp.Or(p.Operator, p.Declared), 1) }

// object is something that is claimed.
type object struct {
	exclusive *ticket
	shared    []*ticket
}

func (d *Desk) pool(name string) *pool {
	p := d.pools[name]
	if p == nil {
		p = &pool{}
		d.pools[name] = p
	}
	return p
}

// declare takes sizes over from a configuration that was read at that time. One
// that makes a pool smaller may leave somebody waiting for more than there will
// ever be.
func (d *Desk) declare(amounts []Amount, at time.Time) {
	shrunk := false
	for _, amount := range amounts {
		p := d.pool(amount.Pool)
		if at.Before(p.DeclaredAt) {
			continue
		}
		before := p.size()
		p.Declared, p.DeclaredAt = amount.Size, at
		shrunk = shrunk || p.size() < before
		d.dirty = d.dirty || p.size() > before
	}
	if shrunk {
		d.refuseTooLarge()
	}
}

func (d *Desk) askResources(t *ticket, declaredAt time.Time) {
	t.Pools, t.Objects = merged(t.Pools), united(t.Objects)
	d.declare(t.Pools, declaredAt)
	if reason := d.tooLarge(t); reason != "" {
		d.refuse(t, CodeTooLarge, reason)
		d.forgetPools(t)
		return
	}
	d.add(t)
	d.dirty = true
}

func (d *Desk) tooLarge(t *ticket) string {
	for _, amount := range t.Pools {
		if size := d.pool(amount.Pool).size(); amount.N > size {
			return fmt.Sprintf("it needs %d of pool %s, whose size is %d: declare more under `resources:` or with `roundsman pools resize %s --size N`", amount.N, amount.Pool, size, amount.Pool)
		}
	}
	return ""
}

// merged adds up amounts of one pool and sorts by name.
func merged(amounts []Amount) []Amount {
	sorted := slices.Clone(amounts)
	slices.SortStableFunc(sorted, func(a, b Amount) int { return cmp.Compare(a.Pool, b.Pool) })
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

// united keeps one claim per object, the exclusive one if there is any.
func united(objects []Object) []Object {
	sorted := slices.Clone(objects)
	slices.SortStableFunc(sorted, func(a, b Object) int { return cmp.Compare(a.Name, b.Name) })
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

// serveResources goes through those who wait, those that were overtaken too
// often first, then by priority, then in the order of asking. Who does not fit
// is passed by those behind, until it has been passed often enough: from then
// on what it needs is kept for it, one thing after the other, but not from what
// comes from within something that has resources.
func (d *Desk) serveResources(now time.Time) {
	if !d.dirty {
		return
	}
	d.dirty = false
	waiting := d.waitingForResources()
	kept := keeping{pools: map[string]int{}, objects: map[string]bool{}}
	for _, t := range waiting {
		switch {
		case d.fits(t, kept) || d.fits(t, keeping{}) && d.within(t):
			t.Keeps, t.KeptSince = nil, time.Time{}
			d.take(t)
			d.grant(t, now)
			t.countOvertaken(waiting)
		case t.Overtaken >= MaxOvertakes:
			d.keep(t, kept, now)
		}
	}
}

func (d *Desk) waitingForResources() []*ticket {
	var waiting []*ticket
	for _, t := range d.tickets {
		if !t.Granted && t.wantsResources() {
			waiting = append(waiting, t)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *ticket) int {
		if aged := b.Overtaken >= MaxOvertakes; aged != (a.Overtaken >= MaxOvertakes) {
			if aged {
				return 1
			}
			return -1
		}
		if a.Overtaken >= MaxOvertakes {
			return cmp.Compare(a.Seq, b.Seq)
		}
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Seq, b.Seq))
	})
	return waiting
}

// countOvertaken tells those that waited longer for something of the same.
func (t *ticket) countOvertaken(waiting []*ticket) {
	names := map[string]bool{}
	for _, need := range t.needs() {
		names[need] = true
	}
	for _, other := range waiting {
		if !other.Granted && other.Seq < t.Seq && slices.ContainsFunc(other.needs(), func(need string) bool { return names[need] }) {
			other.Overtaken++
		}
	}
}

// blocks reports whether somebody's claim excludes this one.
func (d *Desk) blocks(claim Object) bool {
	o := d.objects[claim.Name]
	return o != nil && (o.exclusive != nil || (!claim.Shared && len(o.shared) > 0))
}

func (d *Desk) take(t *ticket) {
	for _, amount := range t.Pools {
		d.pool(amount.Pool).Used += amount.N
	}
	for _, claim := range t.Objects {
		o := d.objects[claim.Name]
		if o == nil {
			o = &object{}
			d.objects[claim.Name] = o
		}
		if claim.Shared {
			o.shared = append(o.shared, t)
		} else {
			o.exclusive = t
		}
	}
}

func (d *Desk) putBack(t *ticket) {
	for _, amount := range t.Pools {
		d.pool(amount.Pool).Used -= amount.N
	}
	for _, claim := range t.Objects {
		o := d.objects[claim.Name]
		if o == nil {
			continue
		}
		if o.exclusive == t {
			o.exclusive = nil
		}
		o.shared = slices.DeleteFunc(o.shared, func(other *ticket) bool { return other == t })
		if o.exclusive == nil && len(o.shared) == 0 {
			delete(d.objects, claim.Name)
		}
	}
}

// forgetPools drops pools that nobody asks for any more: whoever asks next
// declares them again. An operator's size stays.
func (d *Desk) forgetPools(t *ticket) {
	for _, amount := range t.Pools {
		named := slices.ContainsFunc(d.tickets, func(other *ticket) bool {
			return slices.ContainsFunc(other.Pools, func(a Amount) bool { return a.Pool == amount.Pool })
		})
		if p := d.pools[amount.Pool]; !named && p != nil && p.Operator == 0 {
			delete(d.pools, amount.Pool)
		}
	}
}

// apply resizes. A pool that nobody asks for and that goes back to the declared
// size is not known any more.
func (e Resized) apply(d *Desk, _ time.Time) {
	d.pool(e.Pool).Operator = max(e.Size, 0)
	d.dirty = true
	d.refuseTooLarge()
	d.forgetPools(&ticket{Request: Request{Pools: []Amount{{Pool: e.Pool}}}})
}

// refuseTooLarge tells those who wait for more than there will ever be. They would
// wait for ever, and in the end keep the pool from everybody else.
func (d *Desk) refuseTooLarge() {
	for _, t := range d.waitingForResources() {
		if reason := d.tooLarge(t); reason != "" {
			d.drop(t)
			d.refuse(t, CodeTooLarge, reason)
		}
	}
}
