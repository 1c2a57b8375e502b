package run

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/roundsman/roundsman/contract"
)

// Wait is the wait of an item that does not run. A zero Code means no wait.
type Wait struct {
	Code contract.Code
	// Object is the awaited thing: workers, a handler.
	Object string
	// Ask is the request for resources that has no answer yet.
	Ask int
	// Since is the start of the wait; Until is its end, if known.
	Since, Until time.Time
	Detail       string
}

// View is one item for operators.
type View struct {
	Phase                     Phase
	Attempt, Retries          int
	Worker, Error, Canceling  string
	ReadyAt, QueuedAt         time.Time
	StartedAt, ChangedAt      time.Time
	Granted, Idle, Checkpoint bool
}

// View describes an item that has not settled; false if there is none.
func (e *views) View(id int) (View, bool) {
	it := e.items[id]
	if it == nil {
		return View{}, false
	}
	view := View{
		Phase: it.Phase, Attempt: it.Attempt, Retries: it.Retries, Worker: it.Worker, Canceling: it.Canceling,
		ReadyAt: it.ReadyAt, QueuedAt: it.QueuedAt, StartedAt: it.StartedAt, ChangedAt: it.changedAt(), Granted: it.Granted, Idle: it.Want.Idle, Checkpoint: len(it.Checkpoint) > 0,
	}
	if it.Deferral == "" { // The reason of a deferral is no error.
		view.Error = it.Error
	}
	return view, true
}

// RunningAttempt returns the attempt of an item that runs; 0 if none does.
func (e *ledger) RunningAttempt(id int) int {
	if it := e.items[id]; it != nil && it.Phase == PhaseRunning {
		return it.Attempt
	}
	return 0
}

// Len returns the number of items that have not settled.
func (e *views) Len() int { return len(e.items) }

// InFlight returns the number of attempts that run or may still run.
func (e *views) InFlight() int { return len(e.flight) }

// Late returns the number of items that do not fit before the window closes.
func (e *views) Late() int { return e.late }

// Busy returns the number of attempts in flight that continue-as-new would lose.
func (e *views) Busy() int { return len(e.flight) - e.idle }

// Estimate returns the expected rest of an item's run, and its expected whole duration.
func (e *views) Estimate(id int) (rest, whole time.Duration) {
	it := e.items[id]
	if it == nil {
		return 0, 0
	}
	return e.estimate(it), e.whole(it)
}

// WaitOf explains why an item does not run, except for the source's own decisions.
func (e *views) WaitOf(id int, now time.Time) Wait {
	it := e.items[id]
	if it == nil {
		return Wait{}
	}
	switch it.Phase {
	case PhaseLost:
		return Wait{Code: contract.CodeUnreachable, Object: it.Worker, Since: it.WaitsAt, Detail: explain.TextHeldByLoss(it.Worker, e.fleet.byID[it.Worker].healthy(), it.Error)}
	case PhaseGrace:
		worker := cmp.Or(it.Worker, explain.TextSharedWorker)
		return Wait{Code: contract.CodeOutcome, Object: worker, Since: it.WaitsAt, Until: it.WaitsAt.Add(Grace), Detail: explain.TextGrace(worker)}
	case PhaseWaiting:
		if it.Deferral != "" {
			return it.waitOfDeferred()
		}
		if it.Retries > 0 || it.Requeues > 0 {
			return Wait{Code: contract.CodeBackoff, Since: it.WaitsAt, Until: it.ReadyAt, Detail: explain.TextBackoff(it.ReadyAt, it.Attempt, it.Error)}
		}
		return Wait{Code: contract.CodeNotBefore, Since: it.WaitsAt, Until: it.ReadyAt, Detail: explain.TextNotBefore(it.ReadyAt)}
	case PhaseAsking:
		return Wait{Code: contract.CodeResources, Ask: it.Ask, Since: it.WaitsAt, Detail: explain.TextResources(it.Needs, false)}
	case PhaseQueued:
		return e.waitOfQueued(it, now)
	case PhaseLate:
		return Wait{Code: contract.CodeWindowFit, Since: it.WaitsAt, Until: e.closing.At}
	case PhaseDue:
		return Wait{Code: contract.CodeConcurrency, Since: it.QueuedAt, Detail: explain.TextDue}
	case PhaseNone, PhaseGranted, PhaseRunning:
	}
	return Wait{}
}

func (e *views) waitOfQueued(it *item, now time.Time) Wait {
	starting := Wait{Code: contract.CodeStarting, Since: it.QueuedAt, Detail: explain.TextStarting}
	requests := it.requests() && e.claims
	switch {
	case e.limit > 0 && (e.running() >= e.limit || requests && e.atGate() >= e.limit-e.running()):
		return Wait{Code: contract.CodeGlobalLimit, Since: it.QueuedAt, Detail: explain.TextGlobalLimit(e.limit, e.running(), e.atGate())}
	case requests && (it.class.full(&e.rules) || e.waits >= maxWaits):
		return Wait{Code: contract.CodeResources, Since: it.QueuedAt, Detail: explain.TextResources(it.Needs, true)}
	case !requests && !it.Granted && e.fenceEnd > 0 && e.fence >= e.fenceEnd:
		return Wait{Code: contract.CodeClaims, Since: it.QueuedAt, Detail: explain.TextFences}
	case it.Want.Nowhere || it.class == nil:
		return starting
	}
	return e.waitForWorker(it, now)
}

