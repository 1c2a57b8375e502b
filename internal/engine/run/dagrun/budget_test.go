package dagrun_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

const budgeted = `version: 1
name: nightly
tasks:
  - {id: load, command: [load], retries: {limit: 5, backoff: 1m}, retry_budget: {count: 3}}
  - {id: report, needs: load, command: [report]}
  - {id: tidy, needs: load, trigger_rule: one_failed, command: [tidy]}
  - {id: other, command: [other]}
`

func holdOf(task string) contract.AdmissionHold {
	return contract.AdmissionHold{JobType: contract.TasksOf("nightly"), DedupeKey: task, Code: contract.HoldRetryBudget, Until: epoch.Add(time.Hour)}
}

// TestADisabledTaskFailsWithoutAnAttempt: admission refuses its request. The failure is propagated as any
// other one is.
func TestADisabledTaskFailsWithoutAnAttempt(t *testing.T) {
	t.Parallel()
	p := start(t, budgeted, dagrun.Config{})
	p.workers(worker("w", 4))
	require.Equal(t, []string{"load"}, p.asking(), "the others have no budget")
	require.NotNil(t, p.asks[0].Needs.Budget)
	assert.Equal(t, contract.TasksOf("nightly"), p.asks[0].Needs.Budget.JobType)
	assert.Equal(t, "load", p.asks[0].Needs.Budget.DedupeKey)
	assert.Equal(t, 3, p.asks[0].Needs.Budget.Rule.Count)
	assert.NotContains(t, p.running, "load", "it waits for the answer")
	ask := p.asks[0].Ask
	p.asks = nil
	p.do(p.refusedOf("load", ask, "RETRY_BUDGET: it is disabled"))
	assert.Equal(t, "failed", p.state("load"))
	assert.Equal(t, "RETRY_BUDGET: it is disabled", p.view("load").Error)
	assert.Zero(t, p.view("load").Attempts)
	assert.Equal(t, "upstream_failed", p.state("report"))
	assert.Contains(t, p.running, "tidy", "what reacts to a failure runs")
	assert.Empty(t, p.g.Endings(), "it is no failure that counts")
	p.ended("tidy", run.Ending{})
	p.ended("other", run.Ending{})
	require.Equal(t, dag.OutcomeFailed, p.end.Outcome)
}

// TestATaskThatIsDisabledIsNotTriedAgain: a running attempt continues, a waiting retry ends.
func TestATaskThatIsDisabledIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	p := start(t, budgeted, dagrun.Config{})
	p.workers(worker("w", 4))
	p.grant(0)
	other := holdOf("load")
	other.JobType = contract.TasksOf("weekly")
	p.do(p.g.StopTask(p.now, other))
	p.do(p.g.StopTask(p.now, holdOf("nobody")))
	p.ended("load", run.Ending{Failure: contract.FailureFailed, Message: "disk on fire"})
	assert.Equal(t, "running", p.state("load"), "it waits for its retry")
	p.do(p.g.StopTask(p.now, holdOf("load")))
	assert.Equal(t, "failed", p.state("load"))
	assert.Contains(t, p.view("load").Error, "RETRY_BUDGET: task load of DAG nightly is disabled until")
	assert.Equal(t, "upstream_failed", p.state("report"))

	p = start(t, budgeted, dagrun.Config{})
	p.workers(worker("w", 4))
	p.workers()
	p.grant(0)
	require.NotContains(t, p.running, "load", "it has its grant, and its worker is gone")
	p.do(p.g.StopTask(p.now, holdOf("load")))
	p.workers(worker("w", 4))
	assert.NotContains(t, p.running, "load")
	assert.Equal(t, "failed", p.state("load"))
	assert.Contains(t, p.view("load").Error, "RETRY_BUDGET: task load of DAG nightly is disabled until")

	p = start(t, budgeted, dagrun.Config{})
	p.workers(worker("w", 4))
	p.grant(0)
	p.do(p.g.StopTask(p.now, holdOf("load")))
	require.Contains(t, p.running, "load")
	p.ended("load", run.Ending{Failure: contract.FailureFailed, Message: "disk on fire"})
	assert.Equal(t, "failed", p.state("load"))
	assert.Contains(t, p.view("load").Error, "disk on fire; not tried again: RETRY_BUDGET")
}

// TestItemsHaveBudgetsOfTheirOwn: each task of a fan-out is its own key.
func TestItemsHaveBudgetsOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: nightly\ntasks:\n  - {id: load, for_each: [n1, n2], command: [load], retry_budget: {count: 1}}\n", dagrun.Config{})
	p.workers(worker("w", 4))
	require.Len(t, p.asks, 2)
	assert.NotEqual(t, p.asks[0].Needs.Budget.DedupeKey, p.asks[1].Needs.Budget.DedupeKey)
	for _, ask := range p.asks {
		assert.Equal(t, p.id(ask), ask.Needs.Budget.DedupeKey)
	}
}

