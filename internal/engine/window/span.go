package window

import (
	"slices"
	"time"
)

// Span is the time from From on and before To, in UTC. A zero To means that no end is known.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}

// Length is how long the span is; 0 if it has no end.
func (s Span) Length() time.Duration {
	if s.To.IsZero() {
		return 0
	}
	return s.To.Sub(s.From)
}

func (s Span) contains(at time.Time) bool { return !at.Before(s.From) && at.Before(s.To) }

func (s Span) clip(to Span) (clipped Span, ok bool) {
	if s.From.Before(to.From) {
		s.From = to.From
	}
	if s.To.After(to.To) {
		s.To = to.To
	}
	return s, s.From.Before(s.To)
}

func merge(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	var merged []Span
	for _, s := range spans {
		if n := len(merged); n > 0 && !merged[n-1].To.Before(s.From) {
			if s.To.After(merged[n-1].To) {
				merged[n-1].To = s.To
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

func intersect(a, b []Span) []Span {
	var common []Span
	for len(a) > 0 && len(b) > 0 {
		if both, ok := a[0].clip(b[0]); ok {
			common = append(common, both)
		}
		if a[0].To.Before(b[0].To) {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return common
}

// Both returns the parts that two merged lists have in common.
func Both(a, b []Span) []Span { return intersect(a, b) }

func subtract(spans, holes []Span) []Span {
	var left []Span
	for _, s := range spans {
		for len(holes) > 0 && !holes[0].To.After(s.From) {
			holes = holes[1:]
		}
		for _, hole := range holes {
			if !hole.From.Before(s.To) {
				break
			}
			if s.From.Before(hole.From) {
				left = append(left, Span{s.From, hole.From})
			}
			s.From = hole.To
			if !s.From.Before(s.To) {
				break
			}
		}
		if s.From.Before(s.To) {
			left = append(left, s)
		}
	}
	return left
}

type segment struct {
	Span

	offset time.Duration
}

func segments(zone *time.Location, within Span) []segment {
	var list []segment
	for at := within.From; at.Before(within.To); {
		local := at.In(zone)
		_, seconds := local.Zone()
		_, end := local.ZoneBounds()
		if end.IsZero() || end.After(within.To) {
			end = within.To
		}
		list = append(list, segment{Span{at.UTC(), end.UTC()}, time.Duration(seconds) * time.Second})
		at = end
	}
	return list
}

func (r rule) spans(within Span) []Span {
	var list []Span
	for _, s := range segments(r.zone, within) {
		// While the offset stays the same, the clock runs as UTC does.
		first := s.From.Add(s.offset).Truncate(day).Add(-day)
		for midnight := first; midnight.Add(r.from - s.offset).Before(s.To); midnight = midnight.Add(day) {
			if !r.days.has(midnight) {
				continue
			}
			if part, ok := (Span{midnight.Add(r.from - s.offset), midnight.Add(r.to - s.offset)}).clip(s.Span); ok {
				list = append(list, part)
			}
		}
	}
	return list
}
