package placement

import (
	"fmt"
	"maps"
	"time"
)

// Figures of trials, see [Load].
const (
	// TrialPause is how long a worker that had no room for a trial is left alone
	// at first, TrialPauseMost at most. It says by itself when it has room again,
	// so trials are for what was lost on the way, and for a worker that others
	// keep full with short work: there a trial gets the next slot.
	TrialPause     = 5 * time.Second
	TrialPauseMost = time.Minute
	// trialSpacing keeps a large fleet that others fill from being tried all the
	// time: two trials a second over all workers.
	trialSpacing = 500 * time.Millisecond
	// TrialWait is after how long a trial counts as taken: the five seconds for
	// which work may wait for its worker, and two to hear of it.
	TrialWait = 7 * time.Second
	// trialGrid is the grid of the moments at which workers are tried, so that one
	// look at the fleet serves several of them.
	trialGrid = time.Second
)

// Report is what a worker said about the slots that it uses for other owners.
type Report struct {
	// At is when, by the worker's clock; zero: nothing was said.
	At time.Time `json:"at,omitzero"`
	// Others is how many slots other owners' work uses, OfHandler how many of
	// these are of the handler that the report is about.
	Others    int `json:"others,omitempty"`
	OfHandler int `json:"of_handler,omitempty"`
}

// Load is what the owner knows of the slots that others use on a worker.
//
// It is as old as the last thing that was heard from there. A worker that sent work
// back says when it has room again, see Welcome; that may be lost, and does not come
// while others take every slot that becomes free. So a worker that looks full is
// tried: with one job, and if that is taken with two, four and so on; one that has
// no room for a trial is left alone for TrialPause, then for longer.
type Load struct {
	// At is when that was so, by the worker's clock.
	At time.Time `json:"at,omitzero"`
	// Others is how many slots other owners' work uses, Handlers how many of
	// these are of one handler.
	Others   int            `json:"others,omitempty"`
	Handlers map[string]int `json:"handlers,omitempty"`
	// TryAt is when the worker may be tried although it looks full.
	TryAt time.Time `json:"try_at,omitzero"`
	// Size is how much the next trial is, 0 meaning one; Left what is not used of
	// this one.
	Size int `json:"size,omitempty"`
	Left int `json:"left,omitempty"`
	// Pause is how long it was left alone last.
	Pause time.Duration `json:"pause,omitempty"`
}

// take counts one piece of work that found no room as far as is known.
func (l *Load) take(now time.Time) {
	if l.Left == 0 {
		l.Left = max(l.Size, 1)
		if l.Size > 0 {
			l.Pause = 0 // The trial before was taken.
		}
	}
	if l.Left--; l.Left == 0 {
		l.Size = 2 * max(l.Size, 1)
		l.TryAt = onGrid(now.Add(TrialWait))
	}
}

// refuse begins the pause after work that found no room, in a fleet of n workers.
func (l *Load) refuse(n int, now time.Time) {
	if l.Pause > 0 && l.Size == 0 && l.Left == 0 && l.TryAt.After(now) {
		return // One pause for all that is refused together.
	}
	l.Pause = min(max(2*l.Pause, TrialPause), TrialPauseMost)
	l.Size, l.Left = 0, 0
	l.TryAt = onGrid(now.Add(max(l.Pause, time.Duration(n)*trialSpacing)))
}

func onGrid(at time.Time) time.Time {
	if whole := at.Truncate(trialGrid); !whole.Equal(at) {
		return whole.Add(trialGrid)
	}
	return at
}

// total is how much the worker runs at once, over all kinds.
func (w Want[O]) total(o O) int {
	slots := w.Slots(o)
	if w.Total == nil {
		return slots
	}
	return max(w.Total(o), slots)
}

// room is how much of a kind fits as far as is known, how much may be sent ahead
// where nothing does, and how much would fit if nobody else used the worker.
func (m *Member[O]) room(w Want[O]) (known, ahead, most int) {
	slots, total := w.Slots(m.Offer), w.total(m.Offer)
	most = min(total-m.InFlight, slots-m.own[w.Handler])
	known = min(total-m.InFlight-m.Load.Others, slots-m.own[w.Handler]-m.Load.Handlers[w.Handler])
	ahead = m.ahead(w, known)
	if w.PerWorker > 0 {
		rest := w.PerWorker - m.InFlight
		known, ahead, most = min(known, rest), min(ahead, rest), min(most, rest)
	}
	return known, ahead, most
}

// Room reports whether, as far as is known, the worker has a free slot for work
// of that kind.
func (m *Member[O]) Room(w Want[O]) bool {
	known, _, _ := m.room(w)
	return known > 0
}

