package placement

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Bounds that everybody who places work keeps.
const (
	// RecallGrace is how long work whose attempt timed out waits for the outcome
	// that its worker may still deliver. A worker retries delivery at least once
	// a second; 3 s leaves two of the five seconds in which lost work must be
	// placed again.
	RecallGrace = 3 * time.Second
	// CoolDown is how long a worker that said "at capacity" gets nothing.
	CoolDown = 2 * time.Second
	// DrainCoolDown is the same for a worker that hands its work back, as long as it
	// is not seen to be ONLINE again.
	DrainCoolDown = 10 * time.Second
	// CancelPatience is how long beyond heartbeat_timeout the end of canceled
	// work is waited for before going on without it.
	CancelPatience = 10 * time.Second
)

// Worker is what the registry says of one worker.
type Worker struct {
	ID       string
	Instance string
	// State is for people; Online and Offline are what decides.
	State           string
	Online, Offline bool
	// Fresh: it beat lately. Beat grows when it becomes fresh again.
	Fresh  bool
	Beat   int64
	Labels map[string]string
	// Gone: OFFLINE, and not because it said goodbye and still ends its work.
	Gone bool
	// Fenced are incarnations of this id that lost it to the current one.
	Fenced []string
}

// Member is a worker with what this fleet's owner knows of it. Offer is what it
// can do, in the owner's own terms.
type Member[O any] struct {
	Worker
	Offer O
	// InFlight is how much the owner runs on it, own the same by handler.
	InFlight int
	own      map[string]int
	// Load is what others run there, as far as the owner has heard.
	Load      Load
	CoolUntil time.Time
	// Pace is a moving average of how long the owner's work runs on it; 0: unknown,
	// or something that was sent ahead found no slot since.
	Pace time.Duration
	// Suspect: it lost work and has not beaten since; SuspectBeat is its Beat of
	// that moment.
	Suspect     bool
	SuspectBeat int64
	// Unsupported: it said that it does not have the handler.
	Unsupported bool
}

// Fleet is the owner's view of the workers, sorted by id. The zero value is
// empty and ready for use.
type Fleet[O any] struct {
	list []*Member[O]
	byID map[string]*Member[O]
	// away are workers that are in no view any more, with what the owner still runs
	// there: a registry that was rebuilt learns of them one by one.
	away map[string]*Member[O]
	// Turn rotates ties; it is exported for snapshots.
	Turn int
}

// Members lists the workers by id. Do not modify the slice.
func (f *Fleet[O]) Members() []*Member[O] { return f.list }

// Update takes a new view and keeps what is known of the workers that are still
// the same process. Of one that was not in the last view only that is known what
// the owner runs there.
func (f *Fleet[O]) Update(view []Member[O]) {
	next := make([]*Member[O], 0, len(view))
	for i := range view {
		seen := view[i]
		m := f.byID[seen.ID]
		if m == nil {
			m = f.away[seen.ID]
		}
		if m == nil || m.Instance != seen.Instance {
			m = &Member[O]{}
		}
		delete(f.byID, seen.ID)
		delete(f.away, seen.ID)
		if seen.Online && !m.Online {
			m.CoolUntil = time.Time{} // What it said was before it was uncordoned, or came back.
		}
		m.Worker, m.Offer = seen.Worker, seen.Offer
		if m.Suspect && seen.Beat != m.SuspectBeat {
			m.Suspect = false
		}
		next = append(next, m)
	}
	//workflowcheck:ignore each goes to a place of its own
	for id, m := range f.byID {
		if m.InFlight > 0 {
			f.lose(id, m.Instance, m.own, m.InFlight)
		}
	}
	f.set(next)
}

// lose keeps only what the owner runs on a worker that is in no view.
func (f *Fleet[O]) lose(id, instance string, own map[string]int, inFlight int) {
	if f.away == nil {
		f.away = map[string]*Member[O]{}
	}
	f.away[id] = &Member[O]{Worker: Worker{ID: id, Instance: instance}, own: own, InFlight: inFlight}
}

