package admission

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Pools and objects are released much more often than turns. Both records yield to holders and waiters.
const (
	maxPastWeight = 48_000
	pastWeight    = 40
	defaultPast   = 100
	maxPast       = 1000
)

// past records the newest releases of lanes, pools and objects within the free room.
type past struct {
	seq         int64
	turns, uses pastRing
}

type pastRing struct {
	entries []savedPast
	weight  int
}

type savedPast struct {
	Seq     int64         `json:"q"`
	Holder  string        `json:"i"`
	JobType string        `json:"t,omitempty"`
	For     string        `json:"w,omitempty"`
	Lane    string        `json:"l,omitempty"`
	Pools   []savedAmount `json:"p,omitempty"`
	Objects []savedObject `json:"o,omitempty"`
	// Granted and Freed are Unix times in milliseconds; Waited is the wait before Granted.
	Granted int64 `json:"g"`
	Freed   int64 `json:"f"`
	Waited  int64 `json:"a,omitempty"`
}

func (p *savedPast) weight() int {
	weight := pastWeight + len(p.Holder) + len(p.JobType) + len(p.For) + len(p.Lane)
	for _, amount := range p.Pools {
		weight += amountWeight + len(amount.Pool)
	}
	for _, object := range p.Objects {
		weight += amountWeight + len(object.Name)
	}
	return weight
}

// The records of the runs have the claims of keys.
func (p *past) remember(r *request, now time.Time) {
	if !r.Granted || r.Lane == "" && !r.wantsResources() {
		return
	}
	p.seq++
	entry := savedPast{
		Seq: p.seq, Holder: r.Holder.WorkflowID, JobType: r.JobType, For: r.For, Lane: r.Lane,
		Granted: r.Since.UnixMilli(), Freed: max(now.UnixMilli(), r.Since.UnixMilli()), Waited: r.Waited.Milliseconds(),
	}
	for _, amount := range r.Pools {
		entry.Pools = append(entry.Pools, savedAmount{amount.Pool, amount.N})
	}
	for _, object := range r.Objects {
		entry.Objects = append(entry.Objects, savedObject(object))
	}
	ring := &p.uses
	if r.Lane != "" {
		ring = &p.turns
	}
	ring.entries = append(ring.entries, entry)
	ring.weight += entry.weight()
	ring.fit(maxPastWeight)
}

func (p *pastRing) fit(most int) {
	for p.weight > max(most, 0) {
		p.weight -= p.entries[0].weight()
		p.entries = p.entries[1:]
	}
}

func (p *past) makeRoom(room int) {
	if p.turns.weight+p.uses.weight > room {
		p.turns.fit(room / 2)
		p.uses.fit(room / 2)
	}
}

type savedPasts struct {
	Seq   int64       `json:"seq"`
	Turns []savedPast `json:"turns,omitempty"`
	Uses  []savedPast `json:"uses,omitempty"`
}

func (p *past) save() *savedPasts {
	if p.seq == 0 {
		return nil
	}
	return &savedPasts{p.seq, slices.Clone(p.turns.entries), slices.Clone(p.uses.entries)}
}

func (p *past) restore(saved *savedPasts) {
	if saved == nil || saved.Seq <= p.seq {
		return
	}
	p.seq, p.turns, p.uses = saved.Seq, ringOf(saved.Turns), ringOf(saved.Uses)
}

func ringOf(entries []savedPast) pastRing {
	ring := pastRing{entries: entries}
	for i := range entries {
		ring.weight += entries[i].weight()
	}
	ring.fit(maxPastWeight)
	return ring
}

// Past lists the recorded releases that match the filter, the last one first.
func (p *past) Past(filter contract.PastGrantsFilter) contract.PastGrants {
	if filter.Limit = min(filter.Limit, maxPast); filter.Limit <= 0 {
		filter.Limit = defaultPast
	}
	turns, uses := p.turns.entries, p.uses.entries
	found := contract.PastGrants{Kept: len(turns) + len(uses), Released: p.seq}
	for len(turns)+len(uses) > 0 {
		newest := &turns
		if len(turns) == 0 || len(uses) > 0 && uses[len(uses)-1].Seq > turns[len(turns)-1].Seq {
			newest = &uses
		}
		entry := &(*newest)[len(*newest)-1]
		*newest = (*newest)[:len(*newest)-1]
		if filter.Before > 0 && entry.Seq >= filter.Before || !entry.matches(filter) {
			continue
		}
		if len(found.Grants) == filter.Limit {
			found.More = true
			break
		}
		found.Grants = append(found.Grants, entry.grant())
	}
	return found
}

func (p *savedPast) matches(filter contract.PastGrantsFilter) bool {
	return (filter.WorkflowID == "" || filter.WorkflowID == p.Holder) &&
		(filter.Lane == "" || filter.Lane == p.Lane) &&
		(filter.Pool == "" || slices.ContainsFunc(p.Pools, func(a savedAmount) bool { return a.Pool == filter.Pool })) &&
		(filter.Object == "" || slices.ContainsFunc(p.Objects, func(o savedObject) bool { return o.Name == filter.Object }))
}

func (p *savedPast) grant() contract.PastGrant {
	granted := time.UnixMilli(p.Granted).UTC()
	grant := contract.PastGrant{
		Seq: p.Seq, WorkflowID: p.Holder, JobType: p.JobType, For: p.For, Lane: p.Lane,
		RequestedAt: granted.Add(-time.Duration(p.Waited) * time.Millisecond), GrantedAt: granted, ReleasedAt: time.UnixMilli(p.Freed).UTC(),
	}
	for _, amount := range p.Pools {
		grant.Pools = append(grant.Pools, contract.AdmissionAmount{Pool: amount.Pool, N: amount.N})
	}
	for _, object := range p.Objects {
		grant.Objects = append(grant.Objects, contract.AdmissionObject(object))
	}
	return grant
}
