package forecast

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
)

func (s *model) apply(e event) {
	switch e.kind {
	case tickDue:
		s.due(e.of, e.tick)
	case runEnds:
		if e.run.of.open == e.run && e.run.begun {
			s.end(e.run)
		}
	case windowOpens:
		if e.run.of.open == e.run && !e.run.begun && e.run.asked.IsZero() {
			s.awaitLane(e.run)
		}
	case windowCloses:
		if s.waitsForLane(e.run) {
			s.skip(e.run, contract.CodeWindowClosed, "")
		}
	}
}

func (s *model) waitsForLane(r *run) bool {
	return r.of.open == r && !r.begun && !r.asked.IsZero()
}

func (s *model) due(t *typeState, tick int) {
	switch {
	case t.Paused:
		s.ticks[tick].State, s.ticks[tick].Code = contract.TickSkipped, contract.CodePaused
	case t.open == nil:
		s.start(t, tick)
	default:
		s.overlap(t, tick)
	}
}

func (s *model) overlap(t *typeState, tick int) {
	switch t.Overlap {
	case jobtype.OverlapBufferAll:
		t.buffered = append(t.buffered, tick)
		return
	case jobtype.OverlapBufferOne:
		if len(t.buffered) == 0 {
			t.buffered = append(t.buffered, tick)
			return
		}
	case jobtype.OverlapCancelOther, jobtype.OverlapTerminateOther:
		s.cut(t.open)
		s.start(t, tick)
		return
	case jobtype.OverlapSkip:
	}
	s.ticks[tick].State, s.ticks[tick].Code, s.ticks[tick].Object = contract.TickSkipped, contract.CodeOverlap, t.open.id
}

// cut ends a run in favor of the next one.
func (s *model) cut(r *run) {
	if r.tick >= 0 {
		forecast := &s.ticks[r.tick]
		forecast.Code, forecast.Object = contract.CodeOverlap, ""
		forecast.State, forecast.Ends = contract.TickRuns, s.now
		if !r.begun {
			forecast.State, forecast.Ends = contract.TickSkipped, time.Time{}
		}
	}
	s.release(r)
}

func (s *model) start(t *typeState, tick int) {
	r := &run{of: t, tick: tick, since: s.now}
	t.open = r
	if tick != before {
		s.ticks[tick].State = contract.TickRuns
	}
	if t.notDue(s.now) {
		s.skip(r, contract.CodeNotDue, "")
		return
	}
	s.awaitWindow(r)
}

// awaitWindow makes the run wait for an open window, or skips it if none opens within its max
// wait.
func (s *model) awaitWindow(r *run) {
	opens, isOpen := r.of.opensAt(s.now)
	switch {
	case isOpen:
		s.awaitLane(r)
	case opens.IsZero() || opens.After(r.since.Add(r.of.MaxWait)):
		s.skip(r, contract.CodeWindowClosed, "")
	default:
		s.note(r, contract.CodeWindowClosed, "")
		s.queue.push(event{at: opens, kind: windowOpens, run: r})
	}
}

// opensAt reports whether the window is open, or returns the time of the next opening; zero for
// none.
func (t *typeState) opensAt(now time.Time) (opens time.Time, isOpen bool) {
	if !t.Windowed {
		return time.Time{}, true
	}
	for _, span := range t.Open {
		switch {
		case now.Before(span.From):
			return span.From, false
		case span.To.IsZero() || now.Before(span.To):
			return time.Time{}, true
		}
	}
	return time.Time{}, false
}

// closesAt returns the closing time of the open window; zero for never.
func (t *typeState) closesAt(now time.Time) time.Time {
	if !t.Windowed {
		return time.Time{}
	}
	for _, span := range t.Open {
		if !now.Before(span.From) && (span.To.IsZero() || now.Before(span.To)) {
			return span.To
		}
	}
	return time.Time{}
}

func (s *model) awaitLane(r *run) {
	r.asked, r.request = s.now, s.count()
	if s.now.Before(r.of.HeldUntil) {
		s.skip(r, contract.HoldRetryBudget, "")
		return
	}
	l := s.lane(r)
	if l == nil || l.holder == nil {
		if l != nil {
			l.take(r, s.count())
		}
		s.begin(r, s.now)
		return
	}
	l.waiting = append(l.waiting, r)
	s.note(r, contract.CodeLaneBusy, r.of.Lane)
	if closes := r.of.closesAt(s.now); !closes.IsZero() {
		s.queue.push(event{at: closes, kind: windowCloses, run: r})
	}
}

// begin sets the start of the run's work, and computes its end.
func (s *model) begin(r *run, at time.Time) {
	r.begun = true
	ends := at.Add(r.of.Typical)
	if r.approval {
		ends = at.Add(cmp.Or(r.of.MaxRuntime+r.of.DeadlineGrace, window.Horizon))
	}
	var code contract.Code
	bound := func(limit time.Time, why contract.Code) {
		if ends.After(limit) {
			ends, code = limit, why
		}
	}
	if r.of.MaxRuntime > 0 {
		bound(at.Add(r.of.MaxRuntime+r.of.DeadlineGrace), contract.CodeDeadline)
	}
	if closes := r.of.closesAt(s.now); !closes.IsZero() {
		bound(closes.Add(r.of.WindowGrace), contract.CodeWindowEnd)
	}
	if ends.Before(s.now) {
		ends = s.now // Its expected end has passed.
	}
	if r.tick >= 0 {
		forecast := &s.ticks[r.tick]
		forecast.Begins, forecast.Ends, forecast.Waits = at, ends, jobtype.Duration(at.Sub(forecast.At))
		if code != "" {
			forecast.Code, forecast.Object = code, ""
		}
	}
	s.queue.push(event{at: ends, kind: runEnds, run: r})
}

// note records the cause of the run's wait.
func (s *model) note(r *run, code contract.Code, object string) {
	if r.tick >= 0 {
		s.ticks[r.tick].Code, s.ticks[r.tick].Object = code, object
	}
}

func (s *model) skip(r *run, code contract.Code, object string) {
	s.note(r, code, object)
	if r.tick >= 0 {
		s.ticks[r.tick].State = contract.TickSkipped
	}
	s.end(r)
}

func (s *model) end(r *run) {
	s.release(r)
	t := r.of
	if len(t.buffered) == 0 {
		return
	}
	next := t.buffered[0]
	t.buffered = t.buffered[1:]
	s.start(t, next)
	if next != before && s.ticks[next].Code == "" {
		s.ticks[next].Code, s.ticks[next].Object = contract.CodeOverlap, r.id
	}
}

func (s *model) release(r *run) {
	if r.of.open == r {
		r.of.open = nil
	}
	l := s.lane(r)
	if l == nil {
		return
	}
	if l.holder != r {
		l.waiting = slices.DeleteFunc(l.waiting, func(other *run) bool { return other == r })
		return
	}
	l.holder = nil
	if len(l.waiting) > 0 {
		next := l.next()
		l.take(next, s.count())
		s.begin(next, s.now)
	}
}
