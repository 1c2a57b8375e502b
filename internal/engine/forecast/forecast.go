package forecast

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
)

// JobType is the input about one job type.
type JobType struct {
	Name string
	// Lane is its exclusive lane; empty if it needs no turn.
	Lane string
	// Ticks are the instants at which it is due, in order.
	Ticks   []time.Time
	Overlap jobtype.Overlap
	// MaxWait bounds the wait of a run for its window.
	MaxWait time.Duration
	// Windowed job types run within Open only.
	Windowed bool
	Open     []window.Span
	// Typical is the usual duration of a run; if 0 (unknown), runs end at once.
	Typical time.Duration
	// MaxRuntime bounds a run. DeadlineGrace and WindowGrace are its extra time after the
	// deadline and after the end of its window.
	MaxRuntime, DeadlineGrace, WindowGrace time.Duration
	// Paused job types are due at no instant. Until HeldUntil a job type is refused its turn.
	Paused    bool
	HeldUntil time.Time
	// Running are the open runs at the beginning, oldest first.
	Running []Running
	// Conditions are the rules about past successes.
	Conditions []Condition
	// Buffered counts the runs that the Schedule starts after the open one ends.
	Buffered int
}

// Running is a run that is open when the forecast begins.
type Running struct {
	WorkflowID string
	Since      time.Time
	// Waiting means that it has not begun, and waits in its lane since Since.
	Waiting bool
	// Approval: it waits for a person, so it may last until MaxRuntime. OffLane: it has given its
	// lane back.
	Approval, OffLane bool
}

// Tick is the forecast of one scheduled instant.
type Tick struct {
	JobType string             `json:"job_type"`
	At      time.Time          `json:"at"`
	State   contract.TickState `json:"state"`
	// Code is the reason for a skip, a late start or an early end.
	Code contract.Code `json:"code,omitempty"`
	// Text is the code in words.
	Text string `json:"text,omitempty"`
	// Object is the cause of the wait: a lane, or the previous run.
	Object string `json:"object,omitempty"`
	// Run is the previous run if it is the object.
	Run    string    `json:"run,omitempty"`
	Begins time.Time `json:"begins_at,omitzero"`
	Ends   time.Time `json:"ends_at,omitzero"`
	// Waits is the wait of the run before it begins.
	Waits jobtype.Duration `json:"waits,omitempty"`
	// If are conditions that the forecast cannot answer. The start of a run that waits for another
	// job type is unknown.
	If []Condition `json:"if,omitempty"`
}

// Of forecasts the instants of all job types, in order of time and then of name. It omits
// instants before from.
func Of(from time.Time, types []JobType) []Tick {
	s := newModel(from, types)
	for {
		next, ok := s.queue.pop()
		if !ok {
			break
		}
		s.now = next.at
		s.apply(next)
	}
	for i := range s.ticks {
		s.of[i].conditional(&s.ticks[i])
	}
	slices.SortStableFunc(s.ticks, func(a, b Tick) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.JobType, b.JobType))
	})
	return s.ticks
}

type run struct {
	of *typeState
	// tick is the index of its forecast, or before.
	tick int
	id   string
	// since is the start of the wait for its window, asked the start of the wait for its lane.
	since, asked time.Time
	begun        bool
	request      int
	approval     bool
}

type typeState struct {
	JobType

	order    int
	open     *run
	buffered []int
}

// lane serves one run at a time: the first waiting job type by name, except that one that had
// its turn while another waited goes behind that one.
type lane struct {
	holder  *run
	waiting []*run
	// had is the last turn of each job type, in the numbering of requests.
	had map[string]int
}

func (l *lane) take(r *run, at int) {
	l.holder = r
	if l.had == nil {
		l.had = map[string]int{}
	}
	l.had[r.of.Name] = at
}

// next removes and returns the run whose turn comes next.
func (l *lane) next() *run {
	chosen, oldest := 0, l.waiting[0].request
	for i, r := range l.waiting {
		if l.had[r.of.Name] < oldest && r.of.Name < l.waiting[chosen].of.Name {
			chosen = i
		}
	}
	r := l.waiting[chosen]
	l.waiting = slices.Delete(l.waiting, chosen, chosen+1)
	return r
}

// model is the simulated week.
type model struct {
	now   time.Time
	ticks []Tick
	// of has the job types of the ticks.
	of    []*typeState
	lanes map[string]*lane
	// requests counts requests and turns.
	requests int
	queue    queue
}

func (s *model) count() int {
	s.requests++
	return s.requests
}

func newModel(from time.Time, types []JobType) *model {
	s := &model{now: from, lanes: map[string]*lane{}}
	states := make([]*typeState, len(types))
	for i, t := range types {
		states[i] = &typeState{JobType: t, order: i}
	}
	s.resume(from, states)
	for _, t := range states {
		s.buffer(t)
	}
	for _, t := range states {
		for _, at := range t.Ticks {
			if at.Before(from) {
				continue
			}
			s.ticks, s.of = append(s.ticks, Tick{JobType: t.Name, At: at}), append(s.of, t)
			s.queue.push(event{at: at, kind: tickDue, of: t, tick: len(s.ticks) - 1})
		}
	}
	return s
}

// before is the tick of a run that was due before the forecast begins.
const before = -1

// buffer adds the buffered runs. Their instants are over.
func (s *model) buffer(t *typeState) {
	for range t.Buffered {
		t.buffered = append(t.buffered, before)
	}
	if t.open == nil && len(t.buffered) > 0 { // The Schedule is about to start the first one.
		t.buffered = t.buffered[1:]
		s.start(t, before)
	}
}

// resume adds the open runs: first those that have begun, so that they hold their lanes.
func (s *model) resume(from time.Time, states []*typeState) {
	type resumed struct {
		Running

		of *typeState
	}
	var open []resumed
	for _, t := range states {
		for _, r := range t.Running {
			open = append(open, resumed{r, t})
		}
	}
	slices.SortStableFunc(open, func(a, b resumed) int {
		if a.Waiting != b.Waiting {
			if b.Waiting {
				return -1
			}
			return 1
		}
		return a.Since.Compare(b.Since)
	})
	for _, o := range open {
		if o.of.open != nil {
			continue // A Schedule has one open run; others were submitted.
		}
		r := &run{of: o.of, tick: before, id: o.WorkflowID, since: from, approval: o.Approval}
		o.of.open = r
		if o.OffLane {
			s.begin(r, o.Since)
			continue
		}
		if o.Waiting || s.lane(r) != nil && s.lane(r).holder != nil {
			s.awaitWindow(r)
			continue
		}
		if l := s.lane(r); l != nil {
			l.take(r, s.count())
		}
		s.begin(r, o.Since)
	}
}

// lane returns the lane of a run; nil if it needs no turn.
func (s *model) lane(r *run) *lane {
	name := r.of.Lane
	if name == "" {
		return nil
	}
	if s.lanes[name] == nil {
		s.lanes[name] = &lane{}
	}
	return s.lanes[name]
}
