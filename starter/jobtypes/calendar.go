package jobtypes

import (
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
