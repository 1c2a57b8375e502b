package admission

import (
	"maps"
	"slices"
	"time"
)

// Durable is the part of the state that no holder knows: what operators said
// and what has failed. It outlives a desk that was ended.
type Durable struct {
	// Sizes are operators' sizes of pools.
	Sizes map[string]int `json:"sizes,omitempty"`
	Book  *book          `json:"book,omitempty"`
}

// Durable returns that part.
func (d *Desk) Durable() Durable {
	kept := Durable{Sizes: map[string]int{}, Book: d.book}
	for _, name := range slices.Sorted(maps.Keys(d.pools)) {
		if size := d.pools[name].Operator; size > 0 {
			kept.Sizes[name] = size
		}
	}
	return kept
}

// NewWith returns a desk as [New] does that knows what an earlier one kept.
func NewWith(now time.Time, kept Durable) *Desk {
	d := New(now)
	for _, name := range slices.Sorted(maps.Keys(kept.Sizes)) {
		d.pool(name).Operator = max(kept.Sizes[name], 0)
	}
	d.book.restore(kept.Book)
	return d
}

// restore takes over what was saved.
func (b *book) restore(saved *book) {
	if saved == nil {
		return
	}
	b.Dropped = saved.Dropped
	//workflowcheck:ignore a copy does not depend on the order
	for hash, r := range saved.Keys {
		b.Keys[hash] = r.clone()
	}
	//workflowcheck:ignore a copy does not depend on the order
	for name, r := range saved.Types {
		b.Types[name] = r.clone()
	}
}

func (r *record) clone() *record {
	copied := *r
	copied.Failures = slices.Clone(r.Failures)
	if r.Off != nil {
		copied.Off = new(*r.Off)
	}
	return &copied
}
