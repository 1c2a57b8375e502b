package dagrun_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

func returns(format string, args ...any) run.Ending {
	return run.Ending{Result: fmt.Appendf(nil, format, args...)}
}

const shares = `
version: 1
name: shares
tasks:
  - {id: give, command: [x]}
  - {id: split, needs: [give], command: [x]}
  - {id: wait, needs: [split], approval: {}}
  - {id: use, needs: [give, wait], command: [y, "{{.Needs.give.Result.v}}"]}
`

// A result is kept for every task that refers to it, also for those that are added
// later: by a splitter, or by an operator.
func TestAddedTasksKeepTheResultsTheyReferTo(t *testing.T) {
	t.Parallel()
	added := `[{"id": "more", "needs": ["give"], "command": ["z", "{{.Needs.give.Result.v}}"]}]`
	for name, add := range map[string]func(*play){
		"splitter": func(p *play) { p.ended("split", returns(`{"tasks": %s}`, added)) },
		"operator": func(p *play) {
			decisions, changed, err := p.g.Operate(p.now, dagrun.Request{Kind: dagrun.Add, Data: []byte(added)})
			require.NoError(p.t, err)
			require.Equal(p.t, []string{"more"}, changed)
			p.do(decisions)
			p.ended("split", run.Ending{})
		},
	} {
		p := start(t, shares, dagrun.Config{})
		p.workers(worker("w", 9))
		p.ended("give", returns(`{"v": "hi"}`))
		add(p)
		require.Equal(t, []string{"z", "hi"}, p.running["more"].Job.Command, name)
		p.ended("more", run.Ending{})
		p.roll(dagrun.Config{})
		decisions, _, err := p.g.Operate(p.now, dagrun.Request{Kind: dagrun.Approve, Tasks: []string{"wait"}})
		require.NoError(t, err)
		p.do(decisions)
		require.Equal(t, []string{"y", "hi"}, p.running["use"].Job.Command, name)
		p.ended("use", run.Ending{})
		assert.Empty(t, p.view("give").Result, "no task needs it any more")
		assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome, name)
	}
}

func TestAddedTasksSeeTheResultOfTheirSplitter(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: split, command: [x]}\n", dagrun.Config{})
	p.workers(worker("w", 9))
	p.ended("split", returns(`{"v": "hi", "tasks": [{"id": "part", "needs": ["split"], "command": ["z", "{{.Needs.split.Result.v}}"]}, {"id": "skip", "noop": true}]}`))
	require.Equal(t, []string{"z", "hi"}, p.running["part"].Job.Command)
	p.ended("part", run.Ending{})
	p.ended("skip", run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
	assert.Empty(t, p.view("split").Result)

	p = start(t, one+"{id: split, command: [x]}\n", dagrun.Config{})
	p.workers(worker("w", 9))
	p.ended("split", returns(`{"v": "%s", "tasks": [{"id": "part", "needs": ["split"], "command": ["z", "{{.Needs.split.Result.v}}"]}]}`, strings.Repeat("v", 3000)))
	assert.Contains(t, p.view("split").Error, "its result has 3008 bytes and 1 tasks refer to it, the limit is 2048")
	assert.Equal(t, 1, p.g.Run().Len(), "a task that fails adds none")
}

func TestAResumedRunCleansUpAgain(t *testing.T) {
	t.Parallel()
	p := start(t, `
version: 1
name: cleans
tasks:
  - {id: setup, command: [x]}
  - {id: work, needs: [setup], command: [x]}
  - {id: clean, needs: [work], trigger_rule: always, command: [x]}
  - {id: report, needs: [clean], command: [x]}
  - {id: other, command: [x]}
  - {id: tidy, needs: [other], trigger_rule: always, command: [x]}
`, dagrun.Config{})
	p.workers(worker("w", 9))
	p.ended("setup", run.Ending{})
	p.ended("work", run.Ending{Failure: contract.FailurePermanent, Message: "no"})
	for _, id := range []string{"clean", "report", "other", "tidy"} {
		p.ended(id, run.Ending{})
	}
	require.Equal(t, dag.OutcomeFailed, p.end.Outcome)
	_, plan, err := prepare(t, p, dag.ResumeRequest{Run: "r1"})
	require.NoError(t, err)
	assert.Equal(t, []string{"work", "clean"}, plan.Executed)
	assert.ElementsMatch(t, []dagrun.Taken{{Task: "setup", From: "r1"}, {Task: "report", From: "r1"}, {Task: "other", From: "r1"}, {Task: "tidy", From: "r1"}}, plan.Imported)
}

// TestCheckpointsAreBounded: the state of a run can travel, however many tasks have
// one.
func TestCheckpointsAreBounded(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: large\nconcurrency: 500\ntasks:\n  - {id: a, for_each: ["+strings.Repeat("1, ", 500)+"], command: [x], retries: {limit: 1, backoff: 1h}}\n", dagrun.Config{})
	p.workers(worker("w", 500))
	checkpoint := json.RawMessage(`"` + strings.Repeat("c", 16<<10-2) + `"`)
	for _, id := range p.ids() {
		p.ended(id, run.Ending{Failure: contract.FailureFailed, Message: "m", Checkpoint: checkpoint})
	}
	state, err := p.g.Snapshot()
	require.NoError(t, err)
	assert.Less(t, len(state), 2<<20)
	dropped := 0
	for _, n := range p.g.Notes() {
		if n.Code == contract.CodeCheckpoint {
			dropped++
		}
	}
	kept := 500 - dropped
	assert.InDelta(t, 28, kept, 4, "from 384 to 512 KiB of 16 KiB each")
	p.roll(dagrun.Config{})
	p.now = p.now.Add(3 * 3600e9)
	p.pass(0)
	for _, d := range p.running {
		if len(d.Checkpoint) > 0 {
			kept--
		}
	}
	assert.Zero(t, kept)
}
