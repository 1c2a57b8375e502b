package e2e

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestDAGCanceledTaskAgain: a running task that is canceled and then rerun is executed once more, for every
// outcome of the first attempt. The server and the SDK remember a canceled activity differently.
func TestDAGCanceledTaskAgain(t *testing.T) {
	t.Parallel()
	h := newTally()
	p := newInProcess(t, 16, h)
	applyTally(t, p.client)
	files := fstest.MapFS{"inner.yaml": {Data: []byte("version: 1\nname: inner\ntasks:\n  - {id: inner, job_type: tally, params: {waits: 2}}\n")}}
	for _, c := range []struct {
		name, task, becomes string
		times               int
	}{
		{"obeys", "job_type: tally, params: {waits: 2}", "canceled", 2},
		{"is-done", "job_type: tally, params: {waits: 2, done: true}", "completed", 2},
		// After its heartbeat timeout and a grace period it is abandoned, and may still run.
		{"is-deaf", "job_type: tally, params: {waits: 1, deaf: true}, heartbeat_timeout: 5s", "canceled", 1},
		{"is-a-dag", "dag: inner.yaml", "canceled", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := "version: 1\nname: again\nhold_on_failure: 2m\ntasks:\n  - {id: one, " + c.task + "}\n  - {id: gate, approval: {timeout: 5m}}\n"
			ref := runDAG(t, p.client, compileDAG(t, text, files), starter.DAGOptions{Run: c.name})
			inner := starter.RunRef{WorkflowID: contract.SubDAGWorkflowID(ref.WorkflowID, "one")}
			becomes := func(want string) {
				testsuite.WaitFor(t, time.Minute, "it becomes "+want, func() bool {
					task, err := p.client.Runs().Item(t.Context(), starter.ItemRef{Run: ref, ID: "one"})
					return err == nil && task.State == want
				})
			}
			for n := range c.times {
				testsuite.WaitFor(t, time.Minute, "it runs", func() bool { return h.of(ref, "one")+h.of(inner, "inner") > n })
				err := p.client.Runs().CancelItem(t.Context(), starter.ItemRef{Run: ref, ID: "one"}, "")
				require.NoError(t, err)
				becomes(c.becomes)
				_, err = p.client.DAGs().RerunTask(t.Context(), ref, "one", "test")
				require.NoError(t, err)
			}
			becomes("completed")
			_, err := p.client.DAGs().ApproveTask(t.Context(), ref, "gate", "test", "")
			require.NoError(t, err)
			result := awaitDAG(t, p.client, ref, time.Minute)
			assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
			assert.Equal(t, c.times+1, result.Tasks["one"].Attempts)
			assert.Equal(t, c.times+1, h.of(ref, "one")+h.of(inner, "inner"))
		})
	}
}

// TestDAGCanceledAtItsStart: the run's first workflow task has the cancellation and starts tasks of every kind.
func TestDAGCanceledAtItsStart(t *testing.T) {
	t.Parallel()
	server := testsuite.StartServer(t)
	client, err := starter.Dial(t.Context(), starter.Options{Address: server.Address()})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	files := mapFiles{"inner.yaml": "version: 1\nname: inner\ntasks:\n  - {id: a, sleep: 1h}\n"}
	text := `
version: 1
name: born-canceled
tasks:
  - {id: noop, noop: true}
  - {id: job, command: [sleep, "3600"]}
  - {id: nap, sleep: 1h}
  - {id: ask, approval: {}}
  - {id: pool, resources: {db: 1}, noop: true}
  - {id: sub, dag: inner.yaml}
  - {id: behind, needs: [sub], noop: true}
  - {id: clean, needs: [sub, job, noop], trigger_rule: always, noop: true}
`
	ref := runDAG(t, client, compileDAG(t, text, files), starter.DAGOptions{Run: "1"})
	require.NoError(t, client.Temporal().SignalWorkflow(t.Context(), ref.WorkflowID, "", contract.SignalCancelRun, contract.CancelRunInput{Reason: "never mind"}))
	control, err := app.StartControl(t.Context(), app.ControlOptions{Client: client, Logger: testsuite.Quiet()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, control.Stop(context.WithoutCancel(t.Context()))) })
	result := awaitDAG(t, client, ref, 30*time.Second)
	assert.Equal(t, contract.OutcomeCanceled, result.Outcome)
	assert.Equal(t, map[string]int{"canceled": 6, "completed": 2}, result.Counts, "a noop cannot be canceled, it is over at once")
}
