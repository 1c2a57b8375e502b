package jobtypes

import (
	"regexp"
	"strings"
	"time"
)

// A Schedule keeps one text with its pause. pausedBy matches the author and time that Roundsman appends.
var pausedBy = regexp.MustCompile(`^(?:(.*) \(paused by ([^()]+?)(?: at (\d{4}-[0-9T:-]+Z))?\)|paused by ([^()]+?)(?: at (\d{4}-[0-9T:-]+Z))?)$`)

// maxPauseText is the server's limit in bytes (common.ScheduleNotesSizeLimit).
const maxPauseText = 1000

func pauseText(note, by string, at time.Time) string {
	who := "paused by " + by + " at " + at.UTC().Format(time.RFC3339)
	if note = strings.TrimSpace(note); note != "" {
		return note + " (" + who + ")"
	}
	return who
}

// A text from other tools is the note.
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
