package fleet

import (
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
)

// tracker judges heartbeats. It is pure: times and the server's lists are data.
type tracker struct {
	timing
	wakeAt time.Time
	// since and until bound the span without a gap in which it looked.
	since, until time.Time
	pulses       map[contract.Incarnation]*pulse
	entries      map[string]*entry
	// common is the offset of most workers' clocks from the observer's.
	common time.Duration
	polls  int
}

type memory struct {
	Since  time.Time              `json:"since,omitzero"`
	Until  time.Time              `json:"until,omitzero"`
	Pulses []contract.WorkerPulse `json:"pulses,omitempty"`
}

// newTracker starts from the registry's state or the newer memory of the previous attempt.
func newTracker(in contract.ObserveWorkersInput, left *memory) *tracker {
	t := &tracker{
		timing: timing{in.Config.HeartbeatInterval.Std()}, wakeAt: in.WakeAt,
		since: in.SightSince, until: in.SightUntil,
		pulses: map[contract.Incarnation]*pulse{}, entries: map[string]*entry{},
	}
	for _, known := range in.Known {
		p := &pulse{WorkerPulse: known, told: known, known: true}
		if p.Fresh && t.until.Sub(p.LastChange) >= t.fresh() {
			// It has beaten since, unreported.
			p.LastChange, p.assumed = t.until, true
		}
		t.pulses[known.Incarnation] = p
	}
	if left != nil && left.Until.After(t.until) {
		t.remember(left)
	}
	t.align()
	return t
}

func (t *tracker) remember(left *memory) {
	t.since, t.until = left.Since, left.Until
	for _, was := range left.Pulses {
		who := was.Incarnation
		p := t.pulses[who]
		if p == nil {
			p = &pulse{told: contract.WorkerPulse{Incarnation: who}}
			t.pulses[who] = p
		}
		if was.LastChange.Before(p.LastChange) && !p.assumed {
			continue
		}
		p.WorkerPulse, p.assumed = was, was.Fresh
		p.told.Beat = was.Beat
	}
}

func (t *tracker) memory() memory {
	m := memory{Since: t.since, Until: t.until}
	for _, who := range t.order() {
		p := t.pulses[who]
		kept := p.WorkerPulse
		kept.LastChange = p.last()
		m.Pulses = append(m.Pulses, kept)
	}
	return m
}

func (t *tracker) order() []contract.Incarnation {
	return slices.SortedFunc(maps.Keys(t.pulses), compareIncarnations)
}

func (t *tracker) window(now time.Time) (from, to time.Time) {
	return now.Add(t.common - t.behind()), now.Add(t.common + t.ahead())
}

// trusts is false for a skewed clock: the last beat of a dead worker whose clock was three minutes ahead passes
// through the window three minutes later.
func (t *tracker) trusts(owner contract.Incarnation) bool {
	p := t.pulses[owner]
	return p != nil && p.Seen && (p.Skew()-t.common).Abs() <= t.aligned()
}

func (t *tracker) look(now time.Time, found []sighting) {
	t.resume(now)
	running, stopping := map[contract.Incarnation]bool{}, map[contract.Incarnation]bool{}
	for _, s := range found {
		t.see(now, s)
		running[s.owner] = running[s.owner] || !s.shutting
		stopping[s.owner] = stopping[s.owner] || s.shutting
	}
	for who, p := range t.pulses {
		p.ShuttingDown = !running[who] && (p.ShuttingDown || stopping[who])
		p.Fresh = p.fresh(now, t.fresh())
	}
	t.align()
	t.until = now
}

func (p *pulse) fresh(now time.Time, limit time.Duration) bool {
	return !p.last().IsZero() && now.Sub(p.last()) < limit
}