// TestEveryEndingIsReportedOnce reports successes and failures of the handler, also across continue-as-new. A lost
// worker, a cancellation and a refusal are no failures.
func TestEveryEndingIsReportedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := "version: 1\nname: nightly\nconcurrency: 2\ntasks:\n"
		for i := range 4 {
			text += fmt.Sprintf("  - {id: t%d, command: [x], retries: {limit: 2, backoff: 1s}, retry_budget: {count: 3}}\n", i)
		}
		p := start(t, text, dagrun.Config{})
		p.workers(worker("w", 4))
		var want, got []string
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			what := rapid.SampledFrom([]string{"fail", "permanent", "stale", "done", "lost", "cancel", "grant", "grant", "refuse", "pass", "roll"}).Draw(t, "what")
			ids := p.ids()
			if at := rapid.IntRange(0, 3).Draw(t, "which"); len(ids) > 0 && at < len(ids) {
				id := ids[at]
				attempt, canceling := p.running[id].Attempt, p.asked[id]
				ending := map[string]run.Ending{
					"fail":      {Failure: contract.FailureFailed, Message: "no"},
					"permanent": {Failure: contract.FailurePermanent, Message: "no"},
					"stale":     {Failure: contract.FailureStale, Message: "no"},
					"done":      {},
					"lost":      {Failure: contract.FailureWorkerLost, Gone: true, Message: "gone"},
				}
				switch end, ends := ending[what]; {
				case ends && what == "done":
					p.ended(id, end)
					want = append(want, fmt.Sprintf("%s.%d false", id, attempt))
				case ends:
					p.ended(id, end)
					if what != "lost" && !canceling {
						want = append(want, fmt.Sprintf("%s.%d true", id, attempt))
					}
				case what == "cancel" && !canceling:
					p.cancel(id)
				}
			}
			switch {
			case what == "grant" && len(p.asks) > 0:
				p.grant(0)
			case what == "refuse" && len(p.asks) > 0:
				d := p.asks[0]
				p.asks = p.asks[1:]
				p.do(p.refusedOf(p.id(d), d.Ask, "RETRY_BUDGET: disabled"))
			case what == "pass":
				p.pass(time.Second)
			case what == "roll" && len(p.running) == 0:
				p.roll(dagrun.Config{})
				p.workers(worker("w", 4))
			}
			for _, e := range p.g.Endings() {
				require.Equal(t, contract.TasksOf("nightly"), e.JobType)
				require.Equal(t, p.now, e.At)
				got = append(got, fmt.Sprintf("%s %v", e.Attempt, e.Failed))
			}
		}
		require.Equal(t, want, got)
	})
}

func TestFaultsOfBudgets(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]string{
		"retry_budget: {}, command: [x]":                                        "retry_budget has neither count nor hard_timeout",
		"retry_budget: {count: 26}, command: [x]":                               "retry_budget.count must be between 1 and 25",
		"retry_budget: {count: 1, window: 31d}, command: [x]":                   "retry_budget.window 744h is out of range: use 1s to 720h",
		"retry_budget: {count: 1}, noop: true":                                  "retry_budget is for tasks whose work can fail",
		"retry_budget: {count: 1}, sleep: 1s":                                   "retry_budget",
		"retry_budget: {per_key: {count: 1}}, command: [x]":                     "per_key",
		"retry_budget: {count: 1, hard_timeout: 1h, disable: 1h}, command: [x]": "disable_for",
	} {
		loaded, err := spec.Load("dag.yaml", []byte(one+"{id: t, "+task+"}\n"))
		if err == nil {
			_, err = spec.Compile(loaded, nil)
		}
		assert.ErrorContains(t, err, want, task)
	}
}

// TestTheEndIsTheLastCommand: the workflow carries out nothing after it, and one step may have more commands than
// fit into a workflow task.
func TestTheEndIsTheLastCommand(t *testing.T) {
	t.Parallel()
	for _, failure := range []contract.FailureKind{contract.FailureNone, contract.FailureFailed} {
		p := start(t, "version: 1\nname: nightly\ntasks:\n  - {id: load, command: [load], retry_budget: {count: 3}}\n", dagrun.Config{})
		p.workers(worker("w", 4))
		p.grant(0)
		p.ended("load", run.Ending{Failure: failure})
		require.Len(t, p.g.Endings(), 1)
		assert.IsType(t, dagrun.End{}, p.g.last)
	}
}
