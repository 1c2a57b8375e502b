package window

import (
	"slices"
	"time"
)

// Part is a set of days: those whose fields are all listed. An empty list of years is every year.
type Part struct{ Years, Months, Days, Weekdays []int }

const (
	firstYear = 2000
	lastYear  = 2100
)

// Parts compiles days to parts. Days counted from the end of a month need one part for each length of a month.
func Parts(written []string) ([]Part, error) {
	read, err := readDays(written)
	if err != nil {
		return nil, err
	}
	var parts []Part
	if week := read.weekdays(); len(week) > 0 {
		parts = append(parts, Part{Months: to(1, 12), Days: to(1, longest), Weekdays: week})
	}
	for _, day := range read.month {
		if day > 0 {
			parts = append(parts, Part{Months: to(1, 12), Days: []int{day}, Weekdays: to(0, 6)})
			continue
		}
		parts = append(parts, fromEnd(func(length int) []int { return []int{length + day + 1} }, to(0, 6))...)
	}
	for _, one := range read.nth {
		weekday := []int{int(one.day)}
		if one.n > 0 {
			parts = append(parts, Part{Months: to(1, 12), Days: to(one.n*7-6, one.n*7), Weekdays: weekday})
			continue
		}
		parts = append(parts, fromEnd(func(length int) []int { return to(length-6, length) }, weekday)...)
	}
	for _, date := range read.dates {
		parts = append(parts, Part{Years: []int{date.Year()}, Months: []int{int(date.Month())}, Days: []int{date.Day()}, Weekdays: to(0, 6)})
	}
	return parts, nil
}

func (d *days) weekdays() (list []int) {
	for day, on := range d.week {
		if on {
			list = append(list, day)
		}
	}
	return list
}

func fromEnd(days func(length int) []int, weekdays []int) (parts []Part) {
	for _, m := range []struct {
		length        int
		months, years []int
	}{
		{31, []int{1, 3, 5, 7, 8, 10, 12}, nil},
		{30, []int{4, 6, 9, 11}, nil},
		{29, []int{2}, years(true)},
		{28, []int{2}, years(false)},
	} {
		found := slices.DeleteFunc(days(m.length), func(day int) bool { return day < 1 })
		if len(found) > 0 {
			parts = append(parts, Part{Years: m.years, Months: m.months, Days: found, Weekdays: weekdays})
		}
	}
	return parts
}

func years(leap bool) (list []int) {
	for year := firstYear; year <= lastYear; year++ {
		if (time.Date(year, 3, 0, 0, 0, 0, 0, time.UTC).Day() == 29) == leap {
			list = append(list, year)
		}
	}
	return list
}

func to(first, last int) (list []int) {
	for n := first; n <= last; n++ {
		list = append(list, n)
	}
	return list
}

// Rarest returns the smallest distance between two of the days, in the years from 2024 on.
func Rarest(written []string) int {
	read, err := readDays(written)
	if err != nil {
		return 1
	}
	smallest, last := 0, time.Time{}
	for date := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); date.Year() < 2033; date = date.AddDate(0, 0, 1) {
		if !read.has(date) {
			continue
		}
		if gap := int(date.Sub(last) / day); !last.IsZero() && (smallest == 0 || gap < smallest) {
			smallest = gap
		}
		last = date
	}
	return max(smallest, 1)
}
