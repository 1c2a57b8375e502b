package window

import (
	"strconv"
	"strings"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Text writes a window on one line, as operators read it.
func Text(w jobtype.Window) string {
	parts := []string{w.From + "-" + w.To, w.Timezone}
	if len(w.Days) > 0 {
		parts = append([]string{DaysText(w.Days)}, parts...)
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// shownDates is how many dates are written one by one.
const shownDates = 5

// DaysText writes days on one line; many dates are counted.
func DaysText(days []string) string {
	names, dates := split(days)
	if len(dates) > shownDates {
		dates = []string{strconv.Itoa(len(dates)) + " dates " + dates[0] + ".." + dates[len(dates)-1]}
	}
	return strings.Join(append(names, dates...), ",")
}

// Counted reports whether [DaysText] counts the dates of these days. Other days may have the same text then.
func Counted(days []string) bool {
	_, dates := split(days)
	return len(dates) > shownDates
}

func split(days []string) (names, dates []string) {
	for _, text := range days {
		if _, err := time.Parse(time.DateOnly, text); err == nil {
			dates = append(dates, text)
			continue
		}
		names = append(names, text)
	}
	return names, dates
}

// BlackoutText writes a blackout on one line, with its note.
func BlackoutText(b jobtype.Blackout) string {
	text := Text(asWindow(b))
	if !Recurs(b) {
		text = strings.TrimSpace(b.From + " to " + b.To + " " + b.Timezone)
	}
	if b.Note != "" {
		text += " (" + b.Note + ")"
	}
	return text
}
