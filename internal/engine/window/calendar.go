package window

import (
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Horizon bounds the search: a window that is open until then has no end.
const Horizon = 400 * day

const month = 6 * week

// Calendar holds the times when work may start. A nil one is always open.
type Calendar struct {
	windows, blackouts []rule
	single             []once
}

// New reads a calendar. Every fault names its entry, like "windows[1].from: …".
func New(spec *jobtype.Calendar, zones Zones) (*Calendar, error) {
	if spec.Empty() {
		return nil, nil //nolint:nilnil // open all the time
	}
	c := &Calendar{}
	var faults []error
	fault := func(list string, i int, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s[%d]: %w", list, i, err))
		}
	}
	for i, w := range spec.Windows {
		r, err := newRule(w, zones)
		fault("windows", i, err)
		c.windows = append(c.windows, r)
	}
	for i, b := range spec.Blackouts {
		if Recurs(b) {
			r, err := newRule(asWindow(b), zones)
			fault("blackouts", i, err)
			r.note = b.Note
			c.blackouts = append(c.blackouts, r)
			continue
		}
		o, err := newOnce(b, zones)
		fault("blackouts", i, err)
		c.single = append(c.single, o)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return c, nil
}

// Spans are the open parts of a span, merged and in order.
func (c *Calendar) Spans(within Span) []Span {
	open := []Span{within}
	if c == nil {
		return open
	}
	if len(c.windows) > 0 {
		open = nil
		for _, r := range c.windows {
			open = append(open, r.spans(within)...)
		}
		open = merge(open)
	}
	var closed []Span
	for _, r := range c.blackouts {
		closed = append(closed, r.spans(within)...)
	}
	for _, o := range c.single {
		if part, ok := o.clip(within); ok {
			closed = append(closed, part)
		}
	}
	return subtract(open, merge(closed))
}

// Why returns the reason why the calendar is closed at that moment, empty if it is open.
func (c *Calendar) Why(at time.Time) contract.Closure {
	moment := Span{at, at.Add(1)}
	if len(c.Spans(moment)) > 0 {
		return contract.Closure{}
	}
	for _, o := range c.single {
		if o.contains(at) {
			return contract.Closure{Code: contract.ClosedBlackout, Note: o.note}
		}
	}
	for _, r := range c.blackouts {
		if len(r.spans(moment)) > 0 {
			return contract.Closure{Code: contract.ClosedBlackout, Note: r.note}
		}
	}
	return contract.Closure{Code: contract.ClosedOutside}
}

// Upcoming lists the first spans, at most limit, in which all calendars are open. The last one has no To if it stays
// open for the whole [Horizon].
func Upcoming(from time.Time, limit int, calendars ...*Calendar) []Span {
	from = from.UTC()
	horizon := from.Add(Horizon)
	for reach := 9 * day; ; reach *= 4 {
		within := Span{from, from.Add(min(reach, Horizon))}
		open := Common(within, calendars...)
		last := within.To.Equal(horizon)
		// The last span may continue beyond the horizon.
		if n := len(open); n > 0 && open[n-1].To.Equal(within.To) {
			if last {
				open[n-1].To = time.Time{}
			} else {
				open = open[:n-1]
			}
		}
		if last || len(open) >= limit {
			return open[:min(len(open), limit)]
		}
	}
}

// Longest is the longest span within six weeks, in which every window except on the 29th to 31st comes; 0 if one has no end.
func Longest(from time.Time, calendars ...*Calendar) time.Duration {
	within := Span{from.UTC(), from.UTC().Add(month)}
	longest := time.Duration(0)
	for _, s := range Common(within, calendars...) {
		if s.Length() == month {
			return 0
		}
		longest = max(longest, s.Length())
	}
	return longest
}

// Common are the parts of a span in which all of the calendars are open.
func Common(within Span, calendars ...*Calendar) []Span {
	open := []Span{within}
	for _, c := range calendars {
		open = intersect(open, c.Spans(within))
	}
	return open
}

// ClosedSince is when the calendars were last open together, within six weeks; zero if they were not.
func ClosedSince(at time.Time, calendars ...*Calendar) time.Time {
	at = at.UTC()
	open := Common(Span{at.Add(-month), at}, calendars...)
	if len(open) == 0 {
		return time.Time{}
	}
	return open[len(open)-1].To
}
