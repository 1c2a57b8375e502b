package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// counted makes a shell task that is in dir while it runs. It waits until a file go exists and records the
// number of tasks in dir.
func counted(dir, wait string) string {
	return fmt.Sprintf(`[sh, -c, 'touch %[1]s/in.$0; ls %[1]s | grep -c ^in >> %[1]s/seen; %[2]s; rm %[1]s/in.$0', '{{.Item}}']`, dir, wait)
}

func numbers(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Fields(string(data))
}

// awaitAdmission waits until admission has recovered and its view satisfies is.
func (p *inProcess) awaitAdmission(what string, is func(contract.AdmissionView) bool) {
	p.t.Helper()
	testsuite.WaitFor(p.t, 30*time.Second, what, func() bool {
		answer, err := p.client.Temporal().QueryWorkflow(p.t.Context(), contract.AdmissionWorkflowID, "", contract.QueryAdmission)
		var view contract.AdmissionView
		return err == nil && answer.Get(&view) == nil && !view.Recovering && is(view)
	})
}

// TestDAGResources: eight tasks share a pool of two, declared by the run, across continue-as-new and their
// retries. A run without resources never contacts admission.
func TestDAGResources(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 8, newTally())
	p.awaitAdmission("it knows that nothing is held", func(contract.AdmissionView) bool { return true })
	plain := runDAG(t, p.client, compileDAG(t, "version: 1\nname: plain\ntasks: [{id: a, for_each: [1, 2], command: ['true']}, {id: b, needs: [a], noop: true}]\n", nil), starter.DAGOptions{})
	assert.Equal(t, contract.OutcomeCompleted, awaitDAG(t, p.client, plain, 30*time.Second).Outcome)
	for events := p.client.Temporal().GetWorkflowHistory(t.Context(), plain.WorkflowID, plain.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(t, err)
		assert.NotEqual(t, enums.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED, event.GetEventType(), "it has nothing to say")
	}

	dir := t.TempDir()
	large := runDAG(t, p.client, compileDAG(t, "version: 1\nname: large\ntasks: [{id: a, resources: {db: 2}, noop: true}]\n", nil), starter.DAGOptions{})
	result := awaitDAG(t, p.client, large, 60*time.Second)
	assert.Contains(t, result.Tasks["a"].Error, "it needs 2 of pool db, whose size is 1")

	text := "version: 1\nname: pooled\ntasks:\n" +
		"  - {id: a, for_each: [1, 2, 3, 4, 5, 6, 7, 8], resources: {db: 1}, retries: {limit: 1, backoff: 100ms}, command: " +
		counted(dir, "sleep 0.3; if [ ! -e "+dir+"/again.$0 ]; then touch "+dir+"/again.$0; rm "+dir+"/in.$0; exit 1; fi") + "}\n" +
		"  - {id: join, needs: [a], noop: true, resources: {db: 2}}\n"
	ref := runDAG(t, p.client, compileDAG(t, text, nil), starter.DAGOptions{RollEvents: 1, Resources: map[string]int{"db": 2}})
	result = awaitDAG(t, p.client, ref, 90*time.Second)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Tasks)
	assert.Equal(t, 2, result.Tasks["a.5"].Attempts)
	seen := numbers(t, filepath.Join(dir, "seen"))
	assert.Len(t, seen, 16)
	assert.Contains(t, seen, "2", "the pool is used up")
	for _, n := range seen {
		assert.Contains(t, []string{"1", "2"}, n)
	}
	shown, err := p.client.Runs().Show(t.Context(), starter.RunRef{WorkflowID: ref.WorkflowID})
	require.NoError(t, err)
	assert.NotEqual(t, ref.RunID, shown.RunID, "it has continued as new")
	for _, pool := range p.admission().Pools {
		assert.Zero(t, pool.Used, "everything was given back")
	}
}

