package dagrun_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

const redefinable = `
version: 1
name: redefinable
tasks:
  - {id: give, command: [x]}
  - {id: other, command: [x]}
  - {id: later, needs: [other], command: [old]}
  - {id: last, needs: [later], command: [x]}
`

// add adds tasks as an operator does.
func (p *play) add(tasks string) (added []string) {
	decisions, added, err := p.g.Operate(p.now, dagrun.Request{Kind: dagrun.Add, Data: []byte(tasks)})
	require.NoError(p.t, err)
	p.do(decisions)
	return added
}

func (p *play) refused(tasks string) string {
	before, err := p.g.Snapshot()
	require.NoError(p.t, err)
	request := dagrun.Request{Kind: dagrun.Add, Data: []byte(tasks)}
	refusal := p.g.Check(request)
	require.Error(p.t, refusal)
	_, _, err = p.g.Operate(p.now, request)
	require.EqualError(p.t, err, refusal.Error())
	after, err := p.g.Snapshot()
	require.NoError(p.t, err)
	require.Equal(p.t, before, after, "what is refused changes nothing")
	return refusal.Error()
}

// A task that has not started runs by its new definition: in this run, after a continue-as-new, and in a run that
// resumes it.
func TestATaskIsRedefinedBeforeItStarts(t *testing.T) {
	t.Parallel()
	const again = `[{"id": "later", "needs": ["give"], "command": ["new", "{{.Needs.give.Result.v}}"], "node": "w2"}]`
	p := start(t, redefinable, dagrun.Config{})
	p.workers(worker("w1", 2))
	assert.Empty(t, p.add(again), "nothing is added")
	assert.Equal(t, []string{"later"}, p.g.Redefined())
	assert.True(t, p.view("later").Redefined)
	assert.Equal(t, []string{"give"}, p.view("later").Needs)
	assert.Equal(t, []string{"later"}, p.view("last").Needs, "what waits for it continues waiting")
	p.add(again)
	assert.Empty(t, p.g.Redefined(), "it is defined like that already")

	p.ended("give", returns(`{"v": "hi"}`))
	assert.Equal(t, "running", p.state("later"), "it does not need other any more")
	assert.NotContains(t, p.running, "later", "its node is not there")
	p.workers(worker("w1", 2), worker("w2", 1))
	require.Equal(t, []string{"new", "hi"}, p.running["later"].Job.Command)
	p.add(again)
	assert.Empty(t, p.g.Redefined(), "a repeated request is as good as the first, also when the task has started")
	assert.Contains(t, p.refused(`[{"id": "later", "command": ["newer"]}]`), `WRONG_STATE: task "later" is already running, only one that has not started can be redefined; give the new task another id`)
	p.ended("later", run.Ending{Failure: contract.FailurePermanent, Message: "no"})
	p.ended("other", run.Ending{})
	require.Equal(t, dag.OutcomeFailed, p.end.Outcome)

	next, plan, err := prepare(t, p, dag.ResumeRequest{Run: "r1"})
	require.NoError(t, err)
	assert.Equal(t, []string{"later", "last"}, plan.Executed)
	assert.Empty(t, plan.Dropped)
	g, err := restoreGraph(p.g.Run().Graph(), next, dagrun.Config{}, epoch)
	require.NoError(t, err)
	resumed := newPlay(t, g, epoch)
	resumed.do(g.Start(epoch))
	resumed.workers(worker("w2", 1))
	assert.Equal(t, []string{"new", "hi"}, resumed.running["later"].Job.Command)
}

func TestRedefinedTasksAndResults(t *testing.T) {
	t.Parallel()
	p := start(t, redefinable, dagrun.Config{})
	p.workers(worker("w1", 2))
	p.ended("give", returns(`{"v": "hi"}`))
	assert.Contains(t, p.refused(`[{"id": "later", "needs": ["give"], "command": ["{{.Needs.give.Result.v}}"]}]`),
		`task "later" refers to the result of "give", which is not kept any more; rerun "give" instead`)

	p.add(`[{"id": "later", "needs": ["other"], "command": ["{{.Needs.other.Result.v}}"]}, {"id": "wait", "approval": {}, "before": ["later", "last"]}]`)
	p.ended("other", returns(`{"v": "hi"}`))
	require.JSONEq(t, `{"v": "hi"}`, string(p.view("other").Result))
	p.roll(dagrun.Config{})
	p.add(`[{"id": "last", "needs": ["later", "other"], "command": ["{{.Needs.other.Result.v}}"]}]`)
	p.add(`[{"id": "later", "needs": ["other"], "noop": true}]`)
	require.JSONEq(t, `{"v": "hi"}`, string(p.view("other").Result), "last refers to it")
	p.add(`[{"id": "last", "needs": ["later"], "noop": true}]`)
	assert.Empty(t, p.view("other").Result)
	assert.ElementsMatch(t, []string{"later", "wait"}, p.view("last").Needs, "it was added before it")
}

