package config

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/internal/lib/crontab"
	"github.com/roundsman/roundsman/jobtype"
)

// Steps of reading calendars. A step takes about a microsecond.
const (
	// maxSteps is enough for 10,000 job types, each with a window of its own.
	maxSteps = 5_000_000
	// stepsOfCron is the cost of a cron expression, whose days in five years are checked.
	stepsOfCron = 20
	// stepsOfTick is the cost of the next tick of a cron expression.
	stepsOfTick = 3
)

// maxKeptSpans bounds the memory for openings, 48 bytes each. Above it, openings are computed again.
const maxKeptSpans = 200_000

// The first job type over the limit gets a fault.
func (t *timetable) spend(e entry, steps int) bool {
	if t.steps > maxSteps {
		return false
	}
	if t.steps += steps; t.steps <= maxSteps {
		return true
	}
	t.fault(e.blame(), e.path, "the calendars of the job types up to here take over %d steps, the limit: share windows, or write fewer entries", maxSteps)
	return false
}

// openings returns the open spans of 2024 without single blackouts. known is false after a fault or without steps.
func (t *timetable) openings(e entry, own, lane jobtype.Calendar) (open []window.Span, known bool) {
	mine, known := t.year(e, own)
	if !known || lane.Empty() {
		return mine, known
	}
	shared, known := t.year(e, lane)
	if !known || own.Empty() {
		return shared, known
	}
	if !t.spend(e, len(mine)+len(shared)) {
		return nil, false
	}
	return window.Both(mine, shared), true
}

// year returns the open spans of a calendar, which equal calendars share.
func (t *timetable) year(e entry, calendar jobtype.Calendar) (open []window.Span, known bool) {
	calendar.Blackouts = slices.Clone(calendar.Blackouts)
	calendar.Blackouts = slices.DeleteFunc(calendar.Blackouts, func(b jobtype.Blackout) bool { return !window.Recurs(b) })
	key, err := json.Marshal(calendar)
	if err != nil {
		return nil, false
	}
	if open, known = t.years[string(key)]; known {
		return open, true
	}
	const days = 366
	if !t.spend(e, days*(len(calendar.Windows)+len(calendar.Blackouts))) {
		return nil, false
	}
	compiled, err := window.New(&calendar, time.LoadLocation)
	if err != nil {
		return nil, false // Already reported with its line.
	}
	from := time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)
	open = compiled.Spans(window.Span{From: from, To: from.AddDate(0, 0, days)})
	if t.spans += len(open); t.spans <= maxKeptSpans {
		t.years[string(key)] = open
	}
	return open, true
}

// A tick starts a run if it lies in an open span, or at most an interval before one.
func (t *timetable) meets(e entry, read JobType, open []window.Span) bool {
	zone, err := time.LoadLocation(read.Schedule.Timezone)
	if err != nil {
		return true
	}
	for _, text := range read.Schedule.Cron {
		expression, err := crontab.Parse(text)
		if err != nil {
			return true
		}
		spans := open
		for len(spans) > 0 {
			if !t.spend(e, stepsOfTick) {
				return true
			}
			// The next tick late enough for the next span.
			tick := expression.Next(spans[0].From.In(zone).Add(-read.Interval.Std() - time.Second))
			if tick.IsZero() {
				break
			}
			for len(spans) > 0 && !spans[0].To.After(tick) {
				spans = spans[1:]
			}
			if len(spans) > 0 && !spans[0].From.After(tick.Add(read.Interval.Std())) {
				return true
			}
		}
	}
	return false
}