// Crowd says what others use there, for people; "" if that is nothing, as far as
// is known.
func (m *Member[O]) Crowd() string {
	switch n := m.Load.Others; n {
	case 0:
		return ""
	case 1:
		return "others use 1 slot of " + m.ID
	default:
		return fmt.Sprintf("others use %d slots of %s", n, m.ID)
	}
}

// Take counts one more piece of work of that kind on the worker.
func (m *Member[O]) Take(w Want[O], now time.Time) {
	if known, ahead, _ := m.room(w); known <= 0 && ahead <= 0 {
		m.Load.take(now)
	}
	m.occupy(w.Handler)
}

// Occupy is Take for work that was there before, when a fleet is restored.
func (f *Fleet[O]) Occupy(id, instance, handler string) {
	m := f.byID[id]
	if m == nil {
		m = f.away[id]
	}
	if m == nil {
		f.lose(id, instance, nil, 0)
		m = f.away[id]
	}
	if m.Instance == instance {
		m.occupy(handler)
	}
}

func (m *Member[O]) occupy(handler string) {
	if m.own == nil {
		m.own = map[string]int{}
	}
	m.InFlight++
	m.own[handler]++
}

// Release gives a place on a worker back.
func (f *Fleet[O]) Release(id, instance, handler string) {
	m := f.byID[id]
	if m == nil {
		m = f.away[id]
	}
	if m == nil || m.Instance != instance || m.own[handler] == 0 {
		return
	}
	m.InFlight--
	if m.own[handler]--; m.InFlight == 0 {
		delete(f.away, id)
	}
}

// Hear takes what a worker said. What it said before that changes nothing. It
// reports whether the worker looks less used than it did.
func (f *Fleet[O]) Hear(id, instance, handler string, said Report, now time.Time) (freed bool) {
	m := f.Instance(id, instance)
	if m == nil || said.At.IsZero() || said.At.Before(m.Load.At) {
		return false
	}
	l := &m.Load
	others, ofHandler := max(said.Others, 0), max(said.OfHandler, 0)
	freed = others < l.Others || ofHandler < l.Handlers[handler]
	l.Handlers = maps.Clone(l.Handlers)
	if l.Handlers == nil {
		l.Handlers = map[string]int{}
	}
	l.Handlers[handler] = ofHandler
	l.set(said.At, others, now)
	if freed {
		l.Pause = 0
	}
	return freed
}

// set changes how much others use; no handler has more than that. Who has just
// heard that a worker is fuller than it was does not try it at once.
func (l *Load) set(at time.Time, others int, now time.Time) {
	if others > l.Others && !l.TryAt.After(now) {
		l.TryAt = onGrid(now.Add(TrialPause))
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

// Welcome is Hear for a worker that says by itself that it has a free slot again:
// it does not have to cool down any more. It reports whether that worker is still
// there.
func (f *Fleet[O]) Welcome(id, instance, handler string, said Report, now time.Time) bool {
	m := f.Instance(id, instance)
	if m == nil || said.At.Before(m.Load.At) {
		return false
	}
	f.Hear(id, instance, handler, said, now)
	m.CoolUntil, m.Load.Pause = time.Time{}, 0
	return true
}

// HearUsed takes how many slots the worker's heartbeat says that it uses, whoever
// uses them. What the owner runs there itself it knows better, and how much of the
// rest is of which handler it has to guess: as much as it did.
func (f *Fleet[O]) HearUsed(id, instance string, at time.Time, used int, now time.Time) (freed bool) {
	m := f.Instance(id, instance)
	if m == nil || at.IsZero() || at.Before(m.Load.At) {
		return false
	}
	others := max(used-m.InFlight, 0)
	freed = others < m.Load.Others
	m.Load.set(at, others, now)
	return freed
}

// Refused begins a pause after work of that kind found no room on the worker and
// is on its way back. A worker that did not even answer (silent) is taken to have
// room for no more than it runs for the owner otherwise, until it is heard. It
// reports whether the worker nevertheless looks free, as far as is known: then only
// a pause keeps the work from going there again at once.
func (f *Fleet[O]) Refused(id, instance string, w Want[O], silent bool, now time.Time) (looksFree bool) {
	m := f.Instance(id, instance)
	if m == nil {
		return false
	}
	if silent {
		m.Load.Others = max(m.Load.Others, w.total(m.Offer)-max(m.InFlight-1, 0))
	}
	m.Load.refuse(len(f.list), now)
	m.Pace = 0
	w.PerWorker = 0
	known, _, _ := m.room(w)
	return known >= 0 // What was refused still counts.
}
