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

// Config is what does not change during a run.
type Config struct {
	// Limit is how many items may be in flight at once; 0: the source limits them.
	Limit int
	// Work are the kinds of work that are known, by the name that items use.
	Work map[string]Work
	// Claims says that [Acquire], [Release] and [MoreFences] are carried out; without
	// it every item may start.
	Claims bool
	// Admit has an item with resources wait for [Engine.Proceed].
	Admit bool
	// Adopt says that [Adopt] is carried out.
	Adopt bool
	// Reoffer: the source offers items again after [Restore] to which nothing has
	// happened, so that a state need not have them.
	Reoffer bool
	// Fence and Fences are a range granted to the run as a whole; without one
	// fences count from the clock.
	Fence, Fences int64
	// RollEvents is the length of history from which on the run continues as new
	// when it can; 0: 20,000.
	RollEvents int
}

// Engine runs the items of one run. Create it with [New] or [Restore]; it is not
// safe for concurrent use.
type Engine struct {
	limit         int
	claims, admit bool
	reoffer       bool
	adopt         bool
	work          map[string]Work

	items map[int]*item
	// flight has the attempts that run or may still run, idle ones included.
	flight map[int]*item
	// gate has the items that wait for resources, or have them and do not run.
	gate ranked.Set[*item]
	// lost has the items that wait for their worker to return.
	lost ranked.Set[*item]
	// late counts items that do not fit before the window closes.
	late int
	// idle counts attempts in flight that may travel.
	idle int

	// waits counts the items of gate that wait for resources of others: they take no place.
	waits int
	// moved counts the items that this step has set aside.
	moved int
	// crowds has the needs for which items wait, by [Needs.key].
	crowds map[string]*crowd

	classes map[string]*class
	// open are the classes without a node, pinned the others by node.
	open   []*class
	pinned map[string][]*class
	// dirty are the classes to be looked at; looked is memory for the next ones, as key
	// is for that of the item at hand.
	dirty, looked []*class
	key           []byte
	// ready are the classes that may start an item, asking those whose first item
	// must request its resources.
	ready, asking ranked.Heap[*class]
	// noWorker is since when classes have had no worker whose items are not here yet.
	noWorker map[string]savedClass
	fleet    fleet
	timers   ranked.Queue[timer]
	// swept is how many timers mattered when they were looked through last.
	swept int
	roll  rollover.Rollover

	paused, suspended bool
	// stopped is the state in which items settle that can no longer start; Open
	// while they can.
	stopped    State
	stopReason string
	// fatal: an item was lost under recovery: fail. Nothing starts until the source knows.
	fatal   bool
	closing Closing
	// changedAt is when an item changed last.
	changedAt time.Time

	// fence is the last one given, fenceEnd the last that may be; 0: no end.
	fence, fenceEnd int64
	wantsFences     bool
	// fenced: an attempt has got a fence of the run's own.
	fenced bool
	// asks counts the requests for resources.
	asks int
	// checkpoints are those kept for next attempts.
	checkpoints checkpoints

	decisions []Decision
	reports   []Report
	// takenDecisions and takenReports were returned last: their memory is used again
	// after the next Take.
	takenDecisions []Decision
	takenReports   []Report
	// settled are items whose memory is used again.
	settled []*item
	notes   []Note
	// retried and replaced count items that were tried again, see [Engine.Again].
	retried, replaced int
	// freed are workers whose room changed in this step.
	freed []*worker
}

// New returns an engine without items; fences count from now.
func New(cfg Config, now time.Time) *Engine {
	e := &Engine{
		limit: cfg.Limit, claims: cfg.Claims, admit: cfg.Admit, reoffer: cfg.Reoffer, adopt: cfg.Adopt, work: map[string]Work{},
		items: map[int]*item{}, flight: map[int]*item{}, gate: ranked.NewSet[*item](), lost: ranked.NewSet[*item](),
		classes: map[string]*class{}, pinned: map[string][]*class{}, crowds: map[string]*crowd{},
		fence: now.UnixMilli() << 20, changedAt: now,
	}
	maps.Copy(e.work, cfg.Work)
	if cfg.Fences > 0 {
		e.fence, e.fenceEnd = cfg.Fence-1, cfg.Fence+cfg.Fences-1
	}
	e.fleet.byID = map[string]*worker{}
	e.roll = rollover.New(cfg.RollEvents, 0)
	return e
}

