package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

var nestedFiles = mapFiles{
	"work.yaml": "version: 1\nname: work\ntasks:\n  - {id: work, job_type: tally, params: {waits: 1}}\n",
	"gate.yaml": "version: 1\nname: gate\nhold_on_failure: 5m\ntasks:\n  - {id: ok, approval: {}}\n  - {id: bad, command: ['false']}\n",
	"mid.yaml":  "version: 1\nname: mid\ntasks:\n  - {id: low, dag: low.yaml}\n",
	"low.yaml": "version: 1\nname: low\ntasks:\n  - {id: work, job_type: tally, params: {waits: 1}}\n" +
		"  - {id: clean, needs: [work], trigger_rule: always, sleep: 10m}\n",
}

// nested is a run with a sub-DAG in task sub, whose own run is operated.
type nested struct {
	t          *testing.T
	client     *starter.Client
	outer, sub starter.RunRef
}

func (n nested) become(ref starter.RunRef, id, want string) starter.Item {
	n.t.Helper()
	var task starter.Item
	testsuite.WaitFor(n.t, 30*time.Second, id+" becomes "+want, func() bool {
		found, err := n.client.Runs().Item(n.t.Context(), starter.ItemRef{Run: ref, ID: id})
		if err == nil {
			task = found
		}
		return task.State == want
	})
	return task
}

// ends resumes the sub-DAG and lets the run end.
func (n nested) ends() {
	n.t.Helper()
	_, err := n.client.DAGs().RetryTasks(n.t.Context(), n.outer, nil, "test")
	require.NoError(n.t, err)
	result := awaitDAG(n.t, n.client, n.outer, time.Minute)
	assert.Equal(n.t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Tasks)
}

// TestDAGNested acts on the run of a sub-DAG, or on the outer run while the sub-DAG runs.
func TestDAGNested(t *testing.T) {
	t.Parallel()
	h := newTally()
	p := newInProcess(t, 16, h)
	applyTally(t, p.client)
	begin := func(t *testing.T, name, file string) nested {
		t.Helper()
		text := "version: 1\nname: " + name + "\nhold_on_failure: 5m\ntasks:\n  - {id: sub, dag: " + file + "}\n  - {id: after, needs: [sub], noop: true}\n"
		n := nested{t: t, client: p.client, outer: runDAG(t, p.client, compileDAG(t, text, nestedFiles), starter.DAGOptions{Run: "1"})}
		n.sub.WorkflowID = contract.SubDAGWorkflowID(n.outer.WorkflowID, "sub")
		return n
	}
	works := func(n nested, ref starter.RunRef) {
		n.t.Helper()
		testsuite.WaitFor(n.t, 20*time.Second, "its task runs", func() bool { return h.of(ref, "work") > 0 })
	}
	t.Run("terminated", func(t *testing.T) {
		t.Parallel()
		n := begin(t, "terminated", "work.yaml")
		works(n, n.sub)
		require.NoError(t, p.client.Temporal().TerminateWorkflow(t.Context(), n.sub.WorkflowID, "", "by hand"))
		assert.Equal(t, "dag/terminated/1/sub was terminated", n.become(n.outer, "sub", "failed").Error)
		n.ends()
	})
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		n := begin(t, "canceled", "work.yaml")
		works(n, n.sub)
		require.NoError(t, p.client.Runs().Cancel(t.Context(), n.sub, "not this one"))
		assert.Equal(t, "canceled from outside: dag/canceled/1/sub was canceled: not this one", n.become(n.outer, "sub", "canceled").Error)
		n.ends()
	})
	t.Run("taken", func(t *testing.T) {
		t.Parallel()
		gate := compileDAG(t, nestedFiles["gate.yaml"], nil)
		_, err := p.client.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "dag/taken/1/sub", TaskQueue: contract.ControlQueue},
			contract.DAGWorkflow, contract.DAGInput{Name: "other"}, gate.Graph.Encode(), []byte(nil))
		require.NoError(t, err)
		n := begin(t, "taken", "work.yaml")
		testsuite.WaitFor(t, 20*time.Second, "it waits for its id", func() bool {
			return n.become(n.outer, "sub", "running").Waiting == "the next attempt: another workflow is open under the id of this sub-DAG's run, dag/taken/1/sub"
		})
		require.NoError(t, p.client.Temporal().TerminateWorkflow(t.Context(), n.sub.WorkflowID, "", "by hand"))
		works(n, n.sub)
		err = p.client.Runs().CancelItem(t.Context(), starter.ItemRef{Run: n.sub, ID: "work"}, "")
		require.NoError(t, err)
		n.become(n.outer, "sub", "failed")
		n.ends()
	})
	t.Run("canceled twice", func(t *testing.T) {
		t.Parallel()
		n := begin(t, "twice", "mid.yaml")
		low := starter.RunRef{WorkflowID: contract.SubDAGWorkflowID(n.sub.WorkflowID, "low")}
		works(n, low)
		require.NoError(t, p.client.Runs().Cancel(t.Context(), n.outer, "enough"))
		n.become(low, "clean", "running")
		require.NoError(t, p.client.Runs().Cancel(t.Context(), n.outer, "at once"))
		result := awaitDAG(t, p.client, n.outer, time.Minute)
		assert.Equal(t, contract.OutcomeCanceled, result.Outcome)
		assert.Equal(t, map[string]int{"canceled": 2}, result.Counts)
	})
	t.Run("held inside a paused run", func(t *testing.T) {
		t.Parallel()
		n := begin(t, "held", "gate.yaml")
		n.become(n.sub, "bad", "failed")
		require.NoError(t, p.client.Runs().Pause(t.Context(), n.outer, "test"))
		_, err := p.client.DAGs().ApproveTask(t.Context(), n.sub, "ok", "test", "")
		require.NoError(t, err)
		_, err = p.client.DAGs().SkipTask(t.Context(), n.sub, "bad", "test", "")
		require.NoError(t, err)
		n.become(n.outer, "sub", "completed")
		n.become(n.outer, "after", "ready")
		require.NoError(t, p.client.Runs().Resume(t.Context(), n.outer))
		assert.Equal(t, contract.OutcomeCompleted, awaitDAG(t, p.client, n.outer, time.Minute).Outcome)
	})
}

