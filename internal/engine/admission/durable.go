package admission

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Durable is the part of the state that no holder can report. It outlives a core that was ended.
type Durable struct {
	Sizes    map[string]int       `json:"sizes,omitempty"`
	Outcomes *outcomes            `json:"outcomes,omitempty"`
	Past     *savedPasts          `json:"past,omitempty"`
	Results  []contract.KeyResult `json:"results,omitempty"`
	// Fence is the next one; all fences ever granted are lower.
	Fence int64 `json:"fence,omitempty"`
}

// Durable returns the durable part of the state.
func (c *Core) Durable() Durable {
	kept := Durable{Sizes: map[string]int{}, Outcomes: c.outcomes, Past: c.past.save(), Results: c.results.save(), Fence: c.next}
	for name := range c.pools.pools.all() {
		if size := c.pools.byName[poolMark+name].operator; size > 0 {
			kept.Sizes[name] = size
		}
	}
	return kept
}

// Fences never decrease, even if this clock is behind.
func (c *Core) inherit(now time.Time, durable Durable) {
	c.next = max(c.next, durable.Fence, fenceFloor(now))
	for _, name := range sortedKeys(durable.Sizes) {
		if s := c.pools.resource(name, true); s.operator == 0 {
			c.pools.setOperator(s, max(durable.Sizes[name], 0))
			c.pools.forget(s)
		}
	}
	c.outcomes.restore(durable.Outcomes)
	for _, hash := range sortedKeys(c.ofTask) {
		c.stopTask(hash, contract.AdmissionHolder{}, now)
	}
	c.past.restore(durable.Past)
	c.results.restore(durable.Results)
}

// Existing records win over saved ones.
func (o *outcomes) restore(saved *outcomes) {
	if saved == nil {
		return
	}
	o.Dropped = max(o.Dropped, saved.Dropped)
	for _, hash := range sortedKeys(saved.Keys) {
		if o.Keys[hash] == nil {
			o.Keys[hash] = saved.Keys[hash].clone()
			o.weigh(o.Keys[hash], 1)
		}
	}
	for _, name := range sortedKeys(saved.Types) {
		if o.Types[name] == nil {
			o.Types[name] = saved.Types[name].clone()
			o.weigh(o.Types[name], 1)
		}
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
