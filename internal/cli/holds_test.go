package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// budgetConfig has two job types that fail for the key bad until the file exists:
// one has a budget per key, the other one for all of it.
func budgetConfig(repaired string) string {
	execute := `{command: [sh, -c, 'if [ "$1" = bad ] && [ ! -e "$2" ]; then echo "no such disk" >&2; exit 3; fi', sh, "{{.Params.item}}", "` + repaired + `"]}`
	return `version: 1
lanes: {side: {exclusive: false}}
job_types:
  verify:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: [printf, 'good\nbad\n'], format: lines}
    execute: ` + execute + `
    retry_budget: {per_key: {count: 2, window: 10m, disable_for: 2h}}
  fragile:
    handler: command
    lane: side
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: [printf, 'good\nbad\n'], format: lines}
    execute: ` + execute + `
    policy: {retry_limit: 5, retry_backoff: 2s}
    retry_budget: {per_type: {count: 2, disable_for: 3h}}
`
}

// TestRetryBudget: a key that fails too often is left out over several runs, is explained and listed, and is
// enabled again by an operator with roundsman or with Temporal's command line.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	h, repaired := alone(t), filepath.Join(t.TempDir(), "repaired")
	h.background("server", "--log-level", "error")
	h.background("worker", "--id", "node-a", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s")
	h.eventually("node-a", "workers", "-s", "online")
	h.run("apply", "-c", h.write(budgetConfig(repaired))).OK()
	plain, err := client.Dial(client.Options{HostPort: strings.TrimPrefix(h.env.Environ[0], "TEMPORAL_ADDRESS=")})
	require.NoError(t, err)
	defer plain.Close()

	t.Run("a key", func(t *testing.T) { disableKey(t, h, plain) })
	t.Run("a job type", func(t *testing.T) { disableType(t, h, plain) })
	t.Run("an apply", func(*testing.T) {
		changed := strings.Replace(budgetConfig(repaired), "count: 2, window: 10m", "count: 3, window: 10m", 1)
		h.run("plan", "-c", h.write(changed)).Exits(ui.ExitDifference).Says("retry_budget.per_key.count", "2", "3")
	})
	t.Run("refusals", func(*testing.T) {
		h.run("resume", "verify:never seen", "--kind", "budget").Exits(ui.ExitFailed).Complains(`key "never seen" of job type verify is not disabled`)
		h.run("resume", "verify:never seen").Exits(ui.ExitFailed).Complains("nothing is held against key")
		h.run("skip", "verifi:x").Exits(ui.ExitFailed).Complains("verifi")
		h.run("skip", "verify:x", "--for", "soon").Exits(ui.ExitUsage).Complains("--for soon")
	})
}

// ran runs the job type once and returns its result.
func (h *harness) ran(jobType string) contract.JobGroupResult {
	h.t.Helper()
	return clitest.Decode[contract.JobGroupResult](h.run("start", jobType, "--wait", "-o", "json"))
}

// reason is the first reason that explain gives.
func (h *harness) reason(thing string) explain.Reason {
	h.t.Helper()
	explanation := clitest.Decode[explainer.Explanation](h.run("explain", thing, "-o", "json").OK())
	require.NotEmpty(h.t, explanation.Reasons, thing)
	return explanation.Reasons[0]
}

// clear waits until explain does not give the code any more: two seconds after
// the remedy, at the latest.
func (h *harness) clear(thing string, code contract.Code) {
	h.t.Helper()
	testsuite.GoneWithin(h.t, time.Now(), 2*time.Second, thing+": "+string(code), func() bool {
		explanation := clitest.Decode[explainer.Explanation](h.run("explain", thing, "-o", "json").OK())
		return slices.ContainsFunc(explanation.Reasons, func(r explain.Reason) bool { return r.Code == code })
	})
}