// TestDAGOrdersToAControlPlaneThatIsAway: of several requests during the absence of the control plane the last
// one holds. None is lost with a process that is killed right after it.
func TestDAGOrdersToAControlPlaneThatIsAway(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	ref := runDAG(t, c.client, compileDAG(t, "version: 1\nname: away\nhold_on_failure: 5m\ntasks:\n  - {id: gate, approval: {}}\n"+
		"  - {id: slow, command: [sleep, '300'], heartbeat_timeout: 2s}\n  - {id: after, needs: [gate], command: [sh, -c, 'echo done >> "+c.dir+"/effects.log']}\n", nil), starter.DAGOptions{Run: "1"})
	n := nested{t: t, client: c.client, outer: ref}
	n.become(ref, "slow", "running")
	ctx := t.Context()
	_, err := c.client.DAGs().ApproveTask(ctx, ref, "gate", "test", "")
	require.NoError(t, err)
	err = c.client.Runs().CancelItem(ctx, starter.ItemRef{Run: ref, ID: "slow"}, "")
	require.NoError(t, err)
	c.control[0].Kill()
	require.NoError(t, c.client.Runs().Pause(ctx, ref, "first"))
	require.NoError(t, c.client.Runs().Resume(ctx, ref))
	require.NoError(t, c.client.Runs().Pause(ctx, ref, "second"))
	c.control[0] = c.start("server")
	n.become(ref, "slow", "canceled")
	shown, err := c.client.Runs().Show(ctx, ref)
	require.NoError(t, err)
	require.NotNil(t, shown.DAGStatus)
	assert.Equal(t, "second", shown.DAGStatus.PauseNote, "the last word was to pause")
	require.NoError(t, c.client.Runs().Resume(ctx, ref))
	_, err = c.client.DAGs().SkipTask(ctx, ref, "slow", "test", "") // The run has no work left and ends.
	require.NoError(t, err)
	result := awaitDAG(t, c.client, ref, time.Minute)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Tasks)
	assert.Len(t, c.lines("effects.log"), 1)
}
