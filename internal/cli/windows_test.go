package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// obeyWindows closes the window of a job type by an apply, and opens it again.
func obeyWindows(t *testing.T, h *harness, gate string) {
	t.Helper()
	stamp := func(after time.Duration) string { return time.Now().Add(after).Format(time.RFC3339) }
	blackout := fmt.Sprintf("    blackouts: [{from: %s, to: %s, note: release}]\n", stamp(-time.Minute), stamp(48*time.Hour))
	quick := "    description: three quick jobs\n    schedule: {every: "
	closed := strings.Replace(clusterConfig(gate), quick+"365d, first_run: scheduled}\n", quick+"24h, first_run: scheduled}\n"+blackout, 1)
	file := h.write(closed)
	h.run("plan", "-c", file).Exits(ui.ExitDifference).Says("blackouts: (none) → ", "(release)")
	h.run("apply", "-c", file).OK()
	h.run("jobtypes").OK().Says("closed, opens in 47h")
	h.run("show", "jobtype/quick").OK().Says("job type quick: a blackout: release", "next window", "not 20")
	h.run("explain", "quick").OK().Says("WINDOW_CLOSED_UNTIL(quick)", "a blackout: release", "--ignore-window")

	// The window opens later than the job type is due again.
	skipped := h.run("start", "quick", "--wait").Exits(ui.ExitFailed)
	skipped.Says("quick: skipped in", "WINDOW_CLOSED_UNTIL 20")
	skipped.Complains("note: the window of quick is closed", "--ignore-window")
	h.run("start", "quick", "--ignore-window", "--wait").OK().Says("quick: completed in", "3 completed")
	h.run("show", "quick@").OK().Says("ignored by request of an operator")
	h.run("submit", "quick", "-p", "item=x", "--ignore-window", "--wait").OK()
	h.run("plan", "-c", file).OK()
	waits := h.run("submit", "quick", "-p", "item=y", "--as", "waits").OK()
	waits.Complains("note: the window of quick is closed", "the jobs wait for it")
	h.eventually("WINDOW_CLOSED_UNTIL(quick)", "explain", "quick-adhoc-waits")
	h.run("cancel", "quick-adhoc-waits").OK()

	h.run("apply", "-c", h.write(clusterConfig(gate))).OK()
	h.run("start", "quick", "--wait").OK().Says("quick: completed in")
}

// TestStatusWaitsForWindows: a run waits up to one interval for its window, so status
// does not call it skipped because the window is closed now.
func TestStatusWaitsForWindows(t *testing.T) {
	t.Parallel()
	h := alone(t)
	blackout := func(lasts time.Duration) string {
		now := time.Now()
		return fmt.Sprintf("    blackouts: [{from: %s, to: %s}]\n", now.Add(-time.Minute).Format(time.RFC3339), now.Add(lasts).Format(time.RFC3339))
	}
	typed := func(name, rest string) string {
		return "  " + name + ":\n    handler: command\n    schedule: {every: 30m, first_run: scheduled}\n" + rest +
			"    detect: {command: [printf, 'a\\n'], format: lines}\n    execute: {command: [echo, done]}\n"
	}
	// Each is due within 30 minutes.
	h.run("apply", "-c", h.write("version: 1\njob_types:\n"+typed("waits", blackout(30*time.Minute))+typed("never", blackout(48*time.Hour)))).OK()
	h.eventually("never", "jobtypes", "-o", "name").Says("waits")
	h.background("worker", "--id", "node-a", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s")
	h.background("server", "--log-level", "error")
	h.eventually("node-a", "workers", "-s", "online")
	due := map[string]string{}
	for _, tick := range clitest.Decode[struct {
		Due []struct {
			JobType string `json:"job_type"`
			Skipped string `json:"skipped"`
		} `json:"due"`
	}](h.eventually("\"due\"", "status", "-o", "json")).Due {
		due[tick.JobType] = tick.Skipped
	}
	assert.Equal(t, map[string]string{"waits": "", "never": "WINDOW_CLOSED_UNTIL"}, due)
}

// TestARunIsReleasedFromItsWindow: the remedy that explain prints works while the run waits, which
// overlap: skip refused.
func TestARunIsReleasedFromItsWindow(t *testing.T) {
	t.Parallel()
	h := alone(t)
	now := time.Now()
	h.run("apply", "-c", h.write("version: 1\njob_types:\n  nightly:\n    handler: command\n    schedule: {every: 30m, first_run: scheduled}\n"+
		fmt.Sprintf("    blackouts: [{from: %s, to: %s}]\n", now.Add(-time.Minute).Format(time.RFC3339), now.Add(25*time.Minute).Format(time.RFC3339))+
		"    detect: {command: [printf, 'a\\n'], format: lines}\n    execute: {command: [echo, done]}\n")).OK()
	h.background("worker", "--id", "node-a", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s")
	h.background("server", "--log-level", "error")
	h.eventually("node-a", "workers", "-s", "online")
	h.run("start", "nightly").OK().Says("started group/nightly-")
	h.eventually("WINDOW_CLOSED_UNTIL(nightly)", "explain", "nightly").Says("roundsman start nightly --ignore-window")
	h.run("start", "nightly", "--ignore-window", "--wait").OK().Says("nightly: completed in", "1 completed")
	h.run("show", "nightly@").OK().Says("ignored by request of an operator")
	h.run("audit", "--output", "json").OK().Says("it waited for its window, which is closed")
	h.run("runs", "--output", "json").OK().Says("nightly")
}
