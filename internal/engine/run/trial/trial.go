// Package trial estimates the slots that others use on a worker, and tries whether it has room again.
package trial

import "time"

// Figures of trials, see [Load].
const (
	// Pause is the first wait of a worker that had no room for a trial, PauseMost the longest. The worker reports by
	// itself, so trials are for lost reports, and for a worker that others keep full with short work.
	Pause     = 5 * time.Second
	PauseMost = time.Minute
	// spacing bounds trials to two a second over all workers of a fleet that others fill.
	spacing = 500 * time.Millisecond
	// Wait is the five seconds for which work may wait for its worker, and two for the report.
	Wait = 7 * time.Second
	// grid aligns trials, so that one look at the fleet serves several workers.
	grid = time.Second
)

// Load is the estimate of the slots that others use on a worker, as old as the last report.
//
// The report that a worker has room again may be lost, and does not come while others take every free slot. So a
// worker that looks full is tried with one item, then with two, four and so on. After a refused trial it gets none
// for [Pause], then for longer.
type Load struct {
	At       time.Time      `json:"at,omitzero"`
	Others   int            `json:"others,omitempty"`
	Handlers map[string]int `json:"handlers,omitempty"`
	// TryAt is the time of the next trial, although the worker looks full.
	TryAt time.Time `json:"try_at,omitzero"`
	// Size of the next trial, 0 meaning one; Left of this one.
	Size int `json:"size,omitempty"`
	Left int `json:"left,omitempty"`
	// Pause is the last one.
	Pause time.Duration `json:"pause,omitempty"`
}

// Take counts an attempt beyond the known room.
func (l *Load) Take(now time.Time) {
	if l.Left == 0 {
		l.Left = max(l.Size, 1)
		if l.Size > 0 {
			l.Pause = 0 // The trial before was taken.
		}
	}
	if l.Left--; l.Left == 0 {
		l.Size = 2 * max(l.Size, 1)
		l.TryAt = onGrid(now.Add(Wait))
	}
}

// Refuse begins the pause after work that found no room, in a fleet of n workers.
func (l *Load) Refuse(n int, now time.Time) {
	if l.Pause > 0 && l.Size == 0 && l.Left == 0 && l.TryAt.After(now) {
		return // One pause for all that is returned together.
	}
	l.Pause = min(max(2*l.Pause, Pause), PauseMost)
	l.Size, l.Left = 0, 0
	l.TryAt = onGrid(now.Add(max(l.Pause, time.Duration(n)*spacing)))
}

func onGrid(at time.Time) time.Time {
	if whole := at.Truncate(grid); !whole.Equal(at) {
		return whole.Add(grid)
	}
	return at
}

// Set changes the number of slots of others. A worker that has just become fuller is not tried at once.
func (l *Load) Set(at time.Time, others int, now time.Time) {
	if others > l.Others && !l.TryAt.After(now) {
		l.TryAt = onGrid(now.Add(Pause))
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
