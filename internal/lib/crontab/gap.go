package crontab

import (
	"iter"
	"math/bits"
	"time"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

const (
	minutesOfDay = 24 * 60
	// longestGap is the gap of expressions with a single tick within gapYears.
	longestGap = 5 * 365 * 24 * time.Hour
	// gapYears includes two leap days, so that 29 February has a neighbor.
	gapYears = 5
)

// minutes is the set of minutes of a day at which an expression ticks.
type minutes [(minutesOfDay + 63) / 64]uint64

// Gap returns the smallest distance between two ticks of all expressions together. It counts in UTC from a fixed
// date. With a single tick within five years it returns five years.
func Gap(expressions []Expression) time.Duration {
	gap, _ := measure(expressions)
	return gap
}

// An expression ticks at the same minutes on each of its days, so the ticks of a day depend only on its due expressions.
func measure(expressions []Expression) (gap time.Duration, joined int) {
	sets := lists.Map(expressions, Expression.minutes)
	known := map[string]span{}
	smallest, last := int(longestGap/time.Minute), -1
	for day, due := range days(expressions) {
		ticks, seen := known[string(due)]
		if !seen {
			ticks = join(sets, due)
			known[string(due)] = ticks
		}
		smallest = min(smallest, ticks.gap)
		if last >= 0 {
			smallest = min(smallest, day*minutesOfDay+ticks.first-last)
		}
		last = day*minutesOfDay + ticks.last
	}
	return time.Duration(smallest) * time.Minute, len(known)
}

// days yields the number of each day with a due expression, and the expressions due on it.
func days(expressions []Expression) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		due := make([]byte, len(expressions))
		start := reference().Add(time.Second)
		day, weekday := 0, int(start.Weekday())
		for month := range gapYears * 12 {
			name := time.Month(month%12 + 1)
			for date := range daysOf(start.Year()+month/12, name) {
				some := false
				for i, expression := range expressions {
					due[i] = 0
					if expression.dueOn(name, date+1, weekday) {
						due[i], some = 1, true
					}
				}
				if some && !yield(day, due) {
					return
				}
				day, weekday = day+1, (weekday+1)%7
			}
		}
	}
}

func daysOf(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func (e Expression) dueOn(month time.Month, date, weekday int) bool {
	if e.spec.Month&(1<<uint(month)) == 0 {
		return false
	}
	byDate, byWeekday := e.spec.Dom&(1<<uint(date)) != 0, e.spec.Dow&(1<<uint(weekday)) != 0
	if e.Either() {
		return byDate || byWeekday
	}
	return byDate && byWeekday
}

func (e Expression) minutes() (set minutes) {
	for _, hour := range values(e.spec.Hour, 0, 23) {
		for _, minute := range values(e.spec.Minute, 0, 59) {
			at := hour*60 + minute
			set[at/64] |= 1 << (at % 64)
		}
	}
	return set
}

// span holds the first and last tick of a day, and the smallest gap between two, in minutes.
type span struct{ first, last, gap int }

func join(sets []minutes, due []byte) span {
	var all minutes
	for i, set := range sets {
		if due[i] == 0 {
			continue
		}
		for word := range all {
			all[word] |= set[word]
		}
	}
	found := span{first: -1, gap: int(longestGap / time.Minute)}
	for word, set := range all {
		for ; set != 0; set &= set - 1 {
			at := word*64 + bits.TrailingZeros64(set)
			if found.first < 0 {
				found.first = at
			} else {
				found.gap = min(found.gap, at-found.last)
			}
			found.last = at
		}
	}
	return found
}
