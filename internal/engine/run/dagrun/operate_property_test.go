package dagrun_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/jobtype"
)

// drawOperated writes a DAG of tasks that operators are going to disturb. None
// sleeps or waits for a person: those count attempts that are not started.
func drawOperated(t *rapid.T) (text string, tasks []string) {
	text = fmt.Sprintf("version: 1\nname: operated\nconcurrency: %d\n", rapid.IntRange(1, 3).Draw(t, "concurrency"))
	if rapid.Bool().Draw(t, "hold") {
		text += "hold_on_failure: 1m\n"
	}
	text += "tasks:\n"
	for i := range rapid.IntRange(1, 8).Draw(t, "tasks") {
		id := fmt.Sprintf("t%d", i)
		needs := "["
		for _, other := range tasks {
			if rapid.IntRange(0, 3).Draw(t, "need") == 0 {
				needs += other + ", "
			}
		}
		does := rapid.SampledFrom([]string{
			"noop: true", "noop: true, when: 'false'", "job_type: j", "command: [x]", "command: [x], node: w0",
			"command: [x], resources: {db: 1}", "noop: true, resources: {db: 2}", "command: [x], retries: {limit: 2, backoff: 3s}",
		}).Draw(t, "does")
		if needs != "[" {
			does += ", trigger_rule: " + rapid.SampledFrom([]string{"all_success", "all_done", "one_failed", "always"}).Draw(t, "rule")
		}
		text += fmt.Sprintf("  - {id: %s, needs: %s], %s}\n", id, needs, does)
		tasks = append(tasks, id)
	}
	return text, tasks
}

// meddle sends a random request. A refused one changes nothing.
func (p *play) meddle(t *rapid.T, tasks []string) {
	if rapid.IntRange(0, 3).Draw(t, "cancel one") == 0 {
		p.meddleCancel(rapid.SampledFrom(tasks).Draw(t, "canceled"))
		return
	}
	request := dagrun.Request{
		Kind: rapid.SampledFrom([]dagrun.RequestKind{
			dagrun.Retry, dagrun.Retry, dagrun.Skip, dagrun.Skip, dagrun.Rerun, dagrun.Rerun,
			dagrun.Add, dagrun.SetConcurrency, dagrun.Release,
		}).Draw(t, "request"),
		Limit: rapid.IntRange(1, 4).Draw(t, "limit"), By: "ann",
	}
	if request.Kind != dagrun.Retry || rapid.Bool().Draw(t, "one") {
		request.Tasks = []string{rapid.SampledFrom(tasks).Draw(t, "task")}
	}
	if request.Kind == dagrun.Add {
		request.Data = fmt.Appendf(nil, `[{"id": "x%d", "needs": [%q], "command": ["x"]}]`, rapid.IntRange(0, 20).Draw(t, "new"), request.Tasks[0])
	}
	before, err := p.g.Snapshot()
	require.NoError(t, err)
	decisions, _, err := p.g.Operate(p.now, request)
	if err != nil {
		require.Empty(t, decisions)
		after, err := p.g.Snapshot()
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "what is refused changes nothing")
	}
	p.do(decisions)
}

// meddleCancel requests the end of one task. A second request is refused.
func (p *play) meddleCancel(id string) {
	request, refused := p.cancelRequest(id)
	before, err := p.g.Snapshot()
	require.NoError(p.t, err)
	decisions := p.g.Next(p.now, request)
	if refused != nil {
		after, err := p.g.Snapshot()
		require.NoError(p.t, err)
		require.Equal(p.t, string(before), string(after), "what is refused changes nothing")
		require.NotEqual(p.t, contract.CodeUnknownItem, refused.Code)
	}
	p.do(decisions)
	if p.end == nil {
		_, again := p.cancelRequest(id)
		require.NotNil(p.t, again, "%s is canceled once", id)
	}
}

// TestRandomOperators: with random requests while tasks run, fail and lose their workers, the run ends with every task
// at rest. Every attempt has a number of its own and is counted.
func TestRandomOperators(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, tasks := drawOperated(t)
		cfg := dagrun.Config{RollEvents: rapid.IntRange(0, 1).Draw(t, "roll"), JobTypes: map[string]dagrun.JobType{"j": {Handler: "h", Policy: jobtype.Policy{RetryLimit: 1}}}}
		p := start(t, text, cfg)
		fleet := []contract.WorkerView{worker("w0", 1), worker("w1", 2)}
		p.workers(fleet...)
		meddling := rapid.IntRange(0, 40).Draw(t, "meddling")
		for step := 0; p.end == nil; step++ {
			require.Less(t, step, 3000, "the run continues for ever:\n%s", text)
			p.g.Observe(p.now, step, 0, 0)
			switch {
			case step < meddling && rapid.Bool().Draw(t, "meddle"):
				p.meddle(t, tasks)
			case step == meddling && rapid.IntRange(0, 4).Draw(t, "cancel") == 0:
				p.do(p.g.CancelRun(p.now, "enough"))
			default:
				p.act(fleet)
			}
			p.checkWaits()
			if p.end == nil && p.g.ShouldContinueAsNew() {
				p.roll(cfg)
			}
		}
		p.checkOperated()
	})
}

func (p *play) checkOperated() {
	require.Empty(p.t, p.running)
	require.Empty(p.t, p.asks)
	require.Empty(p.t, p.held, "what was granted is given back")
	run, bad := p.g.Run(), 0
	for i := range dag.Index(run.Len()) {
		state := run.State(i)
		require.True(p.t, state.Terminal(), "%s is %s", run.ID(i), state)
		if slices.Contains([]dag.State{dag.Failed, dag.UpstreamFailed, dag.Canceled}, state) {
			bad++
		}
		require.Equal(p.t, p.tries[run.ID(i)], p.g.View(i).Attempts, "attempts of %s", run.ID(i))
	}
	switch p.end.Outcome {
	case dag.OutcomeCompleted:
		require.Zero(p.t, bad)
	case dag.OutcomeFailed:
		require.NotZero(p.t, bad)
	case dag.OutcomeCanceled:
		require.Equal(p.t, "enough", p.end.Reason)
	default:
		require.Fail(p.t, "outcome", "%s", p.end.Outcome)
	}
	p.pass(24 * time.Hour) // Nothing comes of a run that is over.
	require.Empty(p.t, p.running)
}
