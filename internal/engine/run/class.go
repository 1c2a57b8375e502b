package run

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/ranked"
)

// class is a kind of item for placement. Its items can run on the same workers, so one evaluation decides for all.
// A class without a worker does not delay others.
type class struct {
	key              string
	handler, jobType string
	node             string
	labels           map[string]string
	work             string
	perWorker        int
	// nowhere: items take no slot. shared: items go to the shared queue. asks: items still need their resources.
	nowhere, shared, asks bool
	lacks                 []string
	direct                bool
	// apart: its items may not share a worker with one another.
	apart bool
	// nil means any needs.
	crowd *crowd

	items ranked.Heap[*item]
	// workers are the ranked candidates; possible counts the workers that could serve, busy ones included.
	workers       ranked.Heap[*candidate]
	possible      int
	noWorkerSince time.Time
	// failAt is the time at which the first item has waited too long for a worker.
	failAt time.Time
	// tryAt is the time of the next trial of a worker that seems full.
	tryAt time.Time
	// dirty: the class must be evaluated. recovering: the last possible worker was lost in an incomplete view.
	dirty, recovering bool
	at                int
	first             rankOfItem
}

// Before implements [ranked.Seated].
func (c *class) Before(o *class) bool { return c.first.before(o.first) }

// Seat implements [ranked.Seated].
func (c *class) Seat() *int { return &c.at }

// Items that hold resources come first, so that grants are used.
type rankOfItem struct {
	waits bool // for its resources
	order int64
	id    int
}

func rankOf(it *item) rankOfItem { return rankOfItem{waits: !it.Granted, order: it.Order, id: it.ID} }

func (r rankOfItem) before(o rankOfItem) bool {
	if r.waits != o.waits {
		return o.waits
	}
	return cmp.Or(cmp.Compare(r.order, o.order), cmp.Compare(r.id, o.id)) < 0
}

type candidate struct {
	c        *class
	w        *worker
	tier     tier
	room     int
	waits    time.Time
	possible bool
	at       int
}

type tier uint8

const (
	tierFree tier = iota
	tierSoon
	tierTrial
	tierNone
)

func (d *candidate) rank(now time.Time) {
	d.tier, d.room, d.waits, d.possible = tierNone, 0, time.Time{}, false
	if d.c.shared {
		d.possible = d.w.serves(d.c.handler) && d.w.slots(d.c.handler, d.c.jobType) > 0 && slices.Contains(d.w.Shared, d.c.jobType)
		if d.possible {
			d.tier = tierFree
		}
		return
	}
	if !d.w.serves(d.c.handler) || d.w.slots(d.c.handler, d.c.jobType) <= 0 {
		return
	}
	d.possible = true
	if d.c.apart && d.w.apart > 0 {
		return
	}
	free, ahead, most := d.w.room(d.c)
	known, cool, pressing := free > 0 || ahead > 0, d.w.coolUntil, d.c.pressing(d.w)
	if pressing {
		cool = time.Time{}
	}
	switch {
	case d.w.starts.Probing && !pressing:
	case !known && most <= 0:
	case known && cool.After(now): // The end of the pause ranks it again.
	case !known:
		d.tier, d.waits = tierTrial, instant.Later(d.w.load.TryAt, cool)
	case free > 0:
		d.tier, d.room = tierFree, free
	default:
		d.tier, d.room = tierSoon, ahead
	}
}

// Before implements [ranked.Seated].
func (d *candidate) Before(o *candidate) bool {
	return cmp.Or(
		cmp.Compare(d.tier, o.tier), cmp.Compare(o.room, d.room), d.waits.Compare(o.waits),
		cmp.Compare(d.w.used, o.w.used), cmp.Compare(d.w.ID, o.w.ID),
	) < 0
}

// Seat implements [ranked.Seated].
func (d *candidate) Seat() *int { return &d.at }

func (d *candidate) usable(now time.Time) bool {
	return d.tier < tierTrial || d.tier == tierTrial && !d.waits.After(now)
}

// pick returns the best worker with room, except the one to avoid if another is as good.
func (c *class) pick(avoid string, now time.Time) *worker {
	if len(c.workers) == 0 || !c.workers[0].usable(now) {
		return nil
	}
	best := c.workers[0]
	if best.w.ID == avoid {
		var second *candidate
		for _, d := range c.workers[1:min(3, len(c.workers))] {
			if second == nil || d.Before(second) {
				second = d
			}
		}
		if second != nil && second.tier == best.tier && second.usable(now) {
			best = second
		}
	}
	return best.w
}

