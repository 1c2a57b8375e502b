package run

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run/attempt"
	"github.com/roundsman/roundsman/internal/engine/run/trial"
)

const (
	// Grace is the wait for an outcome delivered by the worker of a timed-out attempt. A worker retries the delivery
	// every second. 3 s leaves two of the five seconds within which a lost item must be placed again.
	Grace = 3 * time.Second
	// TakeTimeout is the time for a worker to start an attempt from its own queue.
	TakeTimeout = 5 * time.Second
	// CoolDown is the pause of a worker that returned AtCapacity.
	CoolDown = 2 * time.Second
	// DrainCoolDown is the pause of a worker that hands its work back.
	DrainCoolDown = 10 * time.Second
	// CancelWait is the time beyond heartbeat_timeout to wait for the end of a canceled attempt.
	CancelWait = 10 * time.Second
	// RebuildPause is the time until the next evaluation in an incomplete view.
	RebuildPause = 5 * time.Second
	// noWorkerGrid bounds the frequency of evaluations of items without a worker.
	noWorkerGrid = time.Second
)

type worker struct {
	contract.WorkerView

	inFlight int
	own      map[string]int
	// apart counts the attempts in flight that were kept apart.
	apart     int
	load      trial.Load
	coolUntil time.Time
	// pace is a moving average of the duration of the run's work there, by handler.
	pace map[string]time.Duration
	// suspect: the worker lost an item and has not beaten since suspectBeat.
	suspect     bool
	suspectBeat int64
	unsupported []string
	starts      attempt.Starts
	// used grows with every placed attempt, so that ties rotate.
	used       int64
	view       uint64
	candidates []*candidate
}

func (w *worker) online() bool  { return w.State == contract.WorkerOnline }
func (w *worker) offline() bool { return w.State == contract.WorkerOffline }

func (w *worker) gone() bool { return w.offline() && !w.Leaving }

func (w *worker) reserved() bool {
	return w.State == contract.WorkerDraining || w.State == contract.WorkerCordoned
}

// leaves reports whether its stop was announced, by its process or by an operator.
func (w *worker) leaves() bool { return w != nil && (w.Leaving || w.reserved()) }

// healthy is required for every placement.
func (w *worker) healthy() bool { return w != nil && w.online() && w.Fresh && !w.suspect }

func (w *worker) serves(handler string) bool {
	return w.healthy() && !slices.Contains(w.unsupported, handler)
}

func (w *worker) fits(node string, labels map[string]string) bool {
	if node != "" && node != w.ID {
		return false
	}
	//workflowcheck:ignore a conjunction does not depend on the order
	for name, value := range labels {
		if w.Labels[name] != value {
			return false
		}
	}
	return true
}

func (w *worker) slots(handler, jobType string) int {
	if !w.accepts(jobType) {
		return 0
	}
	return max(w.executes(handler), 0)
}

// executes is how many items of the handler the worker can run at once, and -1 without the handler.
func (w *worker) executes(handler string) int {
	for _, c := range w.Capabilities {
		if c.Handler == handler && c.Execute {
			return min(cmp.Or(max(c.MaxExecute, 0), w.MaxExecute), w.MaxExecute)
		}
	}
	return -1
}

// The empty job type of a command task is only for unrestricted workers.
func (w *worker) accepts(jobType string) bool {
	return len(w.JobTypes) == 0 || slices.Contains(w.JobTypes, jobType)
}

func (w *worker) detects(handler, jobType string) bool {
	return w.MaxDetect > 0 && w.accepts(jobType) && slices.ContainsFunc(w.Capabilities, func(c contract.Capability) bool {
		return c.Handler == handler && c.Detect
	})
}

func (w *worker) room(c *class) (known, ahead, most int) {
	slots := w.slots(c.handler, c.jobType)
	most = min(w.MaxExecute-w.inFlight, slots-w.own[c.handler])
	known = min(w.MaxExecute-w.inFlight-w.load.Others, slots-w.own[c.handler]-w.load.Handlers[c.handler])
	ahead = w.ahead(c.handler, known)
	if c.perWorker > 0 {
		rest := c.perWorker - w.inFlight
		known, ahead, most = min(known, rest), min(ahead, rest), min(most, rest)
	}
	return known, ahead, most
}

func (w *worker) occupy(handler string, apart bool) {
	if w.own == nil {
		w.own = map[string]int{}
	}
	w.inFlight++
	w.own[handler]++
	if apart {
		w.apart++
	}
}

type fleet struct {
	byID map[string]*worker
	// list has the same workers by id, nil if outdated; view numbers the views.
	list    []*worker
	view    uint64
	changes uint64
	// incomplete: a rebuilt registry sent the newest view.
	incomplete, wasIncomplete bool
	// absent are workers in no view, with the run's attempts there: a rebuilt registry receives them one by one.
	absent   map[string]*worker
	stamp    int64
	watching bool
	// reprobe means that probes were lost with the previous workflow run.
	reprobe bool
}

func (f *fleet) instance(id, instance string) *worker {
	if w := f.byID[id]; w != nil && w.Instance == instance {
		return w
	}
	return nil
}

func (f *fleet) known(id, instance string) *worker {
	if w := f.instance(id, instance); w != nil {
		return w
	}
	if w := f.absent[id]; w != nil && w.Instance == instance {
		return w
	}
	return nil
}

// The list of sorted must not be changed.
func (f *fleet) sorted() []*worker {
	if f.list == nil {
		f.list = slices.SortedFunc(maps.Values(f.byID), func(a, b *worker) int { return cmp.Compare(a.ID, b.ID) })
	}
	return f.list
}

// Reports of a process that lost its id do not count.
func (f *fleet) isFenced(id, instance string) bool {
	w := f.byID[id]
	return w != nil && instance != "" && slices.Contains(w.Fenced, instance)
}

// An unknown worker is no reason: the registry may have been rebuilt.
func (f *fleet) whyGone(id, instance string) string {
	if f.isFenced(id, instance) {
		return explain.TextGone(id, true)
	}
	if w := f.instance(id, instance); w != nil && w.gone() {
		return explain.TextGone(id, false)
	}
	return ""
}

func (f *fleet) occupy(it *item, handler string) {
	if w := f.known(it.Worker, it.Instance); w != nil {
		w.occupy(handler, it.Apart)
	}
}

func (f *fleet) put(w *worker) {
	f.byID[w.ID] = w
	if f.list == nil {
		return
	}
	at, found := slices.BinarySearchFunc(f.list, w.ID, compareWorker)
	if !found {
		f.list = slices.Insert(f.list, at, w)
	}
	f.list[at] = w
}

func (f *fleet) drop(w *worker) {
	delete(f.byID, w.ID)
	if at, found := slices.BinarySearchFunc(f.list, w.ID, compareWorker); found {
		f.list = slices.Delete(f.list, at, at+1)
	}
}

func compareWorker(w *worker, id string) int { return cmp.Compare(w.ID, id) }

func (f *fleet) setAbsent(w *worker) {
	if f.absent == nil {
		f.absent = map[string]*worker{}
	}
	f.absent[w.ID] = w
}

func (f *fleet) release(it *item, handler string) *worker {
	w := f.known(it.Worker, it.Instance)
	if w == nil || w.own[handler] == 0 {
		return nil
	}
	w.inFlight--
	w.own[handler]--
	if it.Apart {
		w.apart--
	}
	if w.inFlight == 0 && f.absent[w.ID] == w {
		delete(f.absent, w.ID)
	}
	return w
}
