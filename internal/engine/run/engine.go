package run

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/engine/ranked"
	"github.com/roundsman/roundsman/internal/engine/run/rollover"

	"github.com/roundsman/roundsman/jobtype"
)

// Config has the constant settings of a run.
type Config struct {
	// Limit bounds the items in flight; 0 means that the source limits them.
	Limit int
	// Work has the known kinds of work, by the name in items.
	Work map[string]Work
	// Claims means that [Acquire], [Release] and [MoreFences] are carried out.
	Claims bool
	// Admit makes an item with resources wait for [Engine.Proceed].
	Admit bool
	// Adopt means that [Adopt] is carried out.
	Adopt bool
	// Reoffer means that the source offers untouched items again after [Restore], so the state omits them.
	Reoffer bool
	// Range granted to the run as a whole; without one fences count from the clock.
	Fence, Fences int64
	// Length of history from which the run continues as new; 0 means 20,000.
	RollEvents int
}

// Engine runs the items of one run. Its parts are in parts.go. It is not safe for concurrent use.
type Engine struct{ views }

// New returns an engine without items; fences count from now.
func New(cfg Config, now time.Time) *Engine {
	e := &Engine{}
	e.rules = rules{
		limit: cfg.Limit, claims: cfg.Claims, admit: cfg.Admit, reoffer: cfg.Reoffer, adopt: cfg.Adopt, work: map[string]Work{},
	}
	e.fence, e.changedAt = now.UnixMilli()<<20, now
	e.items, e.flight, e.gate, e.lost = map[int]*item{}, map[int]*item{}, ranked.NewSet[*item](), ranked.NewSet[*item]()
	e.classes, e.pinned, e.crowds = map[string]*class{}, map[string][]*class{}, map[string]*crowd{}
	maps.Copy(e.work, cfg.Work)
	if cfg.Fences > 0 {
		e.fence, e.fenceEnd = cfg.Fence-1, cfg.Fence+cfg.Fences-1
	}
	e.fleet.byID = map[string]*worker{}
	e.roll = rollover.New(cfg.RollEvents, 0)
	return e
}

// Apply applies one event. [Engine.Take] returns the results.
func (e *Engine) Apply(now time.Time, event Event) {
	e.begin()
	event.apply(e, now)
	e.fireTimers(now)
}

// Take advances the run and returns decisions and reports, both valid until the next call. A source that offers items
// in answer to reports calls Take again until there are no reports.
func (e *Engine) Take(now time.Time) ([]Decision, []Report) {
	e.begin()
	e.fireTimers(now)
	e.advance(now)
	e.fatal = false // The source receives it now, and ends the run.
	decisions, reports := e.decisions, e.reports
	e.decisions, e.reports = e.takenDecisions[:0], e.takenReports[:0]
	e.takenDecisions, e.takenReports = decisions, reports
	return decisions, reports
}

func (e *Engine) begin() {
	if !e.fleet.reprobe {
		return
	}
	e.fleet.reprobe = false
	for _, w := range e.fleet.sorted() {
		if w.suspect {
			e.decide(Decision{Kind: Probe, Worker: w.ID, Instance: w.Instance})
		}
	}
}

// maxSettled: a run ends about as many items in a step as it starts.
const maxSettled = 256

// Memory of settled items is reused only between two steps, when nothing refers to it.
func (e *ledger) fresh() *item {
	n := len(e.settled) - 1
	if n < 0 {
		return &item{}
	}
	it := e.settled[n]
	e.settled = e.settled[:n]
	return it
}

func (e *outbox) decide(d Decision) { e.decisions = append(e.decisions, d) }

// Offer adds an item, unless its id is open. If the run is stopped, the item settles at once.
func (e *Engine) Offer(now time.Time, in Item) {
	if e.items[in.ID] != nil {
		return
	}
	it := e.fresh()
	*it = item{Item: in, at: -1}
	e.items[in.ID] = it
	e.keepCheckpoint(it)
	if e.stopped != Open {
		e.settle(it, e.stopped, e.stopReason, now)
		return
	}
	if !in.Want.Nowhere {
		e.Watch()
	}
	e.enqueue(it, in.NotBefore, now)
}

// Withdraw removes an item that does not run, without a report. It returns false for any other.
func (e *Engine) Withdraw(id int) bool {
	it := e.items[id]
	if it == nil || it.inFlight() {
		return false
	}
	e.leave(it)
	e.release(it)
	e.forgetCheckpoint(it)
	delete(e.items, id)
	return true
}

// SetWork replaces a kind of work, also for waiting items.
func (e *Engine) SetWork(now time.Time, name string, work Work) {
	e.work[name] = work
	//workflowcheck:ignore each class is worked out by itself
	for _, c := range e.classes {
		if c.work == name {
			c.adopt(work)
			e.failInTime(c, c.items)
		}
	}
	for _, w := range e.fleet.sorted() {
		e.rerank(w, now)
	}
	e.returnLost(now)
}

// Work returns a kind of work by its name.
func (e *rules) Work(name string) Work { return e.work[name] }

func sharedRouting(work Work) bool { return work.Policy.Routing == jobtype.RoutingShared }

// SetLimit replaces [Config.Limit].
func (e *board) SetLimit(limit int) {
	e.limit = limit
	e.touchAll() // The limit determines whether a crowd is full.
}

// Suspend prevents starts between two windows, until [Engine.Unsuspend].
func (e *course) Suspend(now time.Time) {
	e.suspended = true
	e.rest(now)
}

// Unsuspend ends a suspension, and queues late items again.
func (e *course) Unsuspend(now time.Time) {
	e.suspended = false
	e.retryLate(now)
	e.touchAll()
}

// Waits for a worker do not count while nothing starts.
func (e *course) rest(now time.Time) {
	for _, it := range e.gate.Sorted() {
		e.dequeue(it)
		e.release(it)
		e.push(it, now)
	}
	//workflowcheck:ignore each class is changed by itself
	for _, c := range e.classes {
		c.noWorkerSince = time.Time{}
	}
}

func (e *board) touchAll() {
	for _, c := range e.open {
		e.touch(c)
	}
	rest := make([]*class, 0, len(e.classes))
	//workflowcheck:ignore sorted right below
	for _, c := range e.classes {
		if c.node != "" || c.nowhere {
			rest = append(rest, c)
		}
	}
	slices.SortFunc(rest, func(a, b *class) int { return cmp.Compare(a.key, b.key) })
	for _, c := range rest {
		e.touch(c)
	}
}

// Forget drops the subscription to the fleet, because the run is suspended.
func (e *board) Forget() { e.fleet.watching = false }

// Watch subscribes to the fleet, once.
func (e *board) Watch() {
	if !e.fleet.watching {
		e.fleet.watching = true
		e.decide(Decision{Kind: Watch})
	}
}

// Watching reports whether the run has subscribed to the fleet.
func (e *board) Watching() bool { return e.fleet.watching }

func byID(m map[int]*item) []*item {
	list := make([]*item, 0, len(m))
	//workflowcheck:ignore sorted right below
	for _, it := range m {
		list = append(list, it)
	}
	slices.SortFunc(list, func(a, b *item) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
