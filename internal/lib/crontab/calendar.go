package crontab

// Calendar matches every time whose fields are all listed. The second is always 0. No year means all.
type Calendar struct {
	Minute, Hour, DayOfMonth, Month, DayOfWeek, Year []int
}

// Calendars returns the calendars whose union is the expression: two if both days are restricted.
func (e Expression) Calendars() []Calendar {
	calendar := Calendar{
		Minute:     values(e.spec.Minute, 0, 59),
		Hour:       values(e.spec.Hour, 0, 23),
		DayOfMonth: values(e.spec.Dom, 1, 31),
		Month:      values(e.spec.Month, 1, 12),
		DayOfWeek:  values(e.spec.Dow, 0, 6),
	}
	if !e.Either() {
		return []Calendar{calendar}
	}
	byDate, byWeekday := calendar, calendar
	byDate.DayOfWeek = values(^uint64(0), 0, 6)
	byWeekday.DayOfMonth = values(^uint64(0), 1, 31)
	return []Calendar{byDate, byWeekday}
}

// Either reports whether the expression restricts both the day of month and the day of week.
func (e Expression) Either() bool { return (e.spec.Dom|e.spec.Dow)&starBit == 0 }

type field struct {
	name   string
	values []int
}

func (e Expression) fields() []field {
	return []field{
		{"minute", values(e.spec.Minute, 0, 59)},
		{"hour", values(e.spec.Hour, 0, 23)},
		{"day of month", values(e.spec.Dom, 1, 31)},
		{"month", values(e.spec.Month, 1, 12)},
		{"day of week", values(e.spec.Dow, 0, 6)},
	}
}

func values(bits uint64, low, high int) []int {
	var set []int
	for value := low; value <= high; value++ {
		if bits&(1<<value) != 0 {
			set = append(set, value)
		}
	}
	return set
}
