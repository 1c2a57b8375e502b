package run

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/jobtype"
)

func (e *course) enqueue(it *item, readyAt, now time.Time) {
	if it.Phase != PhaseNone {
		e.leave(it)
	}
	it.Canceling, it.CancelBy, it.ReadyAt = "", time.Time{}, readyAt
	it.Losses = it.Losses.Recent(now)
	e.Changed(now)
	if readyAt.After(now) || it.Fence >= it.FenceEnd || e.pause.On() || e.suspended {
		e.release(it)
	}
	if at := it.ExpiresAt; !at.IsZero() && !it.Ran {
		e.timers.Push(timer{at: at, kind: timerExpire, item: it.ID})
	}
	if !e.fits(it, instant.Later(readyAt, now)) {
		e.park(it, now)
		return
	}
	e.watchClosing(it)
	if readyAt.After(now) {
		it.Phase, it.WaitsAt = PhaseWaiting, now
		e.timers.Push(timer{at: readyAt, kind: timerReady, item: it.ID})
		return
	}
	it.QueuedAt = now
	e.push(it, now)
}

func (e *board) push(it *item, now time.Time) {
	it.Aside = e.crowdOf(it) != nil
	e.pushBack(it, now)
	if e.admit && it.class.full(&e.rules) {
		e.reports = append(e.reports, Report{Kind: Crowded, Item: it.ID})
	}
}

func (e *board) pushBack(it *item, now time.Time) {
	c := e.classOf(it, now)
	it.Phase, it.class = PhaseQueued, c
	c.items.Push(it)
	if saved, known := e.noWorker[c.key]; known {
		delete(e.noWorker, c.key)
		e.restoreMissing(c, saved)
	}
	e.failInTime(c, []*item{it})
	if it.Granted {
		e.gate.Add(it.ID, it)
	} else {
		e.gate.Remove(it.ID)
	}
	e.touch(c)
}

func (e *ledger) mayStart() bool {
	return !e.pause.On() && !e.suspended && !e.roll.Holds() && !e.fatal && e.stopped == Open
}

func (e *Engine) advance(now time.Time) {
	e.moved = 0
	for {
		e.look(now)
		if !e.mayStart() || e.limit > 0 && e.running() >= e.limit || e.moved >= maxMoves {
			return
		}
		c := e.next()
		if c == nil {
			return
		}
		e.place(c, now)
	}
}

func (e *Engine) look(now time.Time) {
	for len(e.freed) > 0 || len(e.dirty) > 0 {
		freed := e.freed
		e.freed = nil
		for _, w := range freed {
			e.rerank(w, now)
		}
		dirty := e.dirty
		e.dirty, e.looked = e.looked, nil
		slices.SortFunc(dirty, func(a, b *class) int { return cmp.Compare(a.key, b.key) })
		for _, c := range dirty {
			c.dirty = false
			e.assess(c, now)
		}
		clear(dirty)
		e.looked = dirty[:0]
	}
}

func (e *Engine) assess(c *class, now time.Time) {
	if e.classes[c.key] != c {
		return // It was discarded.
	}
	it := c.head()
	if e.returnGrants(c, now) {
		return
	}
	able := it != nil && !c.full(&e.rules) && (c.nowhere || len(c.workers) > 0 && c.workers[0].usable(now))
	queue := &e.ready
	if c.asks && e.claims {
		queue = &e.asking
	}
	switch {
	case !able && c.at >= 0:
		queue.Remove(c)
	case able && c.at >= 0:
		c.first = rankOf(it)
		queue.Fix(c)
	case able:
		c.first = rankOf(it)
		queue.Push(c)
	}
	if it == nil {
		c.noWorkerSince, c.tryAt = time.Time{}, time.Time{}
		e.discard(c)
		return
	}
	if c.nowhere {
		return
	}
	e.noteWorkers(c, now)
	e.wakeToTry(c, able)
}

// A class that waits for its crowd is evaluated with that.
func (e *board) wakeToTry(c *class, able bool) {
	if able || c.full(&e.rules) || len(c.workers) == 0 || c.workers[0].tier != tierTrial {
		c.tryAt = time.Time{}
		return
	}
	if at := c.workers[0].waits; !c.tryAt.Equal(at) {
		c.tryAt = at
		e.timers.Push(timer{at: at, kind: timerTry, class: c.key})
	}
}

// next returns the class whose first item starts next. Only as many items request resources as could start, because
// unused grants block others.
func (e *Engine) next() *class {
	var ready, asking *class
	if len(e.ready) > 0 {
		ready = e.ready[0]
		if !e.hasFence(ready.head()) {
			ready = nil
		}
	}
	if len(e.asking) > 0 && e.waits < maxWaits && (e.limit == 0 || e.atGate() < e.limit-e.running()) {
		asking = e.asking[0]
	}
	switch {
	case ready == nil:
		return asking
	case asking == nil || ready.first.before(asking.first):
		return ready
	}
	return asking
}

func (e *Engine) place(c *class, now time.Time) {
	it := c.head()
	switch at := it.ExpiresAt; {
	case !it.Ran && !at.IsZero() && !now.Before(at):
		e.settle(it, Expired, explain.TextExpired, now)
		return
	case !e.fits(it, now):
		e.park(it, now)
		return
	case c.asks && e.claims && c.crowd == nil && e.crowdOf(it).full(&e.rules):
		e.setAside(it, now)
		return
	case c.asks && e.claims:
		e.acquire(it, now)
		return
	}
	var w *worker
	if !c.nowhere && !c.shared {
		w = c.pick(it.Avoid, now)
		if w == nil {
			e.touch(c)
			return
		}
	}
	e.start(it, w, now)
}

