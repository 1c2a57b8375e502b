package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

const endedSpec = `version: 1
name: ended
tasks:
  - {id: last, needs: [right, left], command: [echo, "all done"]}
  - {id: left, needs: go, command: [echo, "left done"]}
  - {id: right, needs: go, command: [sh, -c, "sleep 0.3; echo 'right done'"]}
  - {id: go, needs: first, approval: {prompt: "On?"}}
  - {id: first, command: [echo, "first done"]}
  - {id: bad, needs: first, command: [sh, -c, "exit 4"]}
`

// endedDAG checks the list of a closed run: ready and start times, durations, results and decisions.
func endedDAG(t *testing.T, h *harness) {
	h.run("start", h.write(endedSpec), "--as", "x").OK()
	h.eventually("AWAITING_APPROVAL", "explain", "ended/x")
	h.run("approve", "ended/x/go", "--note", "change 4711").OK()
	h.run("watch", "dag/ended/x").Exits(ui.ExitFailed)

	shown := clitest.Decode[itemList](h.run("show", "ended@", "-o", "json").OK()).Items
	require.Len(t, shown, 6)
	ids := map[string]int{}
	for i, task := range shown {
		ids[task.ID] = i
		assert.False(t, task.ReadyAt.IsZero(), task.ID)
		assert.False(t, task.StartedAt.Before(task.ReadyAt), task.ID)
		assert.False(t, task.EndedAt.Before(task.StartedAt), task.ID)
		if i > 0 {
			assert.False(t, task.StartedAt.Before(shown[i-1].StartedAt), "they are in the order in which they began")
		}
	}
	assert.Equal(t, 0, ids["first"])
	assert.Equal(t, 5, ids["last"])
	decided := shown[ids["go"]]
	require.NotNil(t, decided.Decision)
	assert.Equal(t, "change 4711", decided.Decision.Note)
	assert.Equal(t, shown[ids["first"]].EndedAt, decided.ReadyAt)
	assert.Equal(t, decided.EndedAt, shown[ids["left"]].ReadyAt)
	assert.Equal(t, shown[ids["right"]].EndedAt, shown[ids["last"]].ReadyAt, "the last of its needs")

	o := h.run("show", "ended@").OK().Says("STARTED", "approved by tester: change 4711", "left done", "all done", "exited with status 4")
	assert.Less(t, strings.Index(o.Stdout, "\nfirst "), strings.Index(o.Stdout, "\nlast "))
	tree := h.run("show", "ended@", "--tree").OK().Stdout
	assert.Regexp(t, `(?m)^first .*\n· (bad .*\n· go |go )`, tree)
	assert.Regexp(t, `(?m)^· · · last \(also needs (left|right)\)`, tree)
	h.run("show", "ended@", "--output", "wide").OK().Says("READY")

	h.run("show", "ended@", "-o", "gantt").OK().Says("<svg", "dag/ended/x (failed)", ">first<", ">last<", "✗ failed", "approved by")
	around := h.run("show", "ended@/bad", "-o", "gantt").OK().Says(">first<", ">bad<")
	assert.NotContains(t, around.Stdout, ">last<", "it does not depend on bad")
}
