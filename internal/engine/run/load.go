package run

import (
	"maps"
	"time"
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
	l.Set(said.At, others, now)
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
	w.load.Set(at, max(used-w.inFlight, 0), now)
}

// refused begins the pause after work of a class found no room there. A worker
// that did not even answer (silent) is taken to have room for no more than it runs
// for the run otherwise. It reports whether the worker nevertheless looks free: then
// only a pause keeps the work from being sent there again at once.
func (w *worker) refused(c *class, silent bool, fleet int, now time.Time) (looksFree bool) {
	if silent {
		w.load.Others = max(w.load.Others, w.MaxExecute-max(w.inFlight-1, 0))
	}
	w.load.Refuse(fleet, now)
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