func disableKey(t *testing.T, h *harness, plain client.Client) {
	before := time.Now()
	for range 2 {
		failed := h.ran("verify")
		require.Equal(t, 1, failed.Counts.Failed)
		require.Equal(t, 1, failed.Counts.Completed)
	}
	third := h.ran("verify")
	after := time.Now()
	assert.Equal(t, contract.OutcomePartial, third.Outcome)
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 1, Disabled: 1, HeldBack: 1, Completed: 1}, third.Counts)
	require.Len(t, third.HeldBack, 1)
	assert.Equal(t, "bad", third.HeldBack[0].DedupeKey)
	assert.WithinRange(t, third.HeldBack[0].Until, before.Add(2*time.Hour), after.Add(2*time.Hour))
	h.run("show", "verify@").OK().Says("1 held back", "LEFT OUT", "bad", "after 2 failures within 10m")
	h.run("holds").OK().Says("verify:bad", "budget", "sh exited with status 3")
	h.run("show", "jobtype/verify").OK().Says("a key is disabled for 2h after 2 failures within 10m", "1 key, see `roundsman holds verify`")
	h.run("jobtypes").OK().Says("1 key held back")
	h.run("doctor").OK().Says("RETRY_BUDGET: failures hold back verify (keys: 1)", "roundsman resume --kind budget verify")

	r := h.reason("verify")
	assert.Equal(t, contract.CodeRetryBudget, r.Code)
	assert.Equal(t, "bad", r.Object)
	assert.True(t, r.Until.Equal(third.HeldBack[0].Until), "%s", r.Until)
	assert.Contains(t, r.Remedy, "roundsman resume --kind budget verify:bad")
	var runs []starter.Run
	testsuite.WaitFor(t, 20*time.Second, "all three runs are listed", func() bool {
		runs = clitest.Decode[struct {
			Runs []starter.Run `json:"runs"`
		}](h.run("runs", "verify", "-o", "json").OK()).Runs
		return len(runs) == 3
	})
	failedJob := runs[1].WorkflowID + "/" + clitest.Decode[struct {
		Jobs []starter.Item `json:"items"`
	}](h.run("jobs", runs[1].WorkflowID, "-s", "failed", "-o", "json").OK()).Jobs[0].ID
	assert.Equal(t, contract.CodeRetryBudget, h.reason(failedJob).Code)

	documented(t, plain, contract.UpdateReEnable, "verify", "bad")
	h.clear("verify", contract.CodeRetryBudget)
	again := h.ran("verify")
	assert.Equal(t, 1, again.Counts.Failed, "the next run takes it")
	h.run("resume", "verify:bad").OK().Says("key bad of verify is forgiven: 1 failure forgotten")
	documented(t, plain, contract.UpdateMarkDone, "verify", "bad")
	assert.Equal(t, 1, h.ran("verify").Counts.Disabled)
	assert.Equal(t, contract.CodeMarkedDone, markReason(h, "verify").Code)
	documented(t, plain, contract.QueryHolds, "verify", "bad")
	documented(t, plain, contract.UpdateForgive, "verify", "bad")
	h.clear("verify", contract.CodeMarkedDone)
	h.run("skip", "verify:bad", "--for", "7d").OK().Says("key bad of verify is left out until")
	h.run("holds", "verify").OK().Says("verify:bad", "done", "tester")
	h.run("resume", "verify:bad").OK().Says("marked as done by tester")
	h.run("holds", "verify").OK().Says("nothing is held back")
}

func disableType(t *testing.T, h *harness, plain client.Client) {
	failed := h.ran("fragile")
	assert.Equal(t, contract.OutcomePartial, failed.Outcome)
	assert.Contains(t, failed.Reason, "RETRY_BUDGET: job type fragile is disabled until")
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 2, Completed: 1, Failed: 1, Retries: failed.Counts.Retries}, failed.Counts)
	assert.Less(t, failed.Counts.Retries, 5, "the pending retry ended at once")
	skipped := clitest.Decode[struct {
		starter.RunRef
		contract.JobGroupResult
	}](h.run("start", "fragile", "--wait", "-o", "json").Exits(ui.ExitFailed))
	assert.Equal(t, contract.CodeRetryBudget, h.reason(skipped.WorkflowID).Code, "the run has ended, and this is why")
	assert.Equal(t, contract.OutcomeSkipped, skipped.Outcome)
	assert.Contains(t, skipped.Reason, "RETRY_BUDGET: job type fragile is disabled until")
	assert.Zero(t, skipped.Counts.Detected)
	h.run("jobtypes").OK().Says("by its retry budget")
	h.run("holds", "fragile").OK().Says("fragile", "budget")
	h.run("start", "fragile", "--dry-run").OK().Says("good", "bad")
	assert.Equal(t, contract.CodeRetryBudget, h.reason("fragile").Code)
	assert.Equal(t, "fragile", h.reason("fragile").Object)
	documented(t, plain, contract.UpdateReEnable, "fragile", "")
	h.clear("fragile", contract.CodeRetryBudget)
	assert.Equal(t, contract.OutcomePartial, h.ran("fragile").Outcome)
	h.run("resume", "fragile", "--kind", "budget").OK().Says("job type fragile is enabled again")
	h.run("resume", "fragile", "--kind", "budget").Exits(ui.ExitFailed).Complains("job type fragile is not disabled by its retry budget")
}

func markReason(h *harness, thing string) explain.Reason {
	reasons := clitest.Decode[explainer.Explanation](h.run("explain", thing, "-o", "json").OK()).Reasons
	require.NotEmpty(h.t, reasons)
	for _, r := range reasons {
		if r.Code == contract.CodeMarkedDone {
			return r
		}
	}
	return reasons[len(reasons)-1]
}

// documented sends the command line of docs/operations.md as the plain CLI does,
// about another job type and key. An empty key means the line without one.
func documented(t *testing.T, plain client.Client, name, jobType, key string) {
	t.Helper()
	_, lines := operations(t)
	sent := 0
	for _, line := range lines {
		if line.name != name || line.workflowID != contract.AdmissionWorkflowID || strings.Contains(line.input, `"key"`) != (key != "") && name != contract.QueryHolds {
			continue
		}
		sent++
		input := strings.NewReplacer("scrub", jobType, "/srv/a.bin", key).Replace(line.input)
		require.True(t, json.Valid([]byte(input)))
		sendTyped(t, plain, line, "", input)
	}
	require.Equal(t, 1, sent, name)
}

func TestRetryBudgetFaultsHaveLines(t *testing.T) {
	t.Parallel()
	h := offline(t)
	file := h.write(strings.Replace(budgetConfig("x"), "count: 2, window: 10m", "count: 99", 1))
	_, err := os.Stat(file)
	require.NoError(t, err)
	h.run("validate", "-c", file).Exits(ui.ExitUsage).Complains("retry_budget.per_key.count: 99 is out of range: use 1 to 25")
}
