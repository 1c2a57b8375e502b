package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// obeyWindows closes the window of a job type by an apply, and opens it again.
func obeyWindows(t *testing.T, h *harness, gate string) {
	t.Helper()
	stamp := func(after time.Duration) string { return time.Now().Add(after).Format(time.RFC3339) }
	blackout := fmt.Sprintf("    blackouts: [{from: %s, to: %s, note: release}]\n", stamp(-time.Minute), stamp(48*time.Hour))
	closed := strings.Replace(clusterConfig(gate), "    description: three quick jobs\n", "    description: three quick jobs\n"+blackout, 1)
	file := h.write(closed)
	h.run("plan", "-c", file).Exits(ui.ExitDifference).Says("blackouts: (none) → ", "(release)")
	h.run("apply", "-c", file).OK()
	h.run("jobtypes", "list").OK().Says("closed, opens in 47h")
	h.run("jobtypes", "show", "quick").OK().Says("job type quick: a blackout: release", "next window", "not 20")
	h.run("explain", "quick").OK().Says("WINDOW_CLOSED_UNTIL(quick)", "a blackout: release", "--ignore-window")

	// The window opens later than the job type is due again.
	skipped := h.run("jobtypes", "run", "quick", "--wait").Exits(ui.ExitFailed)
	skipped.Says("quick: skipped in", "WINDOW_CLOSED_UNTIL 20")
	skipped.Complains("note: the window of quick is closed", "--ignore-window")
	h.run("jobtypes", "run", "quick", "--ignore-window", "--wait").OK().Says("quick: completed in", "3 completed")
	h.run("runs", "show", "quick").OK().Says("ignored, as an operator asked")
	h.run("jobs", "submit", "--type", "quick", "--params", `{"item":"x"}`, "--ignore-window", "--wait").OK()
	h.run("plan", "-c", file).OK()
	waits := h.run("jobs", "submit", "--type", "quick", "--params", `{"item":"y"}`, "--id", "waits").OK()
	waits.Complains("note: the window of quick is closed", "the jobs wait for it")
	h.eventually("WINDOW_CLOSED_UNTIL(quick)", "explain", "quick-adhoc-waits")
	h.run("runs", "cancel", "quick-adhoc-waits").OK()

	h.run("apply", "-c", h.write(clusterConfig(gate))).OK()
	h.run("jobtypes", "run", "quick", "--wait").OK().Says("quick: completed in")
}
