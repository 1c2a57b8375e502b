package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/window"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// flagIgnoreWindow makes one run start although its maintenance window is
// closed.
const flagIgnoreWindow = "ignore-window"

// windowState says whether the window is open, in a few words.
func windowState(w *starter.WindowView, now time.Time) cell {
	switch {
	case w == nil:
		return cell{text: "-", paint: faint}
	case w.Fault != "":
		return cell{text: "FAULT: " + w.Fault, paint: bad}
	case w.Open && w.Until.IsZero():
		return cell{text: "open", paint: good}
	case w.Open:
		return cell{text: "open, closes " + ago(w.Until, now), paint: good}
	case w.Until.IsZero():
		return cell{text: "closed", paint: odd}
	}
	return cell{text: "closed, opens " + ago(w.Until, now), paint: odd}
}

// addWindows shows what is configured, whether it is open and what comes next.
func addWindows(shown *fields, known starter.JobType, now time.Time) {
	w := known.Window
	if w == nil {
		return
	}
	state := windowState(w, now)
	if w.Closed != "" {
		state.text += " (" + w.Closed + ")"
	}
	shown.add("window", state)
	for i, span := range w.Next {
		if i == 0 && w.Open {
			continue
		}
		shown.add("next window", text(windowSpan(span)))
	}
	addCalendar(shown, "windows", known.Spec.Calendar)
	addCalendar(shown, "lane's windows", known.Spec.LaneCalendar)
	shown.add("at its end", textf("%s, drain_grace %s", cmp.Or(string(known.Spec.Policy.OnWindowEnd), "drain"), known.Spec.Policy.DrainGrace))
}

func windowSpan(span contract.WindowSpan) string {
	if span.To.IsZero() {
		return "from " + stamp(span.From) + " on"
	}
	return fmt.Sprintf("%s to %s (%s)", stamp(span.From), stamp(span.To), jobtype.Duration(span.To.Sub(span.From)))
}

func addCalendar(shown *fields, name string, calendar *jobtype.Calendar) {
	if calendar == nil {
		return
	}
	for _, w := range calendar.Windows {
		shown.add(name, text(window.Text(w)))
	}
	for _, b := range calendar.Blackouts {
		shown.add(name, text("not "+window.BlackoutText(b)))
	}
}

func addLearned(shown *fields, learned starter.Learned) {
	switch {
	case learned.P95 > 0:
		shown.add("run time", textf("learned p95 of %d runs: %s", learned.Of, learned.P95))
	case learned.Of > 0:
		shown.add("run time", textf("%d runs known, the p95 counts from %d on", learned.Of, window.MinKnown))
	}
	if n := len(learned.Checkpoints); n > 0 {
		shown.add("gone on with", textf("%s in the next run: %s", plural(n, "stopped job"), shorten(strings.Join(learned.Checkpoints, ", "), 200)))
	}
}

// droppedText says which checkpoints a run could not keep.
func droppedText(dropped contract.DroppedCheckpoints) string {
	return strings.TrimSuffix(fmt.Sprintf("%s could not be kept, their jobs begin anew: %s", plural(dropped.Count, "checkpoint"), strings.Join(dropped.Keys, ", ")), ": ")
}