// Apply takes one event. [Engine.Take] returns what follows from it.
func (e *Engine) Apply(now time.Time, event Event) {
	e.begin()
	event.apply(e, now)
	e.fireTimers(now)
}

// Take advances the run and returns what is to be done, in order, and what has
// become of items. Both slices are valid until the next call. A source that offers
// items in answer to reports calls Take again until there are no reports.
func (e *Engine) Take(now time.Time) ([]Decision, []Report) {
	e.begin()
	e.fireTimers(now)
	e.advance(now)
	e.fatal = false // The source learns it now, and ends the run.
	decisions, reports := e.decisions, e.reports
	e.decisions, e.reports = e.takenDecisions[:0], e.takenReports[:0]
	e.takenDecisions, e.takenReports = decisions, reports
	return decisions, reports
}

// begin requests the probes again that were lost with the workflow run before.
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

// maxSettled bounds what is kept for use again: a run ends about as many items in a
// step as it starts.
const maxSettled = 256

// fresh returns memory for an item. That of one that has settled is used again only
// here, between two steps, when nothing refers to it any more.
func (e *Engine) fresh() *item {
	n := len(e.settled) - 1
	if n < 0 {
		return &item{}
	}
	it := e.settled[n]
	e.settled = e.settled[:n]
	return it
}

func (e *Engine) decide(d Decision) { e.decisions = append(e.decisions, d) }

// Offer adds an item. One whose id has not settled is ignored. Where the run is
// stopped the item settles at once.
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
		e.watch()
	}
	e.enqueue(it, in.NotBefore, now)
}

// Withdraw takes an item back that does not run, without a report; what it was
// granted is released. It returns false if the item runs or is unknown.
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

// SetWork replaces a kind of work, also for items that wait.
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
func (e *Engine) Work(name string) Work { return e.work[name] }

func sharedRouting(work Work) bool { return work.Policy.Routing == jobtype.RoutingShared }

// SetLimit replaces [Config.Limit].
func (e *Engine) SetLimit(limit int) {
	e.limit = limit
	e.touchAll() // Whether a crowd is full depends on the limit.
}

// Pause keeps items from starting until [Engine.Resume]. Granted resources are
// released.
func (e *Engine) Pause(now time.Time) {
	e.paused = true
	e.rest(now)
}

// Resume ends a pause.
func (e *Engine) Resume() {
	e.paused = false
	e.touchAll()
}

// Suspend keeps items from starting because their window has closed and another
// will open: they wait for [Engine.Unsuspend].
func (e *Engine) Suspend(now time.Time) {
	e.suspended = true
	e.rest(now)
}

// Unsuspend ends a suspension; late items get another chance.
func (e *Engine) Unsuspend(now time.Time) {
	e.suspended = false
	e.retryLate(now)
	e.touchAll()
}

// rest gives back what waiting items hold: nothing starts. Nothing waits for a
// worker meanwhile.
func (e *Engine) rest(now time.Time) {
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

func (e *Engine) touchAll() {
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

// Forget drops the subscription to the fleet, because the run is away.
func (e *Engine) Forget() { e.fleet.watching = false }

// Watch subscribes to the fleet, once.
func (e *Engine) Watch() { e.watch() }

func (e *Engine) watch() {
	if !e.fleet.watching {
		e.fleet.watching = true
		e.decide(Decision{Kind: Watch})
	}
}

// Watching reports whether the run has asked to be told of the fleet.
func (e *Engine) Watching() bool { return e.fleet.watching }

// sortedItems lists the items that have not settled, by id.
func (e *Engine) sortedItems() []*item { return byID(e.items) }

func byID(m map[int]*item) []*item {
	list := make([]*item, 0, len(m))
	//workflowcheck:ignore sorted right below
	for _, it := range m {
		list = append(list, it)
	}
	slices.SortFunc(list, func(a, b *item) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
