package window

import (
	"strings"

	"github.com/roundsman/roundsman/jobtype"
)

// Text writes a window on one line, as operators read it.
func Text(w jobtype.Window) string {
	parts := []string{w.From + "-" + w.To, w.Timezone}
	if len(w.Days) > 0 {
		parts = append([]string{strings.Join(w.Days, ",")}, parts...)
	}
	return strings.TrimSpace(strings.Join(parts, " "))
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
