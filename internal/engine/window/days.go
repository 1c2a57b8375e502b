package window

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func dayNames() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

func ordinals() []string { return []string{"first", "second", "third", "fourth"} }

const (
	lastOfMonth = "last"
	longest     = 31 // days of a month
)

type days struct {
	week [7]bool
	// month are days of a month, from 1; -1 is the last one.
	month []int
	// nth are weekdays of a month, such as the first Sunday.
	nth   []nth
	dates []time.Time
}

// nth is the n-th weekday of a month; -1: the last one.
type nth struct {
	n   int
	day time.Weekday
}

func (d *days) has(date time.Time) bool {
	day, after := date.Day(), lastDay(date)-date.Day()
	return d.week[date.Weekday()] || slices.ContainsFunc(d.dates, func(one time.Time) bool { return one.Format(time.DateOnly) == date.Format(time.DateOnly) }) || slices.Contains(d.month, day) || slices.Contains(d.month, -after-1) ||
		slices.ContainsFunc(d.nth, func(one nth) bool {
			return one.day == date.Weekday() && (one.n == (day-1)/7+1 || one.n == -1 && after < 7)
		})
}

// On returns a function that reports whether a date is one of the days; no days are every day.
func On(written []string) (func(date time.Time) bool, error) {
	read, err := readDays(written)
	if err != nil {
		return nil, err
	}
	return func(date time.Time) bool { return len(written) == 0 || read.has(date) }, nil
}

func lastDay(date time.Time) int {
	return time.Date(date.Year(), date.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// Days writes days in their stored form: single weekdays from Monday on, then the days of a month.
func Days(written []string) ([]string, error) {
	read, err := readDays(written)
	if err != nil || len(written) == 0 {
		return nil, err
	}
	var stored []string
	for i := range dayNames() {
		if n := (i + 1) % 7; read.week[n] {
			stored = append(stored, dayNames()[n])
		}
	}
	for _, day := range read.month {
		stored = append(stored, dayText(day))
	}
	for _, one := range read.nth {
		ordinal := lastOfMonth
		if one.n > 0 {
			ordinal = ordinals()[one.n-1]
		}
		stored = append(stored, ordinal+" "+dayNames()[one.day])
	}
	for _, date := range read.dates {
		stored = append(stored, date.Format(time.DateOnly))
	}
	return stored, nil
}

func dayText(day int) string {
	if day == -1 {
		return lastOfMonth
	}
	return strconv.Itoa(day)
}

func readDays(written []string) (read days, err error) {
	if len(written) == 0 {
		return days{week: [7]bool{true, true, true, true, true, true, true}}, nil
	}
	for _, text := range written {
		if !read.ofMonth(text) && !read.ofWeek(text) {
			return read, fmt.Errorf("there is no day %q: use mon, tue, wed, thu, fri, sat, sun, a span like mon-fri, first sun, last fri, last, \"15\", \"-1\" or 2026-12-24", text)
		}
	}
	slices.Sort(read.month)
	read.month = slices.Compact(read.month)
	slices.SortFunc(read.nth, func(a, b nth) int { return (a.n-b.n)*7 + int(a.day-b.day) })
	read.nth = slices.Compact(read.nth)
	slices.SortFunc(read.dates, time.Time.Compare)
	read.dates = slices.Compact(read.dates)
	return read, nil
}

func (d *days) ofMonth(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	if n, err := strconv.Atoi(text); err == nil && n != 0 && n >= -longest && n <= longest {
		d.month = append(d.month, n)
		return true
	}
	if text == lastOfMonth {
		d.month = append(d.month, -1)
		return true
	}
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		d.dates = append(d.dates, date)
		return true
	}
	ordinal, name, _ := strings.Cut(text, " ")
	n, day := slices.Index(ordinals(), ordinal)+1, dayNumber(name)
	if ordinal == lastOfMonth {
		n = -1
	}
	if n == 0 || day < 0 {
		return false
	}
	d.nth = append(d.nth, nth{n, time.Weekday(day)})
	return true
}

func (d *days) ofWeek(text string) bool {
	first, last, isSpan := strings.Cut(text, "-")
	begin, end := dayNumber(first), dayNumber(last)
	if !isSpan {
		end = begin
	}
	if begin < 0 || end < 0 {
		return false
	}
	for n := begin; ; n = (n + 1) % len(d.week) {
		d.week[n] = true
		if n == end {
			return true
		}
	}
}

func dayNumber(text string) int {
	text = strings.ToLower(strings.TrimSpace(text))
	for n := range 7 {
		if full := strings.ToLower(time.Weekday(n).String()); text == full || text == full[:3] {
			return n
		}
	}
	return -1
}
