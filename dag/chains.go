package dag

import (
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/dag/internal/ready"
)

// Chain bounds the items in flight of fan-outs over the same items.
type Chain struct {
	// Entries are the names of the fan-outs, the first one included.
	Entries []string `json:"entries"`
	// InFlight is the maximum number of items in flight.
	InFlight int `json:"in_flight"`
	// OnFailure is the effect of a failed item on the others. Options.OnFailure Stop overrides it.
	OnFailure FailurePolicy `json:"on_failure"`
}

// ChainUse is the use of a chain's limit.
type ChainUse struct {
	Name string
	// Limit is the maximum number of items in flight.
	Limit int
	// InFlight counts the items whose chain has begun and not ended.
	InFlight int
	// Waiting counts the items that have not begun, Ready their ready tasks.
	Waiting, Ready int
}

// Full reports whether no further item may begin.
func (u ChainUse) Full() bool { return u.InFlight >= u.Limit }

type chain struct {
	Chain
	name  string
	items []*chainItem
	// busy counts the items in flight, waiting the others with open tasks.
	busy, waiting int
	// ready counts the ready tasks of waiting items, resumed those of waiting items with a completed task.
	ready, resumed int
	failed         int // tasks that are failed or upstream_failed
	// parked holds tasks of items that have not begun, except those of fan-outs with their own limit.
	parked parking
	byItem map[string]*chainItem
}

type chainItem struct {
	of    *chain
	tasks []Index
	live  int // tasks that are not terminal
	ready int
	done  int  // completed tasks
	begun bool // in flight
}

func (c *chain) count(it *chainItem, n int) {
	switch {
	case it.begun:
		c.busy += n
	case it.live > 0:
		c.waiting += n
		c.ready += n * it.ready
		if it.done > 0 {
			c.resumed += n * it.ready
		}
	}
}

// bars reports whether an item may not begin. Items with a completed task begin before fresh ones: a retry completes them.
func (c *chain) bars(it *chainItem) bool {
	return !it.begun && (c.busy >= c.InFlight || it.done == 0 && c.resumed > 0)
}

// chains holds the chains of a run; its zero value has none.
type chains struct {
	list    []*chain // in the order of their names
	byName  map[string]*chain
	byEntry map[string]*chain
	of      map[Index]*chainItem
}

// Chains returns the chains in the order of their names.
func (q *queue) Chains() []ChainUse {
	list := make([]ChainUse, 0, len(q.chains.byName))
	for _, c := range q.chains.list {
		list = append(list, c.use())
	}
	return list
}

func (c *chain) use() ChainUse {
	return ChainUse{Name: c.name, Limit: c.InFlight, InFlight: c.busy, Waiting: c.waiting, Ready: c.ready}
}

// WaitsForItem returns the chain whose limit keeps the ready task i from its start.
func (q *queue) WaitsForItem(i Index) (use ChainUse, waits bool) {
	it := q.chains.of[i]
	if it == nil || q.states.nodes[i].state != Ready || !it.of.bars(it) {
		return use, false
	}
	return it.of.use(), true
}

// StoppedBy returns the first failed task of the chain that kept the item of i from beginning, or None.
func (r *Run) StoppedBy(i Index) Index {
	it := r.chains.of[i]
	if it == nil || r.nodes[i].flag&flagSwept == 0 || !r.stops(it.of) {
		return None
	}
	for _, state := range []State{Failed, UpstreamFailed} {
		for _, other := range it.of.items {
			for _, k := range other.tasks {
				if r.nodes[k].state == state {
					return k
				}
			}
		}
	}
	return None
}

func (r *Run) stops(c *chain) bool { return c.OnFailure == Stop && r.opts.OnFailure != Stop }

// limitChains declares chains. An entry stays in its first chain.
func (q *queue) limitChains(declared map[string]Chain) {
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		d := declared[name]
		if d.InFlight <= 0 || name == "" {
			continue
		}
		q.limitChain(name, d)
	}
}

func (q *queue) limitChain(name string, d Chain) {
	all := &q.chains
	if all.byName == nil {
		all.byName, all.byEntry, all.of = map[string]*chain{}, map[string]*chain{}, map[Index]*chainItem{}
	}
	c, known := all.byName[name]
	if !known {
		c = &chain{name: name, byItem: map[string]*chainItem{}}
	}
	c.InFlight, c.OnFailure = d.InFlight, d.OnFailure
	for _, entry := range d.Entries {
		if entry == "" || all.byEntry[entry] != nil {
			continue
		}
		if f := q.fanOuts[entry]; f != nil {
			q.unparkAll(&f.parked) // Those of items that have not begun park apart from now on.
		}
		all.byEntry[entry] = c
		c.Entries = append(c.Entries, entry)
		for _, i := range q.defs.Family(entry) {
			q.joinChain(i)
		}
	}
	if !known && len(c.Entries) > 0 {
		all.byName[name] = c
		at, _ := slices.BinarySearchFunc(all.list, name, func(c *chain, name string) int { return strings.Compare(c.name, name) })
		all.list = slices.Insert(all.list, at, c)
	}
	q.unparkItem(c)
}

