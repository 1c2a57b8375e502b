package jobtypes

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func addWindows(shown *ui.Fields, known jobtypes.JobType, now time.Time) {
	w := known.Window
	if w == nil {
		return
	}
	state := runs.WindowState(w, now)
	if w.Closed != "" {
		state.Text += " (" + w.Closed + ")"
	}
	shown.Add("window", state)
	for i, span := range w.Next {
		if i == 0 && w.Open {
			continue
		}
		shown.Add("next window", ui.Text(windowSpan(span)))
	}
	addCalendar(shown, "windows", known.Spec.Calendar)
	addCalendar(shown, "lane's windows", known.Spec.LaneCalendar)
	shown.Add("at its end", ui.Textf("%s, drain_grace %s", cmp.Or(string(known.Spec.Policy.OnWindowEnd), "drain"), known.Spec.Policy.DrainGrace))
}

func windowSpan(span contract.WindowSpan) string {
	if span.To.IsZero() {
		return "from " + ui.Stamp(span.From) + " on"
	}
	return fmt.Sprintf("%s to %s (%s)", ui.Stamp(span.From), ui.Stamp(span.To), jobtype.Duration(span.To.Sub(span.From)))
}

func addCalendar(shown *ui.Fields, name string, calendar *jobtype.Calendar) {
	if calendar == nil {
		return
	}
	for _, w := range calendar.Windows {
		shown.Add(name, ui.Text(window.Text(w)))
	}
	for _, b := range calendar.Blackouts {
		shown.Add(name, ui.Text("not "+window.BlackoutText(b)))
	}
}

func addLearned(shown *ui.Fields, learned jobtypes.Learned) {
	switch {
	case learned.P95 > 0:
		shown.Add("run time", ui.Textf("learned p95 of %d runs: %s", learned.Of, learned.P95))
	case learned.Of > 0:
		shown.Add("run time", ui.Textf("%d runs known, the p95 counts from %d on", learned.Of, window.MinKnown))
	}
	if n := len(learned.Checkpoints); n > 0 {
		shown.Add("gone on with", ui.Textf("%s in the next run: %s", ui.Plural(n, "stopped job"), ui.Shorten(strings.Join(learned.Checkpoints, ", "), 200)))
	}
}
