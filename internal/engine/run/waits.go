package run

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/engine/ranked"

	"github.com/roundsman/roundsman/contract"
)

// Waiting is a group of items with the same wait.
type Waiting struct {
	Wait

	// Item is the first of them, Items their number.
	Item, Items int
}

// Waits groups the items that do not run by their wait, largest group first. It explains one item of each class.
func (e *views) Waits(now time.Time) []*Waiting {
	type cause struct {
		code           contract.Code
		object, detail string
	}
	found := map[cause]*Waiting{}
	add := func(it *item, n int) {
		w := e.WaitOf(it.ID, now)
		c := cause{code: w.Code, object: w.Object}
		if w.Ask > 0 {
			c.detail = w.Detail
		}
		first := found[c]
		if first == nil {
			first = &Waiting{Wait: w, Item: it.ID}
			found[c] = first
		}
		if first.Items += n; it.ID < first.Item {
			first.Item, first.Ask, first.Detail = it.ID, w.Ask, w.Detail
		}
		if w.Since.Before(first.Since) {
			first.Since = w.Since
		}
		if first.Until.IsZero() || !w.Until.IsZero() && w.Until.Before(first.Until) {
			first.Until = w.Until
		}
	}
	//workflowcheck:ignore sorted below
	for _, c := range e.classes {
		if it := c.head(); it != nil {
			add(it, len(c.items))
		}
	}
	//workflowcheck:ignore sorted below
	for _, it := range e.items {
		if it.class == nil {
			add(it, 1)
		}
	}
	delete(found, cause{}) // These items run.
	//workflowcheck:ignore sorted here
	return slices.SortedFunc(maps.Values(found), func(a, b *Waiting) int { return cmp.Or(cmp.Compare(b.Items, a.Items), cmp.Compare(a.Item, b.Item)) })
}

// Elsewhere returns the first items in flight that take no worker's slot.
func (e *Engine) Elsewhere(most int) (ids []int) {
	//workflowcheck:ignore sorted right below
	for id, it := range e.flight {
		if it.Want.Nowhere {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids[:min(len(ids), most)]
}

// MainWait returns the first item of the largest waiting class, else the first that waits; -1 if there is none.
func (e *views) MainWait() int {
	first, most := -1, 0
	//workflowcheck:ignore the greatest does not depend on the order
	for _, c := range e.classes {
		if it := c.head(); it != nil && (len(c.items) > most || len(c.items) == most && it.ID < first) {
			first, most = it.ID, len(c.items)
		}
	}
	if first >= 0 {
		return first
	}
	for _, items := range []*ranked.Set[*item]{&e.gate, &e.lost} {
		if it, ok := items.First(); ok {
			return it.ID
		}
	}
	if len(e.timers) > 0 {
		return e.timers[0].item
	}
	return -1
}
