package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// lane lets one holder at a time.
type lane struct {
	holder  *ticket
	waiting []*ticket
	// had is when, counted in arrivals, a job type last got its turn.
	had map[string]int64
}

func (d *Desk) lane(name string) *lane {
	l := d.lanes[name]
	if l == nil {
		l = &lane{had: map[string]int64{}}
		d.lanes[name] = l
	}
	return l
}

// askLane queues a ticket. Two groups of one job type would do the same work
// one after the other, so the second is coalesced with the one that waits,
// unless one of them says that its work is its own.
func (d *Desk) askLane(t *ticket) {
	l := d.lane(t.Lane)
	for _, other := range l.waiting {
		if other.JobType == t.JobType && !other.Distinct && !t.Distinct {
			d.refuse(t, CodeCoalesced, fmt.Sprintf("%s already waits for lane %s and will do the same", other.Holder.ID, t.Lane))
			return
		}
	}
	l.waiting = append(l.waiting, t)
	d.add(t)
}

func (d *Desk) leaveLane(t *ticket) {
	l := d.lanes[t.Lane]
	if l == nil {
		return
	}
	if l.holder == t {
		l.holder = nil
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(other *ticket) bool { return other == t })
	if l.holder == nil && len(l.waiting) == 0 {
		delete(d.lanes, t.Lane)
	}
}

func (d *Desk) serveLanes(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(d.lanes)) {
		l := d.lanes[name]
		if l.holder != nil || len(l.waiting) == 0 {
			continue
		}
		t := l.pick()
		l.waiting = slices.DeleteFunc(l.waiting, func(other *ticket) bool { return other == t })
		l.holder = t
		d.seq++
		l.had[t.JobType] = d.seq
		d.grant(t, now)
	}
}

// pick chooses the next holder: alphabetically, but a job type that had its
// turn while another one waited goes behind that one.
func (l *lane) pick() *ticket {
	oldest := slices.MinFunc(l.waiting, func(a, b *ticket) int { return cmp.Compare(a.Seq, b.Seq) })
	//workflowcheck:ignore what is deleted does not depend on the order
	maps.DeleteFunc(l.had, func(_ string, at int64) bool { return at < oldest.Seq })
	best := oldest
	for _, t := range l.waiting {
		if t.JobType < best.JobType && !l.mustYield(t) {
			best = t
		}
	}
	return best
}

func (l *lane) mustYield(t *ticket) bool {
	at, had := l.had[t.JobType]
	return had && slices.ContainsFunc(l.waiting, func(other *ticket) bool { return other.Seq < at && other != t })
}