// TestDAGResourcesAfterAdmissionIsTerminated: a new admission does not grant the resources of a running task to
// another one.
func TestDAGResourcesAfterAdmissionIsTerminated(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 8, newTally())
	dir := t.TempDir()
	text := "version: 1\nname: %s\ntasks:\n  - {id: a, for_each: [%s], resources: {db: 1}, command: " +
		counted(dir, "while [ ! -e "+dir+"/go ]; do sleep 0.1; done") + "}\n"
	first := runDAG(t, p.client, compileDAG(t, fmt.Sprintf(text, "first", "1, 2"), nil), starter.DAGOptions{})
	waiting := func(ref starter.RunRef, task string) string {
		item, err := p.client.Runs().Item(t.Context(), starter.ItemRef{Run: ref, ID: task})
		if err != nil {
			return ""
		}
		return item.Waiting
	}
	testsuite.WaitFor(t, 30*time.Second, "one runs and one waits", func() bool {
		_, err := os.Stat(filepath.Join(dir, "seen"))
		return err == nil && waiting(first, "a.2") == "resources: 1 of pool db"
	})
	require.NoError(t, p.client.Temporal().TerminateWorkflow(t.Context(), contract.AdmissionWorkflowID, "", "test"))
	second := runDAG(t, p.client, compileDAG(t, fmt.Sprintf(text, "second", "3"), nil), starter.DAGOptions{})
	p.awaitAdmission("the new one was told", func(view contract.AdmissionView) bool {
		return len(view.Pools) == 1 && view.Pools[0].Used == 1 && len(view.Pools[0].Waiting) == 2
	})
	assert.Equal(t, []string{"1"}, numbers(t, filepath.Join(dir, "seen")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	for _, ref := range []starter.RunRef{first, second} {
		assert.Equal(t, contract.OutcomeCompleted, awaitDAG(t, p.client, ref, 60*time.Second).Outcome)
	}
	assert.Equal(t, []string{"1", "1", "1"}, numbers(t, filepath.Join(dir, "seen")))
}

// TestDAGWaitersTakeNoPlace: while a pool is busy, tasks without need of it use the only place. The waiting
// task gets the next one.
func TestDAGWaitersTakeNoPlace(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 8, newTally())
	dir := t.TempDir()
	hold := runDAG(t, p.client, compileDAG(t, "version: 1\nname: hold\ntasks:\n  - {id: a, resources: {lone: 1}, command: "+
		"[sh, -c, 'touch "+dir+"/held; while [ ! -e "+dir+"/go ]; do sleep 0.1; done']}\n", nil), starter.DAGOptions{})
	testsuite.WaitFor(t, 30*time.Second, "the pool is busy", func() bool {
		_, err := os.Stat(filepath.Join(dir, "held"))
		return err == nil
	})
	ref := runDAG(t, p.client, compileDAG(t, `
version: 1
name: waiters
concurrency: 1
tasks:
  - {id: needs, for_each: [1, 2, 3], resources: {lone: 1}, command: ["true"]}
  - {id: free, for_each: [1, 2, 3, 4, 5], command: ["true"]}
`, nil), starter.DAGOptions{})
	testsuite.WaitFor(t, time.Minute, "all free ones are done", func() bool {
		_, total, err := p.client.Runs().Items(t.Context(), ref, starter.ItemFilter{ID: "free", States: []string{"completed"}})
		return err == nil && total == 5
	})
	tasks, total, err := p.client.Runs().Items(t.Context(), ref, starter.ItemFilter{ID: "needs"})
	require.NoError(t, err)
	require.Equal(t, 3, total)
	for _, task := range tasks {
		assert.Equal(t, "running", task.State, task.ID)
		assert.Equal(t, "resources: 1 of pool lone", task.Waiting, task.ID)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	for _, ref := range []starter.RunRef{hold, ref} {
		assert.Equal(t, contract.OutcomeCompleted, awaitDAG(t, p.client, ref, 60*time.Second).Outcome)
	}
}
