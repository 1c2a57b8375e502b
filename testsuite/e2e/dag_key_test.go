package e2e

import (
	"fmt"
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

// dumps is a DAG with 30 tasks to execute once over all runs.
const dumps = `
version: 1
name: NAME
concurrency: 8
tasks:
  - id: dump
    for_each: [LIST]
    key: "dump/{{.Item}}"
    key_valid: 1h
    retries: {limit: 3, backoff: 100ms}
    command: [sh, -c, 'sleep 0.2; echo $0 >> DIR/effects.log; echo "{\"by\": $$, \"of\": $0}"', "{{.Item}}"]
  - id: join
    needs: dump
    command: [sh, -c, 'echo "$0" >> DIR/joined.log', "{{range .Needs.dump}}{{.Result.by}}/{{.Result.of}},{{end}}"]
`

// TestDAGKeysSurviveKills: three runs need the same 30 tasks, while the control plane is killed and admission
// is terminated. Each is executed once, all runs get its result, and a later run executes nothing.
func TestDAGKeysSurviveKills(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a", "node-b")
	var list []string
	for n := range 30 {
		list = append(list, fmt.Sprint(n))
	}
	begin := func(name string) starter.RunRef {
		text := strings.NewReplacer("NAME", name, "DIR", c.dir, "LIST", strings.Join(list, ", ")).Replace(dumps)
		return runDAG(t, c.client, compileDAG(t, text, nil), starter.DAGOptions{})
	}
	refs := []starter.RunRef{begin("first"), begin("second"), begin("third")}
	awaitLines := func(n int) {
		testsuite.WaitFor(t, time.Minute, "tasks to be done", func() bool { return len(c.lines("effects.log")) >= n })
	}
	awaitLines(4)
	c.control[0].Kill()
	c.control = append(c.control, c.start("server"))
	awaitLines(12)
	require.NoError(t, c.client.Temporal().TerminateWorkflow(t.Context(), contract.AdmissionWorkflowID, "", "test"))
	for _, ref := range refs {
		result := awaitDAG(t, c.client, ref, 3*time.Minute)
		require.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Tasks)
	}
	assert.ElementsMatch(t, list, c.lines("effects.log"), "each is executed once")
	joined := c.lines("joined.log")
	require.Len(t, joined, 3)
	assert.Len(t, slices.Compact(joined), 1, "all have the same results")

	last := begin("last")
	assert.Equal(t, contract.OutcomeCompleted, awaitDAG(t, c.client, last, time.Minute).Outcome)
	assert.Len(t, c.lines("effects.log"), 30)
	items, _, err := c.client.Runs().Items(t.Context(), last, starter.ItemFilter{ID: "dump"})
	require.NoError(t, err)
	for _, item := range items {
		assert.Regexp(t, `^dag/(first|second|third)/`, item.FromRun)
		assert.Equal(t, item.ID, item.FromTask)
		assert.Zero(t, item.Attempt)
	}
}
