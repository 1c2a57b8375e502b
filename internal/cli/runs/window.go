package runs

import (
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// PauseOf returns the reason and the author of a job type's pause, if recorded.
func PauseOf(known jobtypes.JobType) string {
	text := ui.ByWhom(known.PausedBy)
	if known.PauseNote != "" {
		text += " (" + known.PauseNote + ")"
	}
	return text
}

// WindowState is the state of a window in a few words.
func WindowState(w *jobtypes.WindowView, now time.Time) ui.Cell {
	switch {
	case w == nil:
		return ui.Cell{Text: "-", Paint: ui.Faint}
	case w.Fault != "":
		return ui.Cell{Text: "FAULT: " + w.Fault, Paint: ui.Bad}
	case w.Open && w.Until.IsZero():
		return ui.Cell{Text: "open", Paint: ui.Good}
	case w.Open:
		return ui.Cell{Text: "open, closes " + ui.Ago(w.Until, now), Paint: ui.Good}
	case w.Until.IsZero():
		return ui.Cell{Text: "closed", Paint: ui.Odd}
	}
	return ui.Cell{Text: "closed, opens " + ui.Ago(w.Until, now), Paint: ui.Odd}
}

func droppedText(dropped contract.DroppedCheckpoints) string {
	return strings.TrimSuffix(fmt.Sprintf("%s could not be kept, their jobs begin again: %s", ui.Plural(dropped.Count, "checkpoint"), strings.Join(dropped.Keys, ", ")), ": ")
}