func (e *Engine) start(it *item, w *worker, now time.Time) {
	work, c := e.work[it.Work], it.class
	shared := c.shared
	e.dequeue(it)
	e.gate.Remove(it.ID)
	it.Phase, it.StartedAt, it.Error, it.Adoptions = PhaseRunning, now, "", 0
	e.Changed(now)
	it.Attempt++
	e.countAgain(it)
	it.Resumed = len(it.Checkpoint) > 0
	it.Worker, it.Instance, it.Apart, it.Announced = "", "", it.keepsApart(), false
	if w != nil {
		it.Worker, it.Instance = w.ID, w.Instance
		if known, ahead, _ := w.room(c); known <= 0 && ahead <= 0 {
			w.load.Take(now)
		}
		w.occupy(work.Handler, it.Apart)
		e.probeStart(it, w, now)
		e.fleet.stamp++
		w.used = e.fleet.stamp
		e.rerank(w, now)
	}
	e.flight[it.ID] = it
	if it.Want.Idle {
		e.idle++
	}
	it.Sent = e.nextFence(it)
	d := Decision{
		Kind: Start, Item: it.ID, Attempt: it.Attempt, Worker: it.Worker, Instance: it.Instance, Work: it.Work, Shared: shared,
		Bytes: work.Bytes + it.Bytes + len(it.Checkpoint), Fence: it.Sent, Timeout: e.timeout(it), HeartbeatTimeout: e.heartbeat(it),
		Checkpoint: it.Checkpoint, Labels: it.Want.Labels, At: now,
	}
	if !it.Want.Idle {
		e.roll.Started(d.Bytes)
	}
	e.decide(d)
}

func (e *outbox) countAgain(it *item) {
	if it.Retrying {
		e.retried++
	}
	if it.Replacing {
		e.replaced++
	}
	it.Retrying, it.Replacing = false, false
}

func (e *ledger) running() int { return len(e.flight) }

// timeout returns the item's own bound, or execution_timeout raised by the estimate up to its cap.
func (e *rules) timeout(it *item) time.Duration {
	if it.Timeout > 0 {
		return it.Timeout
	}
	return max(e.work[it.Work].Policy.ExecutionTimeout.Std(), min(it.Estimate, jobtype.MaxEstimatedRuntime.Std()))
}

func (e *rules) heartbeat(it *item) time.Duration {
	if it.HeartbeatTimeout > 0 {
		return it.HeartbeatTimeout
	}
	return e.work[it.Work].Policy.HeartbeatTimeout.Std()
}

// An item without a worker waits at most for its timeout; one pinned to an OFFLINE worker does not wait at all.
func (e *Engine) noteWorkers(c *class, now time.Time) {
	switch {
	case c.possible > 0:
		if !c.noWorkerSince.IsZero() {
			code, detail := explain.Lacking(c.recovering && (e.fleet.incomplete || e.fleet.wasIncomplete), e.missing(c))
			e.noteWait(code, c.items[0].ID, detail, c.noWorkerSince, now)
			c.noWorkerSince = time.Time{}
		}
		return
	case e.pause.On() || e.suspended || e.stopped != Open:
		return
	}
	if e.holdAgain(c, now); len(c.items) == 0 || e.failLacking(c, now) {
		return
	}
	if w := e.fleet.byID[c.node]; c.node != "" && w != nil && w.offline() {
		for len(c.items) > 0 {
			it := c.items[0]
			e.Note(Note{Verdict: Rejected, Code: contract.CodeNoWorker, Item: it.ID, Detail: explain.TextGone(c.node, false)})
			e.settle(it, Failed, explain.TextPinnedOffline(c.node), now)
		}
		return
	}
	if c.noWorkerSince.IsZero() {
		c.noWorkerSince, c.failAt, c.recovering = now, time.Time{}, e.fleet.incomplete
		e.failInTime(c, c.items)
	}
}

func (e *board) failInTime(c *class, items []*item) {
	if c.noWorkerSince.IsZero() || len(items) == 0 {
		return
	}
	first := c.failAt
	for _, it := range items {
		if at := c.waitingSince(it).Add(e.timeout(it)); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if !first.Equal(c.failAt) {
		c.failAt = first
		e.timers.Push(timer{at: first, kind: timerNoWorker, class: c.key})
	}
}

func (e *Engine) failUnplaceable(c *class, now time.Time) {
	c.failAt = time.Time{}
	if c.possible > 0 {
		return // A worker has just appeared.
	}
	e.holdAgain(c, now)
	if e.fleet.incomplete {
		c.failAt = now.Add(RebuildPause)
		e.timers.Push(timer{at: c.failAt, kind: timerNoWorker, class: c.key})
		return
	}
	var next time.Time
	var over []*item
	for _, it := range c.items {
		switch at := c.waitingSince(it).Add(e.timeout(it)); {
		case !at.After(now):
			over = append(over, it)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	slices.SortFunc(over, func(a, b *item) int { return cmp.Compare(a.ID, b.ID) })
	missing := ""
	if len(over) > 0 {
		missing = e.missing(c)
	}
	for _, it := range over {
		limit := e.timeout(it)
		e.Note(Note{Verdict: Rejected, Code: contract.CodeNoWorker, Item: it.ID, Detail: missing, Waited: limit})
		e.settle(it, Failed, explain.TextNoWorker(missing, limit), now)
	}
	if !next.IsZero() {
		c.failAt = instant.Later(next, now.Add(noWorkerGrid))
		e.timers.Push(timer{at: c.failAt, kind: timerNoWorker, class: c.key})
	}
}
