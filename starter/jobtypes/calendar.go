package jobtypes

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
)

func flatCalendar(into map[string]string, prefix string, calendar *jobtype.Calendar) {
	if calendar == nil {
		return
	}
	var windows, blackouts []string
	for _, w := range calendar.Windows {
		windows = append(windows, window.Text(w))
	}
	for _, b := range calendar.Blackouts {
		blackouts = append(blackouts, window.BlackoutText(b))
	}
	if len(windows) > 0 {
		into[prefix+"windows"] = strings.Join(windows, "; ")
	}
	if len(blackouts) > 0 {
		into[prefix+"blackouts"] = strings.Join(blackouts, "; ")
	}
}

// flatDates adds a digest if the text cannot name all dates.
func flatDates(into map[string]string, path string, calendar *jobtype.Calendar) {
	if calendar == nil {
		return
	}
	if slices.ContainsFunc(calendar.Windows, func(w jobtype.Window) bool { return window.Counted(w.Days) }) ||
		slices.ContainsFunc(calendar.Blackouts, func(b jobtype.Blackout) bool { return window.Counted(b.Days) }) {
		// A calendar was read from JSON, so it can be written.
		if text, err := json.Marshal(calendar); err == nil {
			into[path] = digestText(string(text))
		}
	}
}

func calendarLines(spec contract.JobTypeSpec) []string {
	flat := map[string]string{}
	flatCalendar(flat, "", spec.Calendar)
	flatCalendar(flat, "lane "+spec.Lane+": ", spec.LaneCalendar)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(flat)) {
		lines = append(lines, name+": "+flat[name])
	}
	return lines
}
