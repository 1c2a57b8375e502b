package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/doctor"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

const threeTypes = `version: 1
job_types:
  served:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: ["true"]}
    execute: {command: ["true"]}
  unserved:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: ["true"]}
    execute: {command: ["true"]}
  labelled:
    handler: command
    each_worker: true
    labels: {role: storage}
    schedule: {every: 365d, first_run: scheduled}
    execute: {command: ["true"]}
`

// TestJobTypeWithoutAWorker: the list of job types and doctor name a job type that no worker can serve, except
// a paused one.
func TestJobTypeWithoutAWorker(t *testing.T) {
	t.Parallel()
	h := alone(t)
	h.background("server", "--log-level", "error")
	h.background("worker", "--id", "node-a", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s", "--job-types", "served")
	h.eventually("node-a", "workers", "-s", "online")
	h.background("worker", "--id", "node-b", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s", "--job-types", "labelled")
	h.eventually("node-b", "workers", "-s", "online")
	const label, jobType = "NO_WORKER: no online worker has label role=storage", "NO_WORKER: no online worker with handler command takes job type unserved"
	configuration := h.write(threeTypes)
	h.run("apply", "-c", configuration).OK()
	h.eventually(jobType, "jobtypes")
	applied := h.run("apply", "-c", configuration).OK() // A new registry is incomplete, so it warns of no job type.
	assert.Contains(t, applied.Stderr, "warning: labelled: "+label)
	assert.Contains(t, applied.Stderr, "warning: unserved: "+jobType)
	assert.NotContains(t, applied.Stderr, "warning: served")

	listed := map[string]bool{}
	for _, known := range clitest.Decode[struct {
		JobTypes []jobtypes.JobType `json:"job_types"`
	}](h.run("jobtypes", "-o", "json").OK()).JobTypes {
		listed[known.Name] = known.NoWorker
	}
	assert.Equal(t, map[string]bool{"served": false, "unserved": true, "labelled": true}, listed)
	h.run("show", "jobtype/unserved").OK().Says("NO_WORKER")
	h.run("doctor").OK().Says(label, "(labelled), and no worker for unserved", "roundsman explain labelled")
	h.run("status").OK().Says("NEEDS A PERSON", strings.TrimPrefix(label, "NO_WORKER: "), strings.TrimPrefix(jobType, "NO_WORKER: "))
	explained := h.run("explain", "labelled").OK().Says("no online worker has label role=storage", "--labels role=storage")
	assert.NotContains(t, explained.Stdout, "uncordon")
	watched := h.begin("status", "-w", "--interval", "200ms", "-o", "json")
	testsuite.WaitFor(t, time.Minute, "it looks again and again", func() bool { return strings.Count(watched.out.String(), `"running"`) > 1 })
	watched.code()

	h.run("pause", "unserved").OK()
	h.run("pause", "labelled").OK()
	var found struct{ Checks []doctor.Check }
	require.NoError(t, json.Unmarshal([]byte(h.run("doctor", "-o", "json").Exits(ui.ExitOK).Stdout), &found))
	for _, check := range found.Checks {
		if check.Name == "job types" || check.Name == "retry budgets" {
			assert.Equal(t, doctor.VerdictOK, check.Verdict, check.Found)
		}
	}
}
