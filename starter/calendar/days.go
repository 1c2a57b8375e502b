package calendar

import (
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/window"
)

// Day counts the instants of one day. A run over midnight counts in each of its days.
type Day struct {
	// From is midnight, To the next midnight.
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Ran     int       `json:"ran" doc:"Instants with a run"`
	Skipped int       `json:"skipped"`
	Missed  int       `json:"missed"`
}

// WithDays counts all ticks by the days of a zone.
func (f Forecast) WithDays(zone *time.Location) Forecast {
	found := daysIn{zone: zone, days: map[int64]*Day{}}
	for _, tick := range f.Ticks {
		found.add(tick.State, spanOf(tick.At, tick.Begins, tick.Ends))
	}
	f.Days = found.sorted()
	return f
}

// Keep keeps the ticks in a span of time. A zero end is open.
func (f Forecast) Keep(within window.Span) Forecast {
	f.Ticks = slices.DeleteFunc(f.Ticks, func(tick ForecastTick) bool { return !touches(within, spanOf(tick.At, tick.Begins, tick.Ends)) })
	return f
}

// CountDays counts all ticks by the days of a zone.
func (l *Ledger) CountDays(zone *time.Location) {
	found := daysIn{zone: zone, days: map[int64]*Day{}}
	for _, tick := range l.Ticks {
		found.add(tick.State, l.timeOf(tick))
	}
	l.Days = found.sorted()
}

// Keep keeps the ticks in a span of time. A zero end is open.
func (l *Ledger) Keep(within window.Span) {
	l.Ticks = slices.DeleteFunc(l.Ticks, func(tick LedgerTick) bool { return !touches(within, l.timeOf(tick)) })
}

func (l *Ledger) timeOf(tick LedgerTick) window.Span {
	if tick.Ended.IsZero() {
		tick.Ended = l.AsOf
	}
	return spanOf(tick.At, tick.Started, tick.Ended)
}

// spanOf is the span of a run, or the instant if no run began.
func spanOf(at, began, ended time.Time) window.Span {
	if began.IsZero() {
		return window.Span{From: at, To: at}
	}
	return window.Span{From: began, To: instant.Later(began, ended)}
}

func touches(within, of window.Span) bool {
	return !of.To.Before(within.From) && (within.To.IsZero() || !of.From.After(within.To))
}

type daysIn struct {
	zone *time.Location
	days map[int64]*Day
}

func (d daysIn) add(state contract.TickState, of window.Span) {
	year, month, date := of.From.In(d.zone).Date()
	for ; ; date++ {
		from, to := time.Date(year, month, date, 0, 0, 0, 0, d.zone).UTC(), time.Date(year, month, date+1, 0, 0, 0, 0, d.zone).UTC()
		if from.After(of.To) {
			return
		}
		day := d.days[from.Unix()]
		if day == nil {
			day = &Day{From: from, To: to}
			d.days[from.Unix()] = day
		}
		switch state { //nolint:exhaustive // all others have a run
		case contract.TickSkipped:
			day.Skipped++
		case contract.TickMissed:
			day.Missed++
		default:
			day.Ran++
		}
	}
}

func (d daysIn) sorted() []Day {
	var sorted []Day
	for _, from := range slices.Sorted(maps.Keys(d.days)) {
		sorted = append(sorted, *d.days[from])
	}
	return sorted
}
