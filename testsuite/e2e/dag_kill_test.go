package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestDAGWorkerKilled: a worker is killed in the middle of 200 tasks. Every task ends as planned, and only
// attempts in flight on that worker happen twice.
func TestDAGWorkerKilled(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	victim := c.worker("node-b")
	c.awaitFresh("node-a", "node-b")
	const layers, wide, slots = 10, 20, 4
	var text strings.Builder
	text.WriteString("version: 1\nname: killed\ntasks:\n")
	want := map[string]string{}
	for layer := range layers {
		for i := range wide {
			id, needs := fmt.Sprintf("t%d-%02d", layer, i), "[]"
			want[id] = "completed"
			if layer > 0 {
				before := fmt.Sprintf("t%d-%02d", layer-1, i)
				needs = "[" + before + "]"
				if want[before] != "completed" {
					want[id] = "upstream_failed"
				}
			}
			exit := 0
			if layer == 7 && i%5 == 0 {
				exit, want[id] = 1, "failed"
			}
			fmt.Fprintf(&text, "  - {id: %s, needs: %s, heartbeat_timeout: 4s, command: [sh, -c, 'sleep 0.1; echo $0 >> %s/effects.log; exit %d', %s]}\n", id, needs, c.dir, exit, id)
		}
	}
	ref := runDAG(t, c.client, compileDAG(t, text.String(), nil), starter.DAGOptions{})
	testsuite.WaitFor(t, time.Minute, "a third of the tasks", func() bool { return len(c.lines("effects.log")) >= layers*wide/3 })
	victim.Kill()
	result := awaitDAG(t, c.client, ref, 2*time.Minute)
	assert.Equal(t, want, states(result))
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)

	effects := c.lines("effects.log")
	slices.Sort(effects)
	executed := 0
	for id, state := range want {
		if state != "upstream_failed" {
			executed++
			assert.Contains(t, effects, id)
		}
	}
	twice := len(effects) - executed
	assert.LessOrEqual(t, twice, slots, "only what the killed worker had in flight may happen twice")
	assert.Len(t, slices.Compact(slices.Clone(effects)), executed)
}

// TestDAGOnALostNode: a task pinned to a lost node fails with the reason, and an unpinned one runs elsewhere.
func TestDAGOnALostNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	gone := c.worker("node-b")
	c.awaitFresh("node-b")
	require.NoError(t, gone.Process.Signal(syscall.SIGTERM))
	gone.Code(t, 2*time.Minute)
	ref := runDAG(t, c.client, compileDAG(t, `
version: 1
name: lost
tasks:
  - {id: pinned, node: node-b, command: ["true"]}
  - {id: blocked, needs: [pinned], noop: true}
  - {id: anywhere, command: ["true"]}
  - {id: labelled, labels: {disk: ssd}, timeout: 1s, command: ["true"]}
`, nil), starter.DAGOptions{})
	result := awaitDAG(t, c.client, ref, time.Minute)
	assert.Equal(t, map[string]string{"pinned": "failed", "blocked": "upstream_failed", "anywhere": "completed", "labelled": "failed"}, states(result), "%+v", result.Tasks)
	assert.Equal(t, "it is pinned to worker node-b, which is OFFLINE", result.Tasks["pinned"].Error)
	assert.Contains(t, result.Tasks["labelled"].Error, "NO_WORKER: no online worker has label disk=ssd (waited 1 s)")
	assert.Equal(t, "node-a", result.Tasks["anywhere"].Worker)
}