// A faulty redefinition is refused like a faulty new task.
func TestRefusedRedefinitions(t *testing.T) {
	t.Parallel()
	p := start(t, redefinable+`
  - {id: hosts, needs: [other], command: [x]}
  - {id: each, needs: [hosts], for_each: "{{.Needs.hosts.Result.list}}", command: [x]}
`, dagrun.Config{})
	p.workers(worker("w1", 2))
	for tasks, says := range map[string]string{
		`[{"id": "later", "needs": ["last"], "noop": true}]`:                                                  "in a circle: later → last → later",
		`[{"id": "later", "needs": ["ghost"], "noop": true}]`:                                                 `needs "ghost", which is not a task`,
		`[{"id": "later", "needs": ["later"], "noop": true}]`:                                                 "needs itself",
		`[{"id": "later", "noop": true}, {"id": "later", "noop": true}]`:                                      "already declared",
		`[{"id": "later", "noop": true, "before": ["give"]}]`:                                                 `should run before "give", which is already running`,
		`[{"id": "each", "noop": true}]`:                                                                      `WRONG_STATE: task "each" cannot be redefined`,
		`[{"id": "later", "needs": ["hosts"], "for_each": "{{.Needs.hosts.Result.list}}", "command": ["x"]}]`: `WRONG_STATE: task "later" cannot be redefined`,
	} {
		assert.Contains(t, p.refused(tasks), says, tasks)
	}
	p.do(p.g.CancelRun(p.now, "enough"))
	assert.Contains(t, p.refused(`[{"id": "later", "noop": true}]`), "the run is ending")
}

// A task that runs again redefines the tasks it returned that have not started.
func TestASplitterRedefinesItsOwnTasks(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: s\ntasks:\n  - {id: hold, approval: {}}\n  - {id: split, command: [x]}\n  - {id: foreign, needs: [split], command: [x]}\n", dagrun.Config{})
	p.workers(worker("w1", 1))
	p.ended("split", returns(`{"tasks": [{"id": "a", "command": ["old"]}, {"id": "b", "needs": ["a"], "command": ["old"]}]}`))
	p.ended("a", run.Ending{Failure: contract.FailurePermanent, Message: "no"})
	decisions, _, err := p.g.Operate(p.now, dagrun.Request{Kind: dagrun.Rerun, Tasks: []string{"split"}})
	require.NoError(t, err)
	p.do(decisions)
	p.add(`[{"id": "b", "needs": ["a"], "command": ["mine"]}]`)
	p.ended("split", returns(`{"tasks": [{"id": "a", "command": ["new"]}, {"id": "b", "needs": ["a"], "command": ["old"]}]}`))
	require.Equal(t, []string{"new"}, p.running["a"].Job.Command)
	assert.ElementsMatch(t, []string{"split", "b"}, p.view("foreign").Needs)
	p.ended("a", run.Ending{})
	assert.Equal(t, []string{"mine"}, p.running["b"].Job.Command, "it returned b as before, which an operator has redefined")
	assert.True(t, p.view("b").Redefined)
}

// TestLimitsOfFanOutsChangeWithoutTheirTasks: a list that has the same tasks with other limits takes effect, also if some of
// them have started.
func TestLimitsOfFanOutsChangeWithoutTheirTasks(t *testing.T) {
	t.Parallel()
	const list = `[{"id": "copy", "for_each": [1, 2, 3, 4], "command": ["x"], "concurrency": %d}, {"id": "drain", "for_each": [1, 2, 3, 4], "command": ["x"], "items_in_flight": %d}]`
	p := start(t, "version: 1\nname: limits\ntasks: "+fmt.Sprintf(list, 1, 1)+"\n", dagrun.Config{})
	p.workers(worker("w1", 20))
	require.Len(t, p.running, 2)
	assert.Empty(t, p.add(fmt.Sprintf(list, 3, 2)), "nothing is added")
	assert.Equal(t, map[string]int{"concurrency.copy": 3, "items_in_flight.drain": 2}, p.g.Answer().Limits)
	assert.Empty(t, p.g.Answer().Redefined)
	assert.Len(t, p.running, 5)
	p.add(fmt.Sprintf(list, 3, 2))
	assert.Empty(t, p.g.Answer().Limits, "a repeated request changes nothing")
	p.add(`[{"id": "new", "for_each": [1, 2], "command": ["x"], "concurrency": 1}]`)
	assert.Empty(t, p.g.Answer().Limits, "its tasks are new, too")
}
