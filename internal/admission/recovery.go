package admission

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// recovery is the time in which the desk does not know what is held. Nothing is
// granted until everybody who may hold something was heard or is gone.
type recovery struct {
	// Expected are the workflows still to be heard; Named says that all of them
	// are known.
	Expected []string `json:"expected,omitempty"`
	Named    bool     `json:"named,omitempty"`
	// Heard are those that answered before they were named.
	Heard []string  `json:"heard,omitempty"`
	Until time.Time `json:"until"`
}

func newRecovery(now time.Time) *recovery { return &recovery{Until: now.Add(RecoveryLimit)} }

func (r *recovery) hear(id string) {
	r.Expected = slices.DeleteFunc(r.Expected, func(other string) bool { return other == id })
	if !slices.Contains(r.Heard, id) {
		r.Heard = append(r.Heard, id)
	}
}

func (r *recovery) over(now time.Time) bool {
	return r.Named && len(r.Expected) == 0 || !now.Before(r.Until)
}

func (d *Desk) heard(id string) {
	if d.recovery != nil {
		d.recovery.hear(id)
	}
}

func (e Expected) apply(d *Desk, _ time.Time) {
	r := d.recovery
	if r == nil {
		return
	}
	for _, id := range e.IDs {
		if !slices.Contains(r.Heard, id) && !slices.Contains(r.Expected, id) {
			r.Expected = append(r.Expected, id)
		}
	}
	r.Named = r.Named || e.Final
}

// Watched lists whose end must be noticed: all holders, and, as holders without a
// first run, those that are still to be heard.
func (d *Desk) Watched() []Holder {
	list := d.Holders()
	if d.recovery == nil {
		return list
	}
	for _, id := range d.recovery.Expected {
		if !slices.ContainsFunc(list, func(h Holder) bool { return h.ID == id }) {
			list = append(list, Holder{ID: id})
		}
	}
	return list
}

// apply forgets everything but the operator's sizes and the failures: what the desk believes is
// of an earlier time, and a grant of then may contradict one that was made
// since. Whoever holds something says so.
func (e Recover) apply(d *Desk, now time.Time) {
	fresh := empty()
	fresh.seq, fresh.next, fresh.recovery = d.seq, max(d.next, e.FenceFloor), newRecovery(now)
	for _, name := range slices.Sorted(maps.Keys(d.pools)) {
		if size := d.pools[name].Operator; size > 0 {
			fresh.pools[name] = &pool{Operator: size}
		}
	}
	fresh.out, fresh.book = d.out, d.book
	*d = *fresh
}

// reassert believes what a holder says it was granted, unless it was given to
// another meanwhile.
func (d *Desk) reassert(e Asked, held Held, now time.Time) {
	d.next = max(d.next, held.Fence+max(held.Fences, 1))
	if known := d.byName[name{e.Holder, held.ID}]; known != nil {
		if known.Granted && !e.Reset {
			return
		}
		d.drop(known)
	}
	d.seq++
	t := &ticket{
		Request: held.Request, Holder: e.Holder, JobType: e.JobType, Grace: e.Grace, Seq: d.seq, Since: earliest(held.Since, now),
		Granted: true, Fence: held.Fence, Budget: e.Budget,
	}
	t.Keys, t.Pools, t.Objects = slices.Clone(t.Keys), merged(t.Pools), united(t.Objects)
	if reason := d.contested(t); reason != "" {
		d.decide(Lost{Holder: t.Holder, ID: t.ID, Reason: reason})
		return
	}
	d.declare(t.Pools, e.DeclaredAt)
	d.add(t)
	switch {
	case t.Lane != "":
		l := d.lane(t.Lane)
		l.holder, l.had[t.JobType] = t, t.Seq
	case t.wantsResources():
		d.take(t)
	default:
		for _, key := range t.Keys {
			d.keys[key] = t
		}
	}
	if e.Reset {
		d.renew(t)
	}
}

// earliest is since when something is held that was granted at a time that its
// holder may not know, and that another clock has measured.
func earliest(since, now time.Time) time.Time {
	if since.IsZero() || since.After(now) {
		return now
	}
	return since
}

func (d *Desk) contested(t *ticket) string {
	if l := d.lanes[t.Lane]; t.Lane != "" && l != nil && l.holder != nil {
		return fmt.Sprintf("lane %s belongs to %s now", t.Lane, l.holder.Holder.ID)
	}
	for _, key := range t.Keys {
		if by := d.keys[key]; by != nil {
			return fmt.Sprintf("a dedupe key belongs to %s now", by.Holder.ID)
		}
	}
	for _, claim := range t.Objects {
		if d.blocks(claim) {
			return fmt.Sprintf("object %s belongs to another now", claim.Name)
		}
	}
	return ""
}