func (c *class) waitingSince(it *item) time.Time { return instant.Later(it.QueuedAt, c.noWorkerSince) }

func (c *class) head() *item {
	if len(c.items) == 0 {
		return nil
	}
	return c.items[0]
}

// The bytes are valid until the next call.
func (e *board) keyOf(it *item) []byte {
	key := e.key[:0]
	if it.requests() {
		key = append(key, 1)
	}
	key = append(append(key, it.Work...), 0)
	if it.Want.Nowhere {
		key = append(key, 0) // No worker has that id.
	} else {
		key = append(key, it.node()...)
		for _, name := range slices.Sorted(maps.Keys(it.Want.Labels)) {
			key = append(key, "\x00"+name+"="+it.Want.Labels[name]...)
		}
	}
	if it.Direct {
		key = append(key, "\x00direct"...)
	}
	if it.kept() {
		key = append(key, "\x00kept"...)
	}
	if it.keepsApart() {
		key = append(key, "\x00apart"...)
	}
	for _, instance := range it.Lacks {
		key = append(key, "\x00-"+instance...)
	}
	if it.Aside && it.requests() {
		key = append(append(key, 0, 1), it.Needs.Key()...)
	}
	e.key = key
	return key
}

func (e *board) classOf(it *item, now time.Time) *class {
	key := e.keyOf(it)
	if c := e.classes[string(key)]; c != nil {
		return c
	}
	c := &class{key: string(key), work: it.Work, asks: it.requests(), nowhere: it.Want.Nowhere, node: it.node(), labels: it.Want.Labels, lacks: it.Lacks, direct: it.Direct, apart: it.keepsApart(), at: -1}
	if c.nowhere {
		c.node, c.labels = "", nil
	}
	c.adopt(e.work[it.Work])
	e.classes[c.key] = c
	e.joinCrowd(c, it)
	e.touch(c) // An empty one is discarded.
	if c.nowhere {
		return c
	}
	if c.node != "" {
		e.pinned[c.node] = append(e.pinned[c.node], c)
		if w := e.fleet.byID[c.node]; w != nil {
			e.enlist(c, w, now)
		}
		return c
	}
	e.open = append(e.open, c)
	for _, w := range e.fleet.sorted() {
		e.enlist(c, w, now)
	}
	return c
}

func (c *class) adopt(work Work) {
	c.handler, c.jobType, c.perWorker = work.Handler, work.JobType, work.PerWorker
	c.shared = sharedRouting(work) && !c.nowhere && c.node == "" && len(c.labels) == 0 && !c.direct && !c.apart
}

func (e *board) enlist(c *class, w *worker, now time.Time) {
	if !w.fits(c.node, c.labels) || slices.Contains(c.lacks, w.Instance) {
		return
	}
	d := &candidate{c: c, w: w}
	d.rank(now)
	if d.possible {
		c.possible++
	}
	c.workers.Push(d)
	w.candidates = append(w.candidates, d)
}

func (e *board) dismiss(w *worker) {
	for _, d := range w.candidates {
		d.c.workers.Remove(d)
		if d.possible {
			d.c.possible--
		}
		e.touch(d.c)
	}
	w.candidates = nil
}

func (e *board) rerank(w *worker, now time.Time) {
	if w == nil {
		return
	}
	for _, d := range w.candidates {
		if d.possible {
			d.c.possible--
		}
		d.rank(now)
		if d.possible {
			d.c.possible++
		}
		d.c.workers.Fix(d)
		e.touch(d.c)
	}
}

func (e *board) touch(c *class) {
	if !c.dirty {
		c.dirty = true
		e.dirty = append(e.dirty, c)
	}
}

// There may be as many such classes as nodes, or as needs, so empty ones are dropped.
func (e *board) discard(c *class) {
	if c.node == "" && len(c.lacks) == 0 && c.crowd == nil && !c.apart || len(c.items) > 0 {
		return
	}
	e.leaveCrowd(c)
	for _, d := range c.workers {
		d.w.candidates = slices.DeleteFunc(d.w.candidates, func(o *candidate) bool { return o == d })
	}
	c.workers = nil
	delete(e.classes, c.key)
	if c.node == "" {
		e.open = slices.DeleteFunc(e.open, func(o *class) bool { return o == c })
		return
	}
	rest := slices.DeleteFunc(e.pinned[c.node], func(o *class) bool { return o == c })
	if len(rest) == 0 {
		delete(e.pinned, c.node)
		return
	}
	e.pinned[c.node] = rest
}
