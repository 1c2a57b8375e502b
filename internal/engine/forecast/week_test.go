package forecast_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/forecast"
	"github.com/roundsman/roundsman/jobtype"
)

// week is a simulated week: a clock that advances minute by minute, and at each minute makes
// every possible transition, one at a time. It has no list of coming events.
type week struct {
	now   time.Time
	types []*weekType
	runs  []*weekRun // in the order in which they began to wait or to run
	ticks []forecast.Tick

	counter int
}

type weekType struct {
	forecast.JobType

	open     *weekRun
	buffered []int
	next     int
}

type weekRun struct {
	of                         *weekType
	tick                       int
	since, asked, begun        time.Time
	ends                       time.Time
	ended                      bool
	beganAs, askedAs, openedAs int
}

func simulate(from time.Time, types []forecast.JobType) []forecast.Tick {
	w := &week{now: from}
	for _, t := range types {
		w.types = append(w.types, &weekType{JobType: t})
	}
	for ; ; w.now = w.now.Add(time.Minute) {
		for w.act() {
		}
		if w.over() {
			return w.ticks
		}
	}
}

func (w *week) over() bool {
	return !slices.ContainsFunc(w.types, func(t *weekType) bool { return t.open != nil || t.next < len(t.Ticks) || len(t.buffered) > 0 })
}

// act makes the first possible transition of this minute.
func (w *week) act() bool {
	for _, r := range w.sorted(func(r *weekRun) int { return r.askedAs }) {
		waits := !r.asked.IsZero() && r.begun.IsZero()
		if waits && !w.isOpen(r.of) {
			w.skip(r, contract.CodeWindowClosed, "")
			return true
		}
	}
	for _, r := range w.sorted(func(r *weekRun) int { return r.beganAs }) {
		if !r.begun.IsZero() && !w.now.Before(r.ends) {
			w.finish(r)
			return true
		}
	}
	for _, r := range w.sorted(func(r *weekRun) int { return r.openedAs }) {
		if r.asked.IsZero() && w.isOpen(r.of) {
			w.ask(r)
			return true
		}
	}
	for _, t := range w.types {
		if t.next < len(t.Ticks) && !w.now.Before(t.Ticks[t.next]) {
			t.next++
			w.ticks = append(w.ticks, forecast.Tick{JobType: t.Name, At: t.Ticks[t.next-1], State: contract.TickRuns})
			w.due(t, len(w.ticks)-1)
			return true
		}
	}
	return false
}

func (w *week) sorted(by func(*weekRun) int) []*weekRun {
	var open []*weekRun
	for _, r := range w.runs {
		if !r.ended {
			open = append(open, r)
		}
	}
	slices.SortStableFunc(open, func(a, b *weekRun) int { return by(a) - by(b) })
	return open
}

// number numbers the transitions; only the order counts.
func (w *week) number() int { w.counter++; return w.counter }

func (w *week) due(t *weekType, tick int) {
	drop := func(code contract.Code) { w.ticks[tick].State, w.ticks[tick].Code = contract.TickSkipped, code }
	switch {
	case t.Paused:
		drop(contract.CodePaused)
	case t.open == nil:
		w.start(t, tick)
	case t.Overlap == jobtype.OverlapBufferAll, t.Overlap == jobtype.OverlapBufferOne && len(t.buffered) == 0:
		t.buffered = append(t.buffered, tick)
	case t.Overlap == jobtype.OverlapCancelOther:
		before := t.open
		w.ticks[before.tick].Code = contract.CodeOverlap
		if before.begun.IsZero() {
			w.ticks[before.tick].State = contract.TickSkipped
		} else {
			w.ticks[before.tick].Ends = w.now
		}
		w.leave(before)
		w.start(t, tick)
	default:
		drop(contract.CodeOverlap)
	}
}

