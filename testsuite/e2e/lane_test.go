package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
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

// TestWithoutALaneJobTypesRunSideBySide: each job waits for the one of the other job type.
func TestWithoutALaneJobTypesRunSideBySide(t *testing.T) {
	c := newCluster(t, "node-1")
	c.awaitFresh("node-1")
	c.apply(meets("left", "right") + meets("right", "left"))
	for _, ref := range []starter.RunRef{c.run("left"), c.run("right")} {
		assert.Equal(t, contract.OutcomeCompleted, c.result(ref, time.Minute).Outcome)
	}
}
