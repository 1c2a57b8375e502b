package placement

import "time"

// Work that takes tens of milliseconds is over before its owner has heard of it and
// sent the next: a slot stands empty for as long as that takes. So a worker on which
// it ends quickly is sent a little more than it has slots for. What is sent ahead
// waits at the worker's gate, and starts there the moment a slot is free.
const (
	// AheadWindow is within what time a worker is expected to begin all that is sent
	// ahead.
	AheadWindow = 50 * time.Millisecond
	// AheadPace is how long work takes at most of which something is sent ahead. If
	// all that runs began at the same moment, what was sent ahead waits for that
	// long, and the gate is patient for a second.
	AheadPace = 400 * time.Millisecond
	// MaxAhead is how much is sent ahead at most: less than a full worker takes to
	// its gate.
	MaxAhead = 4
)

// Ended takes how long a piece of the owner's work ran on a worker; 0: unknown.
func (f *Fleet[O]) Ended(id, instance string, ran time.Duration) {
	m := f.Instance(id, instance)
	if m == nil || ran <= 0 {
		return
	}
	if m.Pace == 0 {
		m.Pace = ran
		return
	}
	m.Pace += (ran - m.Pace) / 8
}

// ahead is how much more may be sent to a worker of which free, 0 or less, is the
// room: as many pieces as end within AheadWindow at the pace of those that it runs.
func (m *Member[O]) ahead(w Want[O], free int) int {
	if !w.Ahead || m.Pace == 0 || m.Pace > AheadPace || free > 0 {
		return 0
	}
	running := max(m.own[w.Handler]+free, 0)
	return min(int(time.Duration(running)*AheadWindow/m.Pace), MaxAhead) + free
}
