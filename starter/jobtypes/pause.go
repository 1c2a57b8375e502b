package jobtypes

import (
	"regexp"
	"strings"
	"time"
)

// A Schedule keeps one text with its pause, which people also read and write in
// the Web UI, and no time. That text ends with who paused it when.
var pausedBy = regexp.MustCompile(`^(?:(.*) \(paused by ([^()]+?)(?: at (\d{4}-[0-9T:-]+Z))?\)|paused by ([^()]+?)(?: at (\d{4}-[0-9T:-]+Z))?)$`)

// maxPauseText is how many bytes of it the server takes (common.ScheduleNotesSizeLimit).
const maxPauseText = 1000

// pauseText is what is stored.
func pauseText(note, by string, at time.Time) string {
	who := "paused by " + by + " at " + at.UTC().Format(time.RFC3339)
	if note = strings.TrimSpace(note); note != "" {
		return note + " (" + who + ")"
	}
	return who
}

// readPause is the inverse of pauseText. A text that somebody wrote elsewhere is
// all note.
func readPause(text string) (note, by string, at time.Time) {
	parts := pausedBy.FindStringSubmatch(text)
	if parts == nil {
		return text, "", at
	}
	if parsed, err := time.Parse(time.RFC3339, parts[3]+parts[5]); err == nil {
		at = parsed
	}
	return parts[1], parts[2] + parts[4], at
}