func (q *queue) joinChain(i Index) {
	if q.chains.byName == nil {
		return
	}
	entry, item, fanned := strings.Cut(q.defs.ID(i), ".")
	c := q.chains.byEntry[entry]
	if !fanned || c == nil {
		return
	}
	it := c.byItem[item]
	if it == nil {
		it = &chainItem{of: c}
		c.byItem[item] = it
		c.items = append(c.items, it)
	}
	it.tasks = append(it.tasks, i)
	q.chains.of[i] = it
	q.countItem(it, i)
}

func (q *queue) countItem(it *chainItem, i Index) {
	s := q.states.nodes[i].state
	it.of.count(it, -1)
	it.of.failed += one(s.failure())
	it.live += one(!s.Terminal())
	it.ready += one(s == Ready)
	it.done += one(s == Completed)
	it.begun = it.begun || s == Running
	it.of.count(it, +1)
}

func one(b bool) int { return int(truth(b)) }

// followItem counts a task's change of state in its item. When an item ends, the next one may begin.
func (q *queue) followItem(i Index, from, to State) {
	it := q.chains.of[i]
	if it == nil {
		return
	}
	c := it.of
	c.count(it, -1)
	c.failed += one(to.failure()) - one(from.failure())
	it.live += one(from.Terminal()) - one(to.Terminal())
	it.ready += one(to == Ready) - one(from == Ready)
	it.done += one(to == Completed) - one(from == Completed)
	begins := to == Running && !it.begun
	it.begun = (it.begun || begins) && it.live > 0
	c.count(it, +1)
	if begins {
		q.unparkTasks(it)
	}
	q.unparkItem(c)
}

func (q *queue) unparkTasks(it *chainItem) {
	for _, k := range it.tasks {
		if isParked(q.states.nodes[k]) {
			q.states.nodes[k].flag &^= flagParked
			q.enqueue(k, q.states.nodes[k].attr)
		}
	}
}

// unparkItem lets the next item begin if the limit allows it.
func (q *queue) unparkItem(c *chain) {
	if c.busy >= c.InFlight {
		return
	}
	q.unpark(&c.parked)
	for _, entry := range c.Entries {
		if f := q.fanOuts[entry]; f != nil && !f.full() {
			q.unpark(&f.unbegun)
		}
	}
}

// forceItem begins an item above the limit, since nothing runs and the items in flight wait for it.
func (q *queue) forceItem() bool {
	if q.states.counts[Running] > 0 || q.states.counts[Ready] == 0 {
		return false
	}
	var best *ready.Key
	first := func(of *parking) {
		for kind := range of {
			if k, ok := q.firstParked(of, kind); ok && (best == nil || k.Before(*best)) {
				best = &k
			}
		}
	}
	for _, c := range q.chains.list {
		first(&c.parked)
		for _, entry := range c.Entries {
			if f := q.fanOuts[entry]; f != nil {
				first(&f.unbegun)
			}
		}
	}
	if best == nil {
		return false
	}
	it := q.chains.of[best.Task]
	it.of.count(it, -1)
	it.begun = true
	it.of.count(it, +1)
	q.unparkTasks(it)
	return true
}

// stopItems cancels the items that have not begun, in chains stopped by a failed item.
func (r *Run) stopItems() {
	if r.ending != endingNone {
		return
	}
	for k := 0; k < len(r.chains.list); k++ {
		if c := r.chains.list[k]; r.stops(c) && c.failed > 0 && c.waiting > 0 {
			r.sweepItems(c)
			k = -1
		}
	}
}

func (r *Run) sweepItems(c *chain) {
	for _, it := range c.items {
		for _, i := range it.tasks {
			if !it.begun && !r.nodes[i].state.Terminal() {
				r.end(i, Canceled)
				r.nodes[i].flag = flagSwept
			}
		}
	}
	r.settle()
}

// resumeItems scans the items, so only operators' requests may call it.
func (r *Run) resumeItems() {
	var seeds []Index
	for _, c := range r.chains.list {
		if !r.stops(c) || c.failed > 0 {
			continue
		}
		for _, it := range c.items {
			for _, i := range it.tasks {
				if r.nodes[i].flag&flagSwept != 0 {
					seeds = append(seeds, i)
				}
			}
		}
	}
	if len(seeds) > 0 {
		r.revive(seeds, nil)
	}
}

func (q *queue) inheritChains(prior *Run) {
	for _, c := range prior.chains.list {
		if _, declared := q.defs.Lookup(c.name); !declared && q.chains.byName[c.name] == nil && len(q.defs.Family(c.name)) == 0 {
			q.limitChain(c.name, c.Chain)
		}
	}
}
