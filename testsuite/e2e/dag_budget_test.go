package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestATaskIsDisabledAndReEnabled: a task uses up its budget over two runs, between which the control plane is
// killed. The next run fails it without an attempt. The remedy printed by explain enables it, and the run after
// that starts it again.
func TestATaskIsDisabledAndReEnabled(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	compiled := compileDAG(t, `
version: 1
name: nightly
tasks:
  - id: load
    command: [sh, -c, 'echo x >> `+c.dir+`/load.log; test -e `+c.dir+`/repaired || { echo "disk on fire" >&2; exit 3; }']
    retry_budget: {count: 3, window: 1h, disable_for: 12h}
    retries: {limit: 1, backoff: 1s}
  - {id: report, needs: load, command: ["true"]}
  - {id: other, command: ["true"]}
`, nil)
	again := func() (starter.RunRef, contract.DAGResult) {
		ref := runDAG(t, c.client, compiled, starter.DAGOptions{})
		return ref, awaitDAG(t, c.client, ref, 2*time.Minute)
	}
	killControl := func() {
		for _, control := range c.control {
			control.Kill()
		}
		c.control = append(c.control[:0], c.start("server"))
	}
	failed := map[string]string{"load": "failed", "report": "upstream_failed", "other": "completed"}

	_, first := again()
	assert.Equal(t, failed, states(first))
	require.Len(t, c.lines("load.log"), 2)
	killControl()
	_, second := again()
	assert.Equal(t, failed, states(second))
	require.Len(t, c.lines("load.log"), 3, "its third failure disables it: no retry")
	killControl()
	ref, third := again()
	assert.Equal(t, failed, states(third))
	require.Len(t, c.lines("load.log"), 3, "it was not started")
	assert.Contains(t, third.Tasks["load"].Error, "RETRY_BUDGET: task load of DAG nightly is disabled until")
	assert.Contains(t, third.Tasks["load"].Error, "disk on fire")

	listed, code := c.says("holds")
	require.Zero(t, code, listed)
	assert.Contains(t, listed, "dag:nightly")
	why, code := c.says("explain", ref.WorkflowID+"/load")
	require.Zero(t, code, why)
	assert.Contains(t, why, "RETRY_BUDGET")
	assert.Contains(t, why, "task load of DAG nightly is disabled after")
	remedy := regexp.MustCompile("`roundsman (resume [^`]*dag:nightly:load[^`]*)`").FindStringSubmatch(why)
	require.NotNil(t, remedy, why)

	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "repaired"), nil, 0o600))
	said, code := c.says(strings.Fields(remedy[1])...)
	require.Zero(t, code, said)
	assert.Contains(t, said, "task load of DAG nightly is enabled again")
	killControl()
	_, fourth := again()
	assert.Equal(t, map[string]string{"load": "completed", "report": "completed", "other": "completed"}, states(fourth))
	require.Len(t, c.lines("load.log"), 4)
	testsuite.WaitFor(t, time.Minute, "both in the audit log", func() bool {
		seen := map[string]bool{}
		for _, entry := range c.auditList() {
			if entry.Object == "dag/nightly/task load" {
				seen[entry.Action] = true
			}
		}
		return seen["refused"] && seen["hold.re-enable"]
	})
}
