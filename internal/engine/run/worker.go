package run

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/trial"
)

// Bounds that hold wherever items are placed.
const (
	// Grace is how long an item whose attempt timed out waits for the outcome that
	// its worker may still deliver. A worker retries delivery at least once a
	// second; 3 s leaves two of the five seconds within which a lost item must be
	// placed again.
	Grace = 3 * time.Second
	// TakeTimeout is how long a worker may take to draw an attempt from its own
	// queue before the item goes to another one.
	TakeTimeout = 5 * time.Second
	// CoolDown is how long a worker that returned AtCapacity gets nothing.
	CoolDown = 2 * time.Second
	// DrainCoolDown is the same for a worker that hands its work back, until it is
	// seen ONLINE again.
	DrainCoolDown = 10 * time.Second
	// CancelWait is how long beyond heartbeat_timeout the end of a canceled attempt
	// is waited for.
	CancelWait = 10 * time.Second
	// RebuildPause is after how long the run looks again at what has no worker in a
	// view that is incomplete.
	RebuildPause = 5 * time.Second
	// noWorkerGrid bounds how often items are looked at that wait for a worker which
	// is not there: many may have joined one after another.
	noWorkerGrid = time.Second
)

// worker is one worker with what the run knows of it.
type worker struct {
	contract.WorkerView

	// inFlight is how many attempts the run has there, own the same by handler.
	inFlight int
	own      map[string]int
	// load is what others run there, as last reported.
	load      trial.Load
	coolUntil time.Time
	// pace is a moving average of how long the run's work takes there, by handler.
	pace map[string]time.Duration
	// suspect: it lost an item and has not beaten since; suspectBeat is its Beat of
	// that moment.
	suspect     bool
	suspectBeat int64
	// unsupported are handlers that it turned out not to have.
	unsupported []string
	starts      startRecord
	// used grows with every attempt placed in the run, so that ties rotate.
	used int64
	// view is the one that it was seen in last.
	view uint64
	// candidates are its places in the classes that it could serve.
	candidates []*candidate
}

func (w *worker) online() bool  { return w.State == contract.WorkerOnline }
func (w *worker) offline() bool { return w.State == contract.WorkerOffline }

// gone: it is OFFLINE, and not because it deregistered and still ends its work.
func (w *worker) gone() bool { return w.offline() && !w.Leaving }

// reserved: an operator keeps work from the worker, which is alive.
func (w *worker) reserved() bool {
	return w.State == contract.WorkerDraining || w.State == contract.WorkerCordoned
}

// healthy is what every placement needs.
func (w *worker) healthy() bool { return w.online() && w.Fresh && !w.suspect }

func (w *worker) serves(handler string) bool {
	return w.healthy() && !slices.Contains(w.unsupported, handler)
}

// fits reports whether work that wants this node and these labels may run there.
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

// slots is how many attempts of a handler and job type fit on the worker at once.
func (w *worker) slots(handler, jobType string) int {
	if !w.accepts(jobType) {
		return 0
	}
	for _, c := range w.Capabilities {
		if c.Handler == handler && c.Execute {
			if c.MaxExecute > 0 {
				return min(c.MaxExecute, w.MaxExecute)
			}
			return w.MaxExecute
		}
	}
	return 0
}

// accepts reports whether the worker serves the job type; empty: that of a
// command task, which only unrestricted workers take.
func (w *worker) accepts(jobType string) bool {
	return len(w.JobTypes) == 0 || slices.Contains(w.JobTypes, jobType)
}

// detects reports whether the worker can run a detection.
func (w *worker) detects(handler, jobType string) bool {
	return w.MaxDetect > 0 && w.accepts(jobType) && slices.ContainsFunc(w.Capabilities, func(c contract.Capability) bool {
		return c.Handler == handler && c.Detect
	})
}

// room is how many more attempts of a class fit as far as is known, how many may
// be prefetched where none fits, and how many would fit if the run had the worker
// for itself.
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

func (w *worker) occupy(handler string) {
	if w.own == nil {
		w.own = map[string]int{}
	}
	w.inFlight++
	w.own[handler]++
}

// fleet is the run's view of the workers.
type fleet struct {
	byID map[string]*worker
	// list has the same workers by id, nil: to be made; view numbers the views.
	list []*worker
	view uint64
	// incomplete: the newest view is that of a registry which was just rebuilt.
	incomplete bool
	// absent are workers in no view, with what the run still has there: a registry
	// that was rebuilt learns of them one by one.
	absent map[string]*worker
	// stamp numbers placements.
	stamp int64
	// watching: the run asked to be told of changes.
	watching bool
	// reprobe: probes were lost with the workflow run before.
	reprobe bool
}

func (f *fleet) instance(id, instance string) *worker {
	if w := f.byID[id]; w != nil && w.Instance == instance {
		return w
	}
	return nil
}

// known is the worker of that process, in the view or absent.
func (f *fleet) known(id, instance string) *worker {
	if w := f.instance(id, instance); w != nil {
		return w
	}
	if w := f.absent[id]; w != nil && w.Instance == instance {
		return w
	}
	return nil
}

// sorted lists the workers by id. The list must not be changed.
func (f *fleet) sorted() []*worker {
	if f.list == nil {
		f.list = slices.SortedFunc(maps.Values(f.byID), func(a, b *worker) int { return cmp.Compare(a.ID, b.ID) })
	}
	return f.list
}

// isFenced reports whether that process lost its id while it may have lived:
// nothing that it reports counts.
func (f *fleet) isFenced(id, instance string) bool {
	w := f.byID[id]
	return w != nil && instance != "" && slices.Contains(w.Fenced, instance)
}

// whyGone says why nothing can be expected of that process any more, or "". An
// unknown worker is no news: the registry may have been rebuilt.
func (f *fleet) whyGone(id, instance string) string {
	if f.isFenced(id, instance) {
		return "worker " + id + " was replaced by another process"
	}
	if w := f.instance(id, instance); w != nil && w.gone() {
		return "worker " + id + " is OFFLINE"
	}
	return ""
}

// occupy counts an attempt that was there before, when an engine is restored.
func (f *fleet) occupy(id, instance, handler string) {
	if w := f.known(id, instance); w != nil {
		w.occupy(handler)
	}
}

// put adds a worker to the view, or replaces the process that has its id.
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

// release gives a slot back and returns the worker, nil if it is not known.
func (f *fleet) release(id, instance, handler string) *worker {
	w := f.known(id, instance)
	if w == nil || w.own[handler] == 0 {
		return nil
	}
	w.inFlight--
	w.own[handler]--
	if w.inFlight == 0 && f.absent[id] == w {
		delete(f.absent, id)
	}
	return w
}