// resume detects a gap, which does not count for workers that were fresh before it.
func (t *tracker) resume(now time.Time) {
	if t.until.IsZero() {
		t.since = now
		return
	}
	if now.Sub(t.until) <= t.gap() {
		return
	}
	for _, p := range t.pulses {
		if p.Fresh {
			age := max(0, t.until.Sub(p.last()))
			p.LastChange, p.near, p.assumed = now.Add(-age), time.Time{}, true
		}
	}
	t.since = now
}

func (t *tracker) see(now time.Time, s sighting) {
	p := t.pulses[s.owner]
	if p == nil {
		p = &pulse{WorkerPulse: contract.WorkerPulse{Incarnation: s.owner}}
		p.told = p.WorkerPulse
		t.pulses[s.owner] = p
	}
	e := t.entries[s.key]
	if e == nil {
		e = &entry{}
		t.entries[s.key] = e
	}
	if s.beat.IsZero() {
		e.near, p.near = now, now
		return
	}
	if p.near.Before(now) {
		p.near = time.Time{}
	}
	switch {
	case e.beat.IsZero() && e.near.IsZero():
		t.first(now, s, p)
	case !s.beat.Equal(e.beat):
		t.beaten(now, s.beat, e, p)
	}
	e.beat, e.described = s.beat, now
}

// first handles the first reading of an entry. A known skew dates the beat. A new worker proves its life by a beat in
// the window, or by a changed beat. One old beat proves nothing: a dead worker's entry stays listed for minutes.
func (t *tracker) first(now time.Time, s sighting, p *pulse) {
	switch {
	case p.Seen:
	case s.near:
		p.Seen, p.SkewMS = true, t.common.Milliseconds()
	case !p.told.Beat.IsZero() && s.beat.Sub(p.told.Beat).Abs() > t.interval/2:
		// The queues of one process beat at almost the same time.
		p.Seen, p.SkewMS = true, s.beat.Sub(now).Milliseconds()
	default:
		p.Beat = s.beat
		return
	}
	p.Beat = time.Time{}
	p.date(instant.Earlier(s.beat.Add(-p.Skew()), now))
}

// The change happened between the last look without it and now; that bounds the skew, and the skew dates the beat.
func (t *tracker) beaten(now, beat time.Time, e *entry, p *pulse) {
	after := e.described
	if entered := e.near.Add(-t.behind()); !e.near.IsZero() && entered.After(after) {
		after = entered
	}
	lowest, highest := beat.Sub(now), beat.Sub(after)
	skew := p.Skew()
	if !p.Seen {
		skew = lowest
	}
	skew = max(lowest, min(skew, highest))
	p.Seen, p.SkewMS, p.Beat = true, skew.Milliseconds(), time.Time{}
	p.date(beat.Add(-skew))
}

func (p *pulse) date(at time.Time) {
	if p.assumed || at.After(p.LastChange) {
		p.LastChange, p.assumed = at, false
	}
}

func (t *tracker) align() {
	skews := make([]time.Duration, 0, len(t.pulses))
	for _, p := range t.pulses {
		if p.Seen && p.Fresh {
			skews = append(skews, p.Skew())
		}
	}
	t.common = median(skews)
}

func (t *tracker) report() (contract.ObserveWorkersResult, bool) {
	result := contract.ObserveWorkersResult{SightSince: t.since, SightUntil: t.until}
	due := t.thresholdReached()
	for _, who := range t.order() {
		p := t.pulses[who]
		news := p.news() || p.known && p.drift() >= t.interval
		due = due || news
		late := p.Fresh && p.Seen && t.until.Sub(p.last()) >= t.late()
		if news || late || p.drift() >= smallDrift || !p.Beat.Equal(p.told.Beat) {
			change := p.WorkerPulse
			change.LastChange = p.last()
			result.Changes = append(result.Changes, change)
		}
	}
	return result, due
}

func (t *tracker) thresholdReached() bool {
	return !t.wakeAt.IsZero() && !t.until.Before(t.wakeAt) && t.until.Sub(t.since) >= t.settle()
}
