package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

const everywhereTypes = `version: 1
job_types:
  check:
    handler: command
    detect_on: every
    labels: {role: storage}
    schedule: {every: 365d, first_run: scheduled}
    policy: {global_execution_concurrency: 9}
    detect: {command: [printf, 'disk\nfan\n']}
    execute: {command: [sh, -c, 'test "$ROUNDSMAN_DEDUPE_KEY" = "$ROUNDSMAN_WORKER_ID/$1"', sh, "{{.Params.item}}"]}
  fails:
    handler: command
    detect_on: every
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: [sh, -c, 'test "$ROUNDSMAN_WORKER_ID" != node-b && echo x']}
    execute: {command: ["true"]}
  refresh:
    handler: command
    each_worker: true
    schedule: {every: 365d, first_run: scheduled}
    execute: {command: [sh, -c, 'test "$ROUNDSMAN_DEDUPE_KEY" = "$ROUNDSMAN_WORKER_ID"']}
`

// TestOnEveryWorker: a detection on each worker that has the labels, its jobs where
// they were found, one job for each worker, and workers that are missed by name.
func TestOnEveryWorker(t *testing.T) {
	t.Parallel()
	h := alone(t)
	h.background("server", "--log-level", "error")
	for id, labels := range map[string]string{"node-a": "role=storage", "node-b": "role=storage", "node-c": "role=other"} {
		h.background("worker", "--id", id, "--labels", labels, "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s")
		h.eventually(id, "workers", "-s", "online")
	}
	h.run("apply", "-c", h.write(everywhereTypes)).OK()
	h.run("start", "check", "--wait").OK().Says("check: completed in", "4 found, 4 completed (node-a 2, node-b 2)")
	var keys []string
	for _, job := range clitest.Decode[struct {
		Jobs []starter.Item `json:"items"`
	}](h.run("jobs", "check", "-o", "json").OK()).Jobs {
		keys = append(keys, job.DedupeKey+"@"+job.Worker)
	}
	assert.ElementsMatch(t, []string{"node-a/disk@node-a", "node-a/fan@node-a", "node-b/disk@node-b", "node-b/fan@node-b"}, keys)
	h.run("start", "refresh", "--wait").OK().Says("refresh: completed in", "3 completed (node-a 1, node-b 1, node-c 1)")

	h.run("start", "fails", "--wait").Exits(ui.ExitFailed).Says("fails: partial in", "2 completed", "1 of 3 workers missed: node-b: DETECTION_FAILED")
	h.run("show", "fails@").OK().Says("partial", "missed", "node-b: DETECTION_FAILED", "(3 detections tried)")

	h.run("pause", "node-a").OK()
	h.run("start", "check", "--wait").Exits(ui.ExitFailed).Says("check: partial in", "2 completed, 1 workers missed (node-b 2)", "1 of 2 workers missed: node-a: WORKER_CORDONED")
	result := clitest.Decode[starter.Snapshot](h.run("show", "check@", "-o", "json").OK()).Result
	assert.Equal(t, []contract.MissedWorker{{Worker: "node-a", Code: contract.CodeCordoned, Detail: "it is CORDONED"}}, result.Missed)
	h.run("resume", "node-a").OK()
	h.run("start", "check", "--dry-run").OK().Says("node-a/disk", "node-b/fan")
}
