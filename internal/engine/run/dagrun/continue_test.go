package dagrun_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

const luigi = `
version: 1
name: luigi
hold_on_failure: 1h
tasks:
  - {id: plan, node: w, command: [plan], retries: {limit: 1, backoff: 1s}}
  - {id: after, needs: [plan], command: [after]}
`

// TestATaskContinuesAfterTasksThatItReturns starts the task again, with its checkpoint, each time it returns tasks.
func TestATaskContinuesAfterTasksThatItReturns(t *testing.T) {
	t.Parallel()
	p := start(t, luigi, dagrun.Config{})
	p.workers(worker("w", 4))
	p.ended("plan", done(`{"tasks": [{"id": "a", "command": ["x"]}, {"id": "b", "needs": ["a"], "node": "ghost", "command": ["y"]}], "continue": {"step": 1}}`))
	require.Equal(t, []string{"a"}, p.runs())
	w := p.wait("plan")
	assert.Equal(t, contract.CodeUpstream, w.Code)
	assert.Equal(t, "it waits for 2 of 2 tasks (trigger_rule all_success): a is running, b is pending", w.Detail)
	p.ended("a", run.Ending{})
	require.Empty(t, p.runs(), "b is not done")
	p.roll(dagrun.Config{})
	p.workers(worker("w", 4), worker("ghost", 1))
	p.ended("b", run.Ending{})
	require.Equal(t, []string{"plan"}, p.runs())
	assert.JSONEq(t, `{"step": 1}`, string(p.running["plan"].Checkpoint))
	assert.Equal(t, 2, p.running["plan"].Attempt)

	p.ended("plan", run.Ending{Failure: contract.FailureFailed, Message: "once"})
	p.pass(2e9)
	require.Equal(t, []string{"plan"}, p.runs(), "it has all of its retries")
	assert.JSONEq(t, `{"step": 1}`, string(p.running["plan"].Checkpoint))
	p.ended("plan", done(`{"tasks": [{"id": "a", "command": ["x"]}, {"id": "c", "noop": true}], "continue": 2}`))
	require.Equal(t, []string{"c"}, p.runs(), "a is done already")
	p.ended("c", run.Ending{})
	assert.Equal(t, "2", string(p.running["plan"].Checkpoint))
	p.ended("plan", done(`{"v": 1}`))
	require.Equal(t, []string{"after"}, p.runs())
	p.ended("after", run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
}

// TestWhatATaskCannotContinueAfter: the task fails with the reason.
func TestWhatATaskCannotContinueAfter(t *testing.T) {
	t.Parallel()
	for result, problem := range map[string]string{
		`{"tasks": [{"id": "a", "needs": ["after"], "noop": true}], "continue": 1}`:                             "tasks depend on each other in a circle",
		`{"tasks": [{"id": "a", "needs": ["plan"], "noop": true}], "continue": 1}`:                              "tasks depend on each other in a circle",
		`{"tasks": [], "continue": 1}`:                                                                          "tasks is empty; declare at least one",
		`{"tasks": [{"id": "after", "noop": true}], "continue": 1}`:                                             "already exists in the run",
		`{"tasks": [{"id": "a", "noop": true}], "continue": "` + strings.Repeat("x", 16<<10) + `"}`:             "the value of continue has 16386 bytes, the limit is 16384",
		`{"tasks": [{"id": "a", "command": ["{{.Needs.plan.Result.x}}"], "needs": ["nobody"]}], "continue": 1}`: "which is not a task",
	} {
		p := start(t, luigi, dagrun.Config{})
		p.workers(worker("w", 4))
		p.ended("plan", done(result))
		require.Equal(t, "failed", p.state("plan"), result)
		assert.Contains(t, p.view("plan").Error, problem)
		assert.Equal(t, 2, p.g.Run().Len())
	}
	p := start(t, luigi, dagrun.Config{})
	p.workers(worker("w", 4))
	same := done(`{"tasks": [{"id": "a", "noop": true}], "continue": 1}`)
	p.ended("plan", same)
	p.ended("a", run.Ending{})
	p.ended("plan", same)
	assert.Contains(t, p.view("plan").Error, "it continued, and returned the same again")
}

// TestATaskWaitsForWhatFails: after a failure of a returned task, the task waits until that one is done.
func TestATaskWaitsForWhatFails(t *testing.T) {
	t.Parallel()
	p := start(t, luigi, dagrun.Config{})
	p.workers(worker("w", 4))
	p.ended("plan", done(`{"tasks": [{"id": "a", "command": ["x"]}], "continue": 1}`))
	p.ended("a", run.Ending{Failure: contract.FailurePermanent, Message: "no"})
	assert.Equal(t, "upstream_failed", p.state("plan"))
	require.True(t, p.g.Run().Held())
	p.operate(dagrun.Request{Kind: dagrun.Retry})
	p.ended("a", run.Ending{})
	assert.Equal(t, "1", string(p.running["plan"].Checkpoint))
	p.ended("plan", run.Ending{})
	p.cancel("after")
	p.ended("after", run.Ending{Failure: contract.FailureCanceled})
	p.operate(dagrun.Request{Kind: dagrun.Rerun, Tasks: []string{"plan"}})
	assert.Empty(t, p.running["plan"].Checkpoint, "it begins again")
	p.ended("plan", done(`{"tasks": [{"id": "a", "command": ["x"]}], "continue": 1}`))
	require.Equal(t, []string{"plan"}, p.runs(), "a is done already")
	assert.Equal(t, "1", string(p.running["plan"].Checkpoint))
}
