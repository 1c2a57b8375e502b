package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// contender is a job type with one job for volume/1 and the pool db. The job stays at the object until the file
// go exists, and logs every other type that it finds there. The job of a killed worker continues next to its
// successor.
func contender(name, lane string) string {
	const proposal = `{"dedupe_key":"x","exclusive":["volume/1"],"resources":{"db":1},"params":{"item":"x"}}`
	work := strings.Join([]string{
		"for other in at-*; do [ $other = at-" + name + " ] || [ ! -e $other ] || echo clash >> clashes.log; done",
		"touch at-" + name,
		"echo " + name + " >> begun.log",
		"while [ ! -e go ]; do sleep 0.1; done",
		"rm -f at-" + name,
	}, "; ")
	return fmt.Sprintf(`  %s:
    handler: command
    lane: %s
    schedule: {every: 365d, first_run: scheduled}
    policy: {heartbeat_timeout: 5s, liveness: process}
    detect: {command: [echo, %q], format: json}
    execute: {command: [sh, -c, %q]}
`, name, lane, proposal, work)
}

// TestEverythingIsKilledWhileGroupsWait: one group works, five wait for its lane and three for its object.
// Server, control plane and worker are killed twice, the second time before they have recovered. Then each
// group takes its turn and ends, and no two are at the object at once.
func TestEverythingIsKilledWhileGroupsWait(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	inLane, beside := []string{"a", "b", "c", "d", "e", "f"}, []string{"x", "y", "z"}
	var yaml strings.Builder
	for _, name := range inLane {
		yaml.WriteString(contender(name, "default"))
	}
	for _, name := range beside {
		yaml.WriteString(contender(name, "side"))
	}
	c.apply(yaml.String())
	runs := map[string]starter.RunRef{"a": c.run("a")}
	testsuite.WaitFor(t, time.Minute, "the first group works", func() bool { return len(c.lines("begun.log")) == 1 })
	for _, name := range slices.Concat([]string{"f", "c", "e", "b", "d"}, beside) {
		runs[name] = c.run(name)
	}
	c.awaitQueued(5, 3)

	c.killAll()
	c.server.Restart(t)
	c.start("server")
	c.killAll()
	c.server.Restart(t)
	c.start("server")
	c.worker("node-a")
	c.awaitQueued(5, 3)
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o600))
	for name, run := range runs {
		assert.Equal(t, contract.OutcomeCompleted, c.result(run, 2*time.Minute).Outcome, name)
	}
	begun := c.lines("begun.log")
	assert.Subset(t, begun, slices.Concat(inLane, beside), "every job was done")
	var turns []string
	for _, name := range begun {
		if slices.Contains(inLane, name) && !slices.Contains(turns, name) {
			turns = append(turns, name)
		}
	}
	assert.Equal(t, inLane, turns, "the order of the lane")
	assert.Empty(t, c.lines("clashes.log"))
}

// awaitQueued waits until so many groups wait for the lane default and for volume/1.
func (c *cluster) awaitQueued(lane, object int) {
	c.t.Helper()
	testsuite.WaitFor(c.t, time.Minute, fmt.Sprintf("%d wait for the lane, %d for the object", lane, object), func() bool {
		view, err := c.client.Admission().View(c.t.Context(), contract.AdmissionFilter{})
		return err == nil && len(view.Lanes) == 1 && len(view.Lanes[0].Waiting) == lane &&
			len(view.Objects) == 1 && len(view.Objects[0].Waiting) == object
	})
}
