package crontab

import (
	"slices"
	"time"
)

// lastYear is the last year in which a Temporal server looks for a tick.
const lastYear = 2100

// Next returns the first tick after a time, or the zero time if there is none until 2100. It is the tick of a
// Temporal server in the zone of after, also where clocks change.
func (e Expression) Next(after time.Time) time.Time {
	m := matcher{minute: e.spec.Minute, hour: e.spec.Hour, date: e.spec.Dom, month: e.spec.Month, weekday: e.spec.Dow}
	if !e.Either() {
		return m.next(after)
	}
	byDate, byWeekday := m, m
	byDate.weekday, byWeekday.date = every, every
	return earlier(byDate.next(after), byWeekday.next(after))
}

// Next is [Expression.Next] of several calendars.
func Next(calendars []Calendar, after time.Time) (first time.Time) {
	for _, c := range calendars {
		m := matcher{minute: set(c.Minute), hour: set(c.Hour), date: set(c.DayOfMonth), month: set(c.Month), weekday: set(c.DayOfWeek), years: c.Year}
		first = earlier(first, m.next(after))
	}
	return first
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// every has all values of a field.
const every = ^uint64(0)

func set(values []int) (bits uint64) {
	for _, value := range values {
		bits |= 1 << value
	}
	return bits
}

// matcher is a [Calendar] as bits.
type matcher struct {
	minute, hour, date, month, weekday uint64

	years []int
}

// next finds the tick that a Temporal server 1.32.1 finds (service/worker/scheduler/calendar.go).
func (m matcher) next(after time.Time) time.Time {
	has := func(bits uint64, value int) bool { return bits&(1<<value) != 0 }
	w := wallOf(after)
	w.minute++
search:
	for {
		w.carry()
		switch {
		case w.year > lastYear:
			return time.Time{}
		case len(m.years) > 0 && !slices.Contains(m.years, w.year):
			w.year, w.month, w.day, w.hour, w.minute, w.again = w.year+1, time.January, 1, 0, 0, false
			continue
		case !has(m.month, int(w.month)):
			w.month, w.day, w.hour, w.minute, w.again = w.month+1, 1, 0, 0, false
			continue
		case !has(m.date, w.day) || !has(m.weekday, int(w.time().Weekday())):
			w.day, w.hour, w.minute, w.again = w.day+1, 0, 0, false
			continue
		}
		for ; !has(m.hour, w.hour); w.hour, w.minute, w.again = w.hour+1, 0, false {
			if w.hour == 24 {
				continue search
			}
		}
		for ; !has(m.minute, w.minute); w.minute++ {
			if w.minute == 60 {
				continue search
			}
		}
		if w.time().Hour() != w.hour { // Clocks leave this time out.
			w.hour, w.minute = w.hour+1, 0
			continue
		}
		if w.again {
			return w.time().Add(time.Hour)
		}
		return w.time()
	}
}

// wall is the display of a clock. Its fields may be one above their highest values until [wall.carry].
type wall struct {
	year, day, hour, minute int

	month time.Month
	zone  *time.Location
	// again is the second of two hours with the same number. Temporal takes each change of clocks for one of an hour.
	again bool
}

func wallOf(t time.Time) wall {
	year, month, day := t.Date()
	return wall{year: year, month: month, day: day, hour: t.Hour(), minute: t.Minute(), zone: t.Location(), again: t.Add(-time.Hour).Hour() == t.Hour()}
}

func (w *wall) time() time.Time {
	return time.Date(w.year, w.month, w.day, w.hour, w.minute, 0, 0, w.zone)
}

func (w *wall) carry() {
	if w.minute >= 60 {
		w.minute = 0
		before := w.time()
		w.hour++
		w.again = !w.again && w.time().Sub(before) > time.Hour
		if w.again {
			w.hour--
		}
	}
	if w.hour >= 24 {
		w.day, w.hour = w.day+1, 0
	}
	if w.day > daysOf(w.year, w.month) {
		w.month, w.day = w.month+1, 1
	}
	if w.month > time.December {
		w.year, w.month = w.year+1, time.January
	}
}
