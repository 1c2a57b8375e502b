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
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/testsuite"
)

const fanned = `
version: 1
name: fanned
tasks:
  - {id: hosts, command: [sh, -c, 'echo hosts >> DIR/effects.log; echo "{\"hosts\": [LIST], \"token\": \"T\"}"']}
  - id: drain
    needs: [hosts]
    for_each: "{{.Needs.hosts.Result.hosts}}"
    concurrency: 3
    heartbeat_timeout: 4s
    command: [sh, -c, 'echo "drain $1 $2 begins" >> DIR/effects.log; while [ ! -e DIR/gate ]; do sleep 0.05; done; echo "drain $1" >> DIR/effects.log; echo "{\"port\": \"80-$1\"}"', sh, "{{.Item}}", "{{.Needs.hosts.Result.token}}"]
  - id: restart
    needs: [hosts]
    for_each: "{{.Needs.hosts.Result.hosts}}"
    per_item: drain
    heartbeat_timeout: 4s
    command: [sh, -c, 'echo "restart $1 $2" >> DIR/effects.log', sh, "{{.Item}}", "{{.Needs.drain.Result.port}}"]
  - id: check
    needs: [hosts]
    for_each: "{{.Needs.hosts.Result.hosts}}"
    per_item: restart
    heartbeat_timeout: 4s
    command: [sh, -c, 'test "$1" != h05 || test -e DIR/mended && echo "check $1" >> DIR/effects.log', sh, "{{.Item}}"]
  - {id: report, needs: [check], command: [sh, -c, 'echo report >> DIR/effects.log']}
`

// TestDAGFanOutOverAResultSurvivesKills: the hosts of a command's result are drained, restarted and checked one
// by one, three drains at a time, while a worker and the control plane are killed. A new run repeats only the
// failures.
func TestDAGFanOutOverAResultSurvivesKills(t *testing.T) {
	t.Parallel()
	const hosts = 12
	c := newCluster(t, "node-a")
	victim := c.worker("node-b")
	c.awaitFresh("node-a", "node-b")
	var list []string
	for i := range hosts {
		list = append(list, fmt.Sprintf(`\"h%02d\"`, i))
	}
	text := strings.NewReplacer("DIR", c.dir, "LIST", strings.Join(list, ", ")).Replace(fanned)
	ref := runDAG(t, c.client, compileDAG(t, text, nil), starter.DAGOptions{})
	effects := func() []string {
		data, err := os.ReadFile(filepath.Join(c.dir, "effects.log"))
		if os.IsNotExist(err) {
			return nil
		}
		require.NoError(t, err)
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
	begun := func() int {
		return len(slices.DeleteFunc(effects(), func(line string) bool { return !strings.HasSuffix(line, " T begins") }))
	}
	testsuite.WaitFor(t, time.Minute, "three drains", func() bool { return begun() >= 3 })

	var why explainer.Explanation
	testsuite.WaitFor(t, 30*time.Second, "the reason of the last host", func() bool {
		found, err := explainer.Explain(t.Context(), c.client, ref.WorkflowID+"/drain.h11")
		why = found
		return err == nil && len(found.Reasons) > 0
	})
	assert.Equal(t, contract.CodeConcurrency, why.Reasons[0].Code)
	assert.Equal(t, "drain", why.Reasons[0].Object)
	assert.Equal(t, "the concurrency of 3 of the fan-out drain is used up", why.Reasons[0].Detail)
	assert.Equal(t, "wait, or `roundsman set "+ref.WorkflowID+" concurrency.drain=N`", why.Reasons[0].Remedy)
	assert.Equal(t, 3, begun(), "no fourth drain begins while three run")

	victim.Kill()
	c.control[0].Kill()
	c.control = append(c.control, c.start("server"))
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "gate"), nil, 0o600))
	result := awaitDAG(t, c.client, ref, 2*time.Minute)
	require.Equal(t, contract.OutcomeFailed, result.Outcome)
	want := map[string]string{"hosts": "completed", "drain": "completed", "restart": "completed", "check": "completed", "report": "upstream_failed"}
	for i := range hosts {
		for _, entry := range []string{"drain", "restart", "check"} {
			want[fmt.Sprintf("%s.h%02d", entry, i)] = "completed"
		}
	}
	want["check.h05"] = "failed"
	assert.Equal(t, want, states(result), "%+v", result.Tasks)

	lines := effects()
	for i := range hosts {
		host := fmt.Sprintf("h%02d", i)
		drained, restarted := slices.Index(lines, "drain "+host), slices.Index(lines, "restart "+host+" 80-"+host)
		require.NotEqual(t, -1, drained, host)
		assert.Less(t, drained, restarted, host)
		if host != "h05" {
			assert.Less(t, restarted, slices.Index(lines, "check "+host), host)
		}
	}
	firstRestart := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "restart ") })
	lastDrain := -1
	for k, line := range lines {
		if strings.HasSuffix(line, " T begins") {
			lastDrain = k
		}
	}
	assert.Less(t, firstRestart, lastDrain, "a host does not wait for the others")

	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "mended"), nil, 0o600))
	before := len(lines)
	retried, err := c.client.DAGs().Retry(t.Context(), ref, starter.DAGRetry{})
	require.NoError(t, err)
	result = awaitDAG(t, c.client, retried.RunRef, time.Minute)
	require.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Tasks)
	assert.Equal(t, []string{"check h05", "report"}, effects()[before:])
}

// TestDAGListsThatAreNone: a result that is no list fails its task with the expected form. If a list is
// returned again, only new items are executed.
func TestDAGListsThatAreNone(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 4, newTally())
	dir := t.TempDir()
	write := func(text string) { require.NoError(t, os.WriteFile(filepath.Join(dir, "list"), []byte(text), 0o600)) }
	write(`{"hosts": []}`)
	ref := runDAG(t, p.client, compileDAG(t, `
version: 1
name: lists
hold_on_failure: 5m
tasks:
  - {id: hosts, command: [cat, `+dir+`/list]}
  - {id: go, needs: [hosts], for_each: "{{.Needs.hosts.Result.hosts}}", command: [sh, -c, 'echo "$1" >> `+dir+`/log; test "$1" != b', sh, "{{.Item}}"]}
`, nil), starter.DAGOptions{})
	n := nested{t: t, client: p.client}
	failed := n.become(ref, "hosts", "failed")
	assert.Equal(t, `it was done, but INVALID: for_each of task "go": hosts is an empty list: return at least one item, or fail where there should be some`, failed.Error)
	write(`{"hosts": ["a", "b"]}`)
	_, err := p.client.DAGs().RetryTasks(t.Context(), ref, nil, "test")
	require.NoError(t, err)
	n.become(ref, "go.a", "completed")
	n.become(ref, "go.b", "failed")
	write(`{"hosts": ["a", "c"]}`)
	_, err = p.client.DAGs().RerunTask(t.Context(), ref, "hosts", "test")
	require.NoError(t, err)
	result := awaitDAG(t, p.client, ref, time.Minute)
	require.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Tasks)
	assert.Equal(t, map[string]string{"hosts": "completed", "go": "completed", "go.a": "completed", "go.b": "skipped", "go.c": "completed"}, states(result))
	text, err := os.ReadFile(filepath.Join(dir, "log"))
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"a", "b", "a", "c"}, strings.Fields(string(text)))
}
