package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// meets is a job that ends only if a job of the other job type runs at the same time.
func meets(name, other string) string {
	return "  " + name + `:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    policy: {execution_timeout: 40s}
    detect: {command: [echo, job], format: lines}
    execute: {command: [sh, -c, "touch ` + name + `.here; until test -e ` + other + `.here; do sleep 0.1; done"]}
`
}

// TestWithoutALaneJobTypesRunSideBySide: each job waits for a job of the other job type.
func TestWithoutALaneJobTypesRunSideBySide(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-1")
	c.awaitFresh("node-1")
	c.apply(meets("left", "right") + meets("right", "left"))
	for _, ref := range []starter.RunRef{c.run("left"), c.run("right")} {
		assert.Equal(t, contract.OutcomeCompleted, c.result(ref, time.Minute).Outcome)
	}
}

// TestARunWithoutAPlaceGivesItsLaneBack: no worker has the label of a run's job. The next job type gets its
// turn, and the job runs once such a worker comes.
func TestARunWithoutAPlaceGivesItsLaneBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-1")
	c.apply(`  archive:
    handler: command
    lane: default
    schedule: {every: 300d, first_run: scheduled}
    detect: {command: [echo, '{"dedupe_key":"x","labels":{"role":"tape"},"params":{"item":"x"}}'], format: json}
    execute: {command: [sh, -c, "echo archive >> ran"]}
` + noting("other", "lane: default\n    schedule: {every: 300d, first_run: scheduled}"))
	archive := c.run("archive")
	testsuite.WaitFor(t, time.Minute, "archive to have the lane", func() bool {
		view, err := c.client.Admission().View(t.Context(), contract.AdmissionFilter{WorkflowID: archive.WorkflowID})
		return err == nil && len(view.Lanes) == 1 && view.Lanes[0].Holder != nil
	})
	assert.Equal(t, contract.OutcomeCompleted, c.result(c.run("other"), time.Minute).Outcome)
	assert.Equal(t, []string{"other"}, c.lines("ran"))
	said, _ := c.says("explain", archive.WorkflowID)
	assert.Contains(t, said, "NO_WORKER")
	assert.Contains(t, said, "role=tape")
	c.worker("tape-1", "--labels", "role=tape")
	assert.Equal(t, contract.OutcomeCompleted, c.result(archive, time.Minute).Outcome)
	assert.Equal(t, []string{"other", "archive"}, c.lines("ran"))
	t.Log(said)
}