func (e *views) waitForWorker(it *item, now time.Time) Wait {
	c := it.class
	if c.possible == 0 {
		return e.waitForAny(it)
	}
	if wait, failing := e.waitForStarts(it); failing {
		return wait
	}
	var full, limited, apart []string
	var others []explain.Used
	for _, w := range e.fitting(c) {
		if !w.fits(c.node, c.labels) || !w.serves(c.handler) || w.slots(c.handler, c.jobType) == 0 {
			continue
		}
		if c.apart && w.apart > 0 {
			apart = append(apart, w.ID)
			continue
		}
		alone := *c
		alone.perWorker = 0
		if free, _, _ := w.room(&alone); free > 0 && !w.coolUntil.After(now) {
			limited = append(limited, w.ID)
			continue
		}
		full = append(full, w.ID)
		if n := w.load.Others; n > 0 && len(full) <= explain.MaxNamed {
			others = append(others, explain.Used{Worker: w.ID, Slots: n})
		}
	}
	switch {
	case len(limited) > 0 && c.perWorker > 0:
		return Wait{Code: contract.CodeWorkerLimit, Object: explain.NameSome(limited), Since: it.QueuedAt, Detail: explain.TextPerWorker(c.perWorker)}
	case len(apart) > 0:
		return Wait{Code: contract.CodeLosesWorkers, Object: explain.NameSome(apart), Since: it.QueuedAt, Detail: explain.TextApart(it.Losses.Workers())}
	case len(full) == 0:
		return Wait{Code: contract.CodeStarting, Since: it.QueuedAt, Detail: explain.TextPlaced}
	}
	return Wait{Code: contract.CodeSlots, Object: explain.NameSome(full), Since: it.QueuedAt, Detail: explain.TextSlots(others)}
}

func (e *board) fitting(c *class) []*worker {
	if c.node == "" {
		return e.fleet.sorted()
	}
	if w := e.fleet.byID[c.node]; w != nil {
		return []*worker{w}
	}
	return nil
}

func (e *views) waitForAny(it *item) Wait {
	c := it.class
	wait := Wait{Object: explain.HandlerWith(c.handler, c.labels), Since: c.waitingSince(it)}
	wait.Code, wait.Detail = explain.Lacking(e.fleet.incomplete, e.missing(c))
	if !c.noWorkerSince.IsZero() { // A pause does not count.
		wait.Until = wait.Since.Add(e.timeout(it))
	}
	var suspects []string
	for _, w := range e.fitting(c) {
		if w.online() && w.Fresh && w.suspect && w.fits(c.node, c.labels) {
			suspects = append(suspects, w.ID)
		}
	}
	w := e.fleet.byID[c.node]
	switch {
	case len(suspects) > 0:
		wait.Code, wait.Object = contract.CodeUnreachable, explain.NameSome(suspects)
		wait.Detail = explain.TextProbed
	case c.node == "":
	case w == nil:
		wait.Object = c.node
		wait.Detail += explain.TextPinnedUnknown
	default:
		wait.Code, wait.Object, wait.Detail = contract.CodeUnreachable, c.node, e.missing(c)
		if w.reserved() {
			wait.Code = contract.CodeCordoned
		}
	}
	return wait
}

func (e *board) reason(w *worker, handler string) string {
	switch {
	case !w.online():
		return explain.TextIs(w.State)
	case !w.Fresh:
		return explain.TextNoHeartbeat
	case w.suspect:
		return explain.TextSuspect
	case !w.serves(handler):
		return explain.TextNoHandler
	}
	return ""
}

// WorkerUse is one worker's use by the run.
type WorkerUse struct {
	ID, State, Reason string
	InFlight, Slots   int
	// Others is the number of slots that other runs use; 0 if unknown.
	Others int
}

// Workers describes the workers for the work of that name; all of them if it has no handler.
func (e *views) Workers(name string, now time.Time) []WorkerUse {
	work := e.work[name]
	var list []WorkerUse
	for _, w := range e.fleet.sorted() {
		if !w.accepts(work.JobType) && work.Handler != "" {
			continue
		}
		use := WorkerUse{ID: w.ID, State: string(w.State), Reason: e.reason(w, work.Handler), InFlight: w.inFlight, Slots: w.MaxExecute, Others: w.load.Others}
		if work.Handler != "" {
			use.Slots = w.slots(work.Handler, work.JobType)
		}
		if use.Reason == "" && w.starts.Failing() {
			use.Reason = explain.TextCannotStart + w.starts.Detail
		}
		if use.Reason == "" && w.coolUntil.After(now) {
			use.Reason = explain.TextAtCapacity
		}
		list = append(list, use)
	}
	return list
}

// Missing names the kind of worker that items wait for; "" if every item has one.
func (e *views) Missing() string {
	for _, it := range byID(e.items) {
		if it.class != nil && !it.class.noWorkerSince.IsZero() {
			return e.missing(it.class)
		}
	}
	return ""
}