func (w *week) start(t *weekType, tick int) {
	r := &weekRun{of: t, tick: tick, since: w.now, openedAs: w.number()}
	t.open = r
	w.runs = append(w.runs, r)
	switch {
	case w.isOpen(t):
		w.ask(r)
	case !w.opensWithin(t):
		w.skip(r, contract.CodeWindowClosed, "")
	default:
		w.ticks[tick].Code = contract.CodeWindowClosed
	}
}

func (w *week) isOpen(t *weekType) bool {
	return !t.Windowed || slices.ContainsFunc(t.Open, func(s span) bool { return !w.now.Before(s.From) && w.now.Before(s.To) })
}

func (w *week) opensWithin(t *weekType) bool {
	return slices.ContainsFunc(t.Open, func(s span) bool { return s.From.After(w.now) && !s.From.After(w.now.Add(t.MaxWait)) })
}

func (w *week) ask(r *weekRun) {
	r.asked, r.askedAs = w.now, w.number()
	switch {
	case w.now.Before(r.of.HeldUntil):
		w.skip(r, contract.HoldRetryBudget, "")
	case w.holder(r.of.Lane) != nil:
		w.ticks[r.tick].Code, w.ticks[r.tick].Object = contract.CodeLaneBusy, r.of.Lane
	default:
		w.begin(r)
	}
}

func (w *week) holder(lane string) *weekRun {
	for _, r := range w.runs {
		if lane != "" && !r.ended && !r.begun.IsZero() && r.of.Lane == lane {
			return r
		}
	}
	return nil
}

func (w *week) begin(r *weekRun) {
	r.begun, r.beganAs = w.now, w.number()
	r.ends = w.now.Add(r.of.Typical)
	shown := &w.ticks[r.tick]
	if limit := w.now.Add(r.of.MaxRuntime + r.of.DeadlineGrace); r.of.MaxRuntime > 0 && limit.Before(r.ends) {
		r.ends, shown.Code, shown.Object = limit, contract.CodeDeadline, ""
	}
	for _, s := range r.of.Open {
		limit := s.To.Add(r.of.WindowGrace)
		if r.of.Windowed && !w.now.Before(s.From) && w.now.Before(s.To) && limit.Before(r.ends) {
			r.ends, shown.Code, shown.Object = limit, contract.CodeWindowEnd, ""
		}
	}
	shown.Begins, shown.Ends, shown.Waits = r.begun, r.ends, jobtype.Duration(w.now.Sub(shown.At))
}

func (w *week) skip(r *weekRun, code contract.Code, object string) {
	w.ticks[r.tick].State, w.ticks[r.tick].Code, w.ticks[r.tick].Object = contract.TickSkipped, code, object
	w.finish(r)
}

func (w *week) finish(r *weekRun) {
	w.leave(r)
	if t := r.of; len(t.buffered) > 0 {
		tick := t.buffered[0]
		t.buffered = t.buffered[1:]
		w.start(t, tick)
		if w.ticks[tick].Code == "" {
			w.ticks[tick].Code = contract.CodeOverlap
		}
	}
}

// leave ends a run and begins the next one in its lane.
func (w *week) leave(r *weekRun) {
	r.ended, r.of.open = true, nil
	if r.begun.IsZero() || r.of.Lane == "" {
		return
	}
	var waiting []*weekRun
	for _, next := range w.sorted(func(r *weekRun) int { return r.askedAs }) {
		if next.of.Lane == r.of.Lane && !next.asked.IsZero() && next.begun.IsZero() {
			waiting = append(waiting, next)
		}
	}
	if len(waiting) == 0 {
		return
	}
	waiting = slices.DeleteFunc(waiting, func(next *weekRun) bool { return w.hadTurnSince(next.of, waiting[0].askedAs) })
	w.begin(slices.MinFunc(waiting, func(a, b *weekRun) int { return cmp.Compare(a.of.Name, b.of.Name) }))
}

func (w *week) hadTurnSince(t *weekType, request int) bool {
	return slices.ContainsFunc(w.runs, func(r *weekRun) bool { return r.of == t && r.beganAs > request })
}
