package run

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run/trial"
)

const (
	// Grace is the time for which an item whose attempt timed out waits for an outcome delivered
	// by its worker. A worker retries the delivery at least once a second. 3 s leaves two of the
	// five seconds within which a lost item must be placed again.
	Grace = 3 * time.Second
	// TakeTimeout is the time for a worker to start an attempt from its own queue, before the
	// item is sent to another one.
	TakeTimeout = 5 * time.Second
	// CoolDown is the pause of a worker that returned AtCapacity.
	CoolDown = 2 * time.Second
	// DrainCoolDown is the pause of a worker that hands its work back, until a view has it
	// ONLINE again.
	DrainCoolDown = 10 * time.Second
	// CancelWait is the time beyond heartbeat_timeout to wait for the end of a canceled attempt.
	CancelWait = 10 * time.Second
	// RebuildPause is the time until the next evaluation of items without a worker in an
	// incomplete view.
	RebuildPause = 5 * time.Second
	// noWorkerGrid bounds the frequency of evaluations of items without a worker: many may have
	// joined one after another.
	noWorkerGrid = time.Second
)

type worker struct {
	contract.WorkerView

	// inFlight counts the run's attempts there, own the same by handler.
	inFlight  int
	own       map[string]int
	load      trial.Load
	coolUntil time.Time
	// pace is a moving average of the duration of the run's work there, by handler.
	pace map[string]time.Duration
	// suspect means that it lost an item and has not beaten since; suspectBeat is its Beat at
	// that time.
	suspect     bool
	suspectBeat int64
	// unsupported are handlers that it lacks against its registration.
	unsupported []string
	starts      startRecord
	// used grows with every attempt placed in the run, so that ties rotate.
	used int64
	// view is the number of its last view.
	view uint64
	// candidates are its ranks in the classes that it could serve.
	candidates []*candidate
}

func (w *worker) online() bool  { return w.State == contract.WorkerOnline }
func (w *worker) offline() bool { return w.State == contract.WorkerOffline }

// gone reports whether it is OFFLINE and does not just end its work after a deregistration.
func (w *worker) gone() bool { return w.offline() && !w.Leaving }

// reserved reports whether an operator keeps work from the worker.
func (w *worker) reserved() bool {
	return w.State == contract.WorkerDraining || w.State == contract.WorkerCordoned
}

// healthy is required for every placement.
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

// slots returns the number of attempts of a handler and job type that fit on the worker.
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

// accepts reports whether the worker serves the job type; the empty one of a command task is
// only for unrestricted workers.
func (w *worker) accepts(jobType string) bool {
	return len(w.JobTypes) == 0 || slices.Contains(w.JobTypes, jobType)
}

func (w *worker) detects(handler, jobType string) bool {
	return w.MaxDetect > 0 && w.accepts(jobType) && slices.ContainsFunc(w.Capabilities, func(c contract.Capability) bool {
		return c.Handler == handler && c.Detect
	})
}

// room returns the known room for attempts of a class, the number to prefetch if there is none,
// and the room without other runs.
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

type fleet struct {
	byID map[string]*worker
	// list has the same workers by id, nil if outdated; view numbers the views.
	list []*worker
	view uint64
	// changes counts the changes that [Engine.Candidates] may show.
	changes uint64
	// incomplete means that the newest view is that of a registry which was just rebuilt.
	// wasIncomplete is the same of the view before it.
	incomplete, wasIncomplete bool
	// absent are workers in no view, with the run's attempts there: a rebuilt registry receives
	// them one by one.
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

// known returns the worker of that process, in the view or absent.
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

// isFenced reports whether that process lost its id while it may have lived: its reports do not
// count.
func (f *fleet) isFenced(id, instance string) bool {
	w := f.byID[id]
	return w != nil && instance != "" && slices.Contains(w.Fenced, instance)
}

// whyGone returns why a process can report nothing any more, or "". An unknown worker is no
// reason: the registry may have been rebuilt.
func (f *fleet) whyGone(id, instance string) string {
	if f.isFenced(id, instance) {
		return explain.TextGone(id, true)
	}
	if w := f.instance(id, instance); w != nil && w.gone() {
		return explain.TextGone(id, false)
	}
	return ""
}

func (f *fleet) occupy(id, instance, handler string) {
	if w := f.known(id, instance); w != nil {
		w.occupy(handler)
	}
}

// put adds a worker to the view, or replaces the process with its id.
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

// release frees a slot and returns the worker, nil if unknown.
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
