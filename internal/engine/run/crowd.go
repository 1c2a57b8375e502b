package run

import (
	"slices"
	"time"
)

const (
	// maxAlike is enough to use released resources, and few enough for admission.
	maxAlike = 16
	maxWaits = 500
	// maxMoves bounds the items that one step sets aside; the next step continues at once.
	maxMoves = 2000
)

// crowd counts the items that wait for the same resources. Further ones have their own class, so that they block no others.
type crowd struct {
	key     string
	waiting int
	classes []*class
}

func (k *crowd) full(e *rules) bool {
	if k == nil {
		return false
	}
	most := maxAlike
	if e.limit > 0 {
		most = min(most, e.limit)
	}
	return k.waiting >= most
}

func (c *class) full(e *rules) bool { return c != nil && c.crowd.full(e) }

func (e *board) crowdOf(it *item) *crowd {
	if len(e.crowds) == 0 || !it.requests() {
		return nil
	}
	return e.crowds[it.Needs.Key()]
}

// atGate counts the items that request resources, or hold them and do not run yet.
func (e *board) atGate() int { return e.gate.Len() - e.waits }

func (v Waits) apply(e *Engine, _ time.Time) {
	it := e.askingFor(v.Item, v.Ask)
	if it == nil || it.Waits {
		return
	}
	e.await(it)
	if e.admit {
		e.reports = append(e.reports, Report{Kind: Crowded, Item: it.ID})
	}
}

func (e *board) await(it *item) {
	it.Waits = true
	e.waits++
	k := e.crowd(it.Needs.Key())
	full := k.full(&e.rules)
	k.waiting++
	e.touchCrowd(k)
	if e.admit && !full && k.full(&e.rules) {
		e.reportCrowd(k)
	}
}

func (e *board) reportCrowd(k *crowd) {
	var ids []int
	for _, c := range k.classes {
		for _, it := range c.items {
			ids = append(ids, it.ID)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		e.reports = append(e.reports, Report{Kind: Crowded, Item: id})
	}
}

func (e *board) unwait(it *item) {
	if !it.Waits {
		return
	}
	it.Waits = false
	e.waits--
	k := e.crowds[it.Needs.Key()]
	k.waiting--
	e.touchCrowd(k)
	e.forgetCrowd(k)
}

func (e *board) touchCrowd(k *crowd) {
	for _, c := range k.classes {
		e.touch(c)
	}
}

func (e *board) forgetCrowd(k *crowd) {
	if k.waiting == 0 && len(k.classes) == 0 {
		delete(e.crowds, k.key)
	}
}

func (e *board) setAside(it *item, now time.Time) {
	e.dequeue(it)
	e.push(it, now)
	if e.moved++; e.moved == maxMoves {
		e.timers.Push(timer{at: now.Add(time.Millisecond), kind: timerWake})
	}
}

func (e *board) joinCrowd(c *class, it *item) {
	if it.Aside && it.requests() {
		c.crowd = e.crowd(it.Needs.Key())
		c.crowd.classes = append(c.crowd.classes, c)
	}
}

func (e *board) crowd(key string) *crowd {
	k := e.crowds[key]
	if k == nil {
		k = &crowd{key: key}
		e.crowds[key] = k
	}
	return k
}

func (e *board) leaveCrowd(c *class) {
	if k := c.crowd; k != nil {
		k.classes = slices.DeleteFunc(k.classes, func(o *class) bool { return o == c })
		e.forgetCrowd(k)
	}
}

// returnGrants releases the resources of items that no worker can run now, and reports whether there were any.
func (e *course) returnGrants(c *class, now time.Time) bool {
	it := c.head()
	if it == nil || !it.Granted || it.kept() || c.nowhere || c.possible > 0 {
		return false
	}
	for ; it != nil && it.Granted; it = c.head() {
		e.dequeue(it)
		e.release(it)
		e.push(it, now)
	}
	return true
}

// kept: the work of a lost attempt may be half done, so no other item gets its objects.
func (it *item) kept() bool { return it.Granted && it.Ran && len(it.Needs.Exclusive) > 0 }

func (e *board) readmitWaits(items []*item) {
	for _, it := range items {
		if it != nil && it.Waits {
			e.await(it)
		}
	}
}
