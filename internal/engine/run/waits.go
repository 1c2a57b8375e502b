package run

import (
	"cmp"
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

// Waits groups the items that do not run by their wait, largest group first. It visits one item
// of each class, and all items without a class.
func (e *Engine) Waits(now time.Time) []Waiting {
	type cause struct {
		code           contract.Code
		object, detail string
	}
	var list []Waiting
	known := map[cause]int{}
	add := func(it *item, n int) {
		w := e.WaitOf(it.ID, now)
		if w.Code == "" {
			return
		}
		c := cause{code: w.Code, object: w.Object}
		if w.Ask > 0 {
			c.detail = w.Detail
		}
		at, told := known[c]
		if !told {
			at = len(list)
			known[c] = at
			list = append(list, Waiting{Wait: w, Item: it.ID})
		}
		first := &list[at]
		first.Items += n
		if w.Since.Before(first.Since) {
			first.Since = w.Since
		}
		if first.Until.IsZero() || !w.Until.IsZero() && w.Until.Before(first.Until) {
			first.Until = w.Until
		}
	}
	classes := make([]*class, 0, len(e.classes))
	//workflowcheck:ignore sorted right below
	for _, c := range e.classes {
		if len(c.items) > 0 {
			classes = append(classes, c)
		}
	}
	slices.SortFunc(classes, func(a, b *class) int { return cmp.Compare(a.key, b.key) })
	for _, c := range classes {
		add(c.items[0], len(c.items))
	}
	for _, it := range e.sortedItems() {
		if it.class == nil {
			add(it, 1)
		}
	}
	slices.SortStableFunc(list, func(a, b Waiting) int { return cmp.Compare(b.Items, a.Items) })
	return list
}

// MainWait returns the item whose wait stands for the others: the first of the largest class, or
// else the first that waits for anything; -1 if there is none. It visits the classes only.
func (e *Engine) MainWait() int {
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