// Restore takes members as an earlier fleet had them.
func (f *Fleet[O]) Restore(members []*Member[O], turn int) {
	f.set(members)
	f.Turn = turn
}

// Away tells which incarnations of workers that are in no view still run something
// for the owner, by id; nil: none.
func (f *Fleet[O]) Away() map[string]string {
	var away map[string]string
	//workflowcheck:ignore copying a map does not depend on the order
	for id, m := range f.away {
		if away == nil {
			away = map[string]string{}
		}
		away[id] = m.Instance
	}
	return away
}

// RestoreAway is the inverse of Away, before Occupy.
func (f *Fleet[O]) RestoreAway(away map[string]string) {
	//workflowcheck:ignore copying a map does not depend on the order
	for id, instance := range away {
		f.lose(id, instance, nil, 0)
	}
}

func (f *Fleet[O]) set(members []*Member[O]) {
	slices.SortFunc(members, func(a, b *Member[O]) int { return cmp.Compare(a.ID, b.ID) })
	f.list, f.byID = members, make(map[string]*Member[O], len(members))
	for _, m := range members {
		f.byID[m.ID] = m
	}
}

// Find returns the worker of that id, nil if there is none.
func (f *Fleet[O]) Find(id string) *Member[O] { return f.byID[id] }

// Instance returns the worker if it is still that process, else nil.
func (f *Fleet[O]) Instance(id, instance string) *Member[O] {
	if m := f.byID[id]; m != nil && m.Instance == instance {
		return m
	}
	return nil
}

// Alive is what every kind of work needs.
func (m *Member[O]) Alive() bool { return m.Online && m.Fresh && !m.Suspect && !m.Unsupported }

// Kept reports whether an operator keeps work from the worker, which is alive.
func (w Worker) Kept() bool { return w.State == "DRAINING" || w.State == "CORDONED" }

// Reason says why the worker gets nothing, or "".
func (m *Member[O]) Reason(now time.Time) string {
	switch {
	case !m.Online:
		return "it is " + m.State
	case !m.Fresh:
		return "no heartbeat for three intervals"
	case m.Suspect:
		return "it lost a job and has not shown a heartbeat since"
	case m.Unsupported:
		return "it does not have the handler"
	case m.CoolUntil.After(now):
		return "it said that it is at capacity"
	}
	return ""
}

// Doubt keeps work from a worker that lost some until it shows that it lives. It
// reports whether the worker should be probed: that is news.
func (f *Fleet[O]) Doubt(id, instance string) bool {
	m := f.Instance(id, instance)
	if m == nil || m.Suspect {
		return false
	}
	m.Suspect, m.SuspectBeat = true, m.Beat
	return true
}

// Doubted names the workers that would fit and are doubted, and what that means;
// "": none is.
func (f *Fleet[O]) Doubted(node string, labels map[string]string) (ids, why string) {
	var list []string
	for _, m := range f.list {
		if m.Online && m.Fresh && m.Suspect && m.Fits(node, labels) {
			list = append(list, m.ID)
		}
	}
	if len(list) == 0 {
		return "", ""
	}
	return strings.Join(list, ", "), "it did not take work that it was sent, or lost some, and is being probed"
}

// Trust ends a doubt, because a probe saw the worker beat. It reports whether
// that worker is still there.
func (f *Fleet[O]) Trust(id, instance string) bool {
	m := f.Instance(id, instance)
	if m == nil {
		return false
	}
	m.Suspect = false
	return true
}

// Cool keeps work from a worker until that time. It reports whether the worker
// is still there.
func (f *Fleet[O]) Cool(id, instance string, until time.Time) bool {
	m := f.Instance(id, instance)
	if m == nil {
		return false
	}
	m.CoolUntil = until
	return true
}

// Exclude keeps all work from a worker for as long as it is the same process.
func (f *Fleet[O]) Exclude(id, instance string) {
	if m := f.Instance(id, instance); m != nil {
		m.Unsupported = true
	}
}
