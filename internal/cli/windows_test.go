package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

func TestWindowStates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 5, 12, 0, 0, 0, time.UTC)
	for want, view := range map[string]*starter.WindowView{
		"-":                             nil,
		"open":                          {Open: true},
		"open, closes in 2h":            {Open: true, Until: now.Add(2 * time.Hour)},
		"closed":                        {},
		"closed, opens in 8h30m":        {Until: now.Add(8*time.Hour + 30*time.Minute)},
		"FAULT: no such zone":           {Fault: "no such zone"},
		"FAULT: it cannot be worked on": {Fault: "it cannot be worked on", Open: true},
	} {
		assert.Equal(t, want, windowState(view, now).text)
	}
	assert.Equal(t, "2 checkpoints could not be kept, their jobs begin anew: a, b", droppedText(contract.DroppedCheckpoints{Count: 2, Keys: []string{"a", "b"}}))
	assert.Equal(t, "1 checkpoint could not be kept, their jobs begin anew", droppedText(contract.DroppedCheckpoints{Count: 1}))
}

func TestWhatIsLearnedIsShown(t *testing.T) {
	t.Parallel()
	for want, learned := range map[string]starter.Learned{
		"":                                  {},
		"12 runs known":                     {Of: 12},
		"learned p95 of 34 runs: 12m":       {Of: 34, P95: jobtype.Duration(12 * time.Minute)},
		"2 stopped jobs in the next run: a": {Checkpoints: []string{"a", "b"}},
	} {
		shown := &fields{}
		addLearned(shown, learned)
		var text strings.Builder
		shown.write(&text, false)
		assert.Contains(t, text.String(), want)
	}
}

// obeyWindows closes the window of a job type by an apply, and opens it again.
func obeyWindows(t *testing.T, h *harness, gate string) {
	t.Helper()
	stamp := func(after time.Duration) string { return time.Now().Add(after).Format(time.RFC3339) }
	blackout := fmt.Sprintf("    blackouts: [{from: %s, to: %s, note: release}]\n", stamp(-time.Minute), stamp(48*time.Hour))
	closed := strings.Replace(clusterConfig(gate), "    description: three quick jobs\n", "    description: three quick jobs\n"+blackout, 1)
	file := h.write(closed)
	h.run("plan", "-c", file).exits(ExitUsage).says("blackouts: (none) → ", "(release)")
	h.run("apply", "-c", file).ok()
	h.run("jobtypes", "list").ok().says("closed, opens in 47h")
	h.run("jobtypes", "show", "quick").ok().says("job type quick: a blackout: release", "next window", "not 20")
	h.run("explain", "quick").ok().says("WINDOW_CLOSED_UNTIL(quick)", "a blackout: release", "--ignore-window")

	// The window opens later than the job type is due again.
	skipped := h.run("jobtypes", "run", "quick", "--wait").exits(ExitFailed)
	skipped.says("quick: skipped in", "WINDOW_CLOSED_UNTIL 20")
	skipped.complains("note: the window of quick is closed", "--ignore-window")
	h.run("jobtypes", "run", "quick", "--ignore-window", "--wait").ok().says("quick: completed in", "3 completed")
	h.run("runs", "show", "quick").ok().says("ignored, as an operator asked")
	h.run("jobs", "submit", "--type", "quick", "--params", `{"item":"x"}`, "--ignore-window", "--wait").ok()
	h.run("plan", "-c", file).ok()
	waits := h.run("jobs", "submit", "--type", "quick", "--params", `{"item":"y"}`, "--id", "waits").ok()
	waits.complains("note: the window of quick is closed", "the jobs wait for it")
	h.eventually("WINDOW_CLOSED_UNTIL(quick)", "explain", "quick-adhoc-waits")
	h.run("runs", "cancel", "quick-adhoc-waits").ok()

	h.run("apply", "-c", h.write(clusterConfig(gate))).ok()
	h.run("jobtypes", "run", "quick", "--wait").ok().says("quick: completed in")
}
