package run

import (
	"maps"
	"time"

	"github.com/roundsman/roundsman/internal/engine/run/attempt"
)

// Short work ends before the run has received its end and sent the next item. So a worker on which work ends quickly
// gets a few items beyond its slots.
const (
	// aheadWindow is the time within which a worker is expected to begin all prefetched items.
	aheadWindow = 50 * time.Millisecond
	// aheadPace is the longest duration of work that is prefetched.
	aheadPace = 400 * time.Millisecond
	// MaxAhead bounds the prefetched items, below the tasks that wait at a full worker's gate.
	MaxAhead = 4
)

// LoadReport is a worker's report of the slots that other runs use.
type LoadReport = attempt.LoadReport

// An older report changes nothing.
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

// observeUsed subtracts the run's own share; the split of the rest by handler stays unchanged.
func (w *worker) observeUsed(at time.Time, used int, now time.Time) {
	if at.IsZero() || at.Before(w.load.At) {
		return
	}
	w.load.Set(at, max(used-w.inFlight, 0), now)
}

// refused begins the pause after a refusal. A silent worker is assumed to have only the room for the run's other
// items. looksFree: only a pause prevents another try at once.
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

// ahead returns the number of items to prefetch without free room: so many end within aheadWindow.
func (w *worker) ahead(handler string, free int) int {
	pace := w.pace[handler]
	if pace == 0 || pace > aheadPace || free > 0 {
		return 0
	}
	running := max(w.own[handler]+free, 0)
	return min(int(time.Duration(running)*aheadWindow/pace), MaxAhead) + free
}
