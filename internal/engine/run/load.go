package run

import (
	"maps"
	"time"
)

// Figures of trials, see [load].
const (
	// trialPause is how long a worker that had no room for a trial is left alone at
	// first, trialPauseMost at most. It reports by itself when it has room again, so
	// trials are for reports that were lost, and for a worker that others keep full
	// with short work: there a trial gets the next slot.
	trialPause     = 5 * time.Second
	trialPauseMost = time.Minute
	// trialSpacing bounds trials to two a second over all workers of a fleet that
	// others fill.
	trialSpacing = 500 * time.Millisecond
	// trialWait is after which time a trial counts as taken: the five seconds for
	// which work may wait for its worker, and two for the report.
	trialWait = 7 * time.Second
	// trialGrid aligns trials, so that one look at the fleet serves several workers.
	trialGrid = time.Second
)

// Short work ends before the run has learned of it and has sent the next item: a
// slot is empty for as long as that takes. So a worker on which work ends quickly
// is sent a little more than it has slots for; that waits at the worker's gate.
const (
	// aheadWindow is the time within which a worker is expected to begin all that is
	// prefetched.
	aheadWindow = 50 * time.Millisecond
	// aheadPace is how long work takes at most that is prefetched.
	aheadPace = 400 * time.Millisecond
	// MaxAhead is how many items are prefetched at most: fewer than a full worker
	// takes to its gate.
	MaxAhead = 4
)

// LoadReport is what a worker reports about slots that other runs use.
type LoadReport struct {
	// At is when, by the worker's clock; zero: nothing was reported.
	At time.Time `json:"at,omitzero"`
	// Others is how many slots other runs use, OfHandler how many of these are of
	// the handler that the report is about.
	Others    int `json:"others,omitempty"`
	OfHandler int `json:"of_handler,omitempty"`
}

// load is what the run knows of the slots that others use on a worker.
//
// It is as old as the last report. A worker that returned work reports when it has
// room again; that report may be lost, and does not come while others take every
// slot that becomes free. So a worker that looks full is tried: with one item, and
// if that is taken with two, four and so on; one that has no room for a trial is
// left alone for trialPause, then for longer.
type load struct {
	At       time.Time      `json:"at,omitzero"`
	Others   int            `json:"others,omitempty"`
	Handlers map[string]int `json:"handlers,omitempty"`
	// TryAt is when the worker may be tried although it looks full.
	TryAt time.Time `json:"try_at,omitzero"`
	// Size is how large the next trial is, 0 meaning one; Left what is not used of
	// this one.
	Size int `json:"size,omitempty"`
	Left int `json:"left,omitempty"`
	// Pause is how long the worker was left alone last.
	Pause time.Duration `json:"pause,omitempty"`
}

// take counts one attempt that found no room as far as is known.
func (l *load) take(now time.Time) {
	if l.Left == 0 {
		l.Left = max(l.Size, 1)
		if l.Size > 0 {
			l.Pause = 0 // The trial before was taken.
		}
	}
	if l.Left--; l.Left == 0 {
		l.Size = 2 * max(l.Size, 1)
		l.TryAt = onGrid(now.Add(trialWait))
	}
}

// refuse begins the pause after work that found no room, in a fleet of n workers.
func (l *load) refuse(n int, now time.Time) {
	if l.Pause > 0 && l.Size == 0 && l.Left == 0 && l.TryAt.After(now) {
		return // One pause for all that is returned together.
	}
	l.Pause = min(max(2*l.Pause, trialPause), trialPauseMost)
	l.Size, l.Left = 0, 0
	l.TryAt = onGrid(now.Add(max(l.Pause, time.Duration(n)*trialSpacing)))
}

func onGrid(at time.Time) time.Time {
	if whole := at.Truncate(trialGrid); !whole.Equal(at) {
		return whole.Add(trialGrid)
	}
	return at
}

// set changes how many slots others use; no handler uses more than that. A worker
// that has just become fuller is not tried at once.
func (l *load) set(at time.Time, others int, now time.Time) {
	if others > l.Others && !l.TryAt.After(now) {
		l.TryAt = onGrid(now.Add(trialPause))
	}
	l.At, l.Others = at, others
	//workflowcheck:ignore each entry is bounded by itself
	for name, n := range l.Handlers {
		if l.Handlers[name] = min(n, others); l.Handlers[name] == 0 {
			delete(l.Handlers, name)
		}
	}
	if len(l.Handlers) == 0 {
		l.Handlers = nil // As a restored state has it.
	}
}

// observe takes a worker's report about itself. An older one changes nothing.
func (w *worker) observe(handler string, said LoadReport, now time.Time) {
	if said.At.IsZero() || said.At.Before(w.load.At) {
		return
	}
	l := &w.load
	others, ofHandler := max(said.Others, 0), max(said.OfHandler, 0)
	freed := others < l.Others || ofHandler < l.Handlers[handler]
	l.Handlers = maps.Clone(l.Handlers)
	if l.Handlers == nil {
		l.Handlers = map[string]int{}
	}
	l.Handlers[handler] = ofHandler
	l.set(said.At, others, now)
	if freed {
		l.Pause = 0
	}
}

// observeUsed takes how many slots the worker's heartbeat reports as used. The
// run knows its own share better; how much of the rest is of which handler
// stays as it was.
func (w *worker) observeUsed(at time.Time, used int, now time.Time) {
	if at.IsZero() || at.Before(w.load.At) {
		return
	}
	w.load.set(at, max(used-w.inFlight, 0), now)
}

// refused begins the pause after work of a class found no room there. A worker
// that did not even answer (silent) is taken to have room for no more than it runs
// for the run otherwise. It reports whether the worker nevertheless looks free: then
// only a pause keeps the work from being sent there again at once.
func (w *worker) refused(c *class, silent bool, fleet int, now time.Time) (looksFree bool) {
	if silent {
		w.load.Others = max(w.load.Others, w.MaxExecute-max(w.inFlight-1, 0))
	}
	w.load.refuse(fleet, now)
	delete(w.pace, c.handler)
	alone := *c
	alone.perWorker = 0
	known, _, _ := w.room(&alone)
	return known >= 0 // A returned item still counts.
}

// learnPace takes how long an attempt of a handler took there; 0: unknown.
func (w *worker) learnPace(handler string, took time.Duration) {
	if took <= 0 {
		return
	}
	if w.pace == nil {
		w.pace = map[string]time.Duration{}
	}
	if known := w.pace[handler]; known > 0 {
		took = known + (took-known)/8
	}
	w.pace[handler] = took
}

// ahead is how many more items may be sent of which free, 0 or less, is the room:
// as many as end within aheadWindow at the pace of those that run.
func (w *worker) ahead(handler string, free int) int {
	pace := w.pace[handler]
	if pace == 0 || pace > aheadPace || free > 0 {
		return 0
	}
	running := max(w.own[handler]+free, 0)
	return min(int(time.Duration(running)*aheadWindow/pace), MaxAhead) + free
}
