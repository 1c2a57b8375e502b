package dagrun_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/jobtype"
)

// TestRandomGraphs: with random workers and tasks, a run ends in the states that the endings imply. A continue-as-new in
// between changes nothing.
func TestRandomGraphs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "tasks")
		text := "version: 1\nname: random\nconcurrency: 3\ntasks:\n"
		for i := range n {
			needs := "["
			for k := range i {
				if rapid.IntRange(0, 3).Draw(t, "need") == 0 {
					needs += fmt.Sprintf("t%d, ", k)
				}
			}
			does := rapid.SampledFrom([]string{
				"approval: {timeout: 10s}", "command: [x], labels: {disk: ssd}, timeout: 1m", "command: [x], resources: {db: 1}", "noop: true, resources: {db: 2}", "job_type: j, resources: {db: 1, tape: 1}", "command: [x]", "noop: true", "sleep: 5s", "job_type: j", "command: [x], node: w0", "command: [x], retries: {limit: 2, backoff: 3s}",
			}).Draw(t, "does")
			text += fmt.Sprintf("  - {id: t%d, needs: %s], %s}\n", i, needs, does)
		}
		cfg := dagrun.Config{RollEvents: rapid.IntRange(0, 1).Draw(t, "roll"), JobTypes: map[string]dagrun.JobType{"j": {Handler: "h", Policy: jobtype.Policy{RetryLimit: 1}}}}
		p := start(t, text, cfg)
		fleet := []contract.WorkerView{worker("w0", 1), worker("w1", 2)}
		p.workers(fleet...)
		for step := 0; p.end == nil; step++ {
			require.Less(t, step, 3000, "the run continues for ever:\n%s", text)
			p.g.Observe(p.now, step, 0, 0)
			p.act(fleet)
			p.checkWaits()
			if p.end == nil && p.g.ShouldContinueAsNew() {
				require.Empty(t, p.running)
				p.roll(cfg)
			}
		}
		p.checkEnd(n)
	})
}

// act does one random thing; often the one that lets the run continue.
func (p *play) act(fleet []contract.WorkerView) {
	t, ok := p.t.(*rapid.T)
	require.True(p.t, ok)
	var ids []string
	for i := range dag.Index(p.g.Run().Len()) {
		if id := p.g.Run().ID(i); p.running[id].Attempt > 0 {
			ids = append(ids, id)
		}
	}
	switch k := rapid.IntRange(0, 10).Draw(t, "act"); {
	case k == 10 && !p.g.Run().Paused():
		p.do(p.g.Pause(p.now, "ann", "n"))
	case k < 6 && len(ids) > 0:
		id := rapid.SampledFrom(ids).Draw(t, "ends")
		end := run.Ending{Message: "m"}
		if p.running[id].Kind == run.Start {
			end.Failure = rapid.SampledFrom([]contract.FailureKind{
				"", "", "", "", contract.FailureFailed, contract.FailureTimeout, contract.FailurePermanent, contract.FailureAtCapacity,
				contract.FailureDraining, contract.FailureNotTaken, contract.FailureCannotStart, contract.FailureNotInstalled, contract.FailureWorkerLost, contract.FailureStale, contract.FailureDeferred, contract.FailureGuard,
			}).Draw(t, "how")
		}
		p.ended(id, end)
	case k < 8 && len(p.asks) > 0:
		p.grant(rapid.IntRange(0, len(p.asks)-1).Draw(t, "grant"))
	case k == 6:
		i := rapid.IntRange(0, len(fleet)-1).Draw(t, "worker")
		fleet[i].Fresh = !fleet[i].Fresh
		if fleet[i].Fresh {
			fleet[i].Beat++
		}
		p.workers(fleet...)
	default:
		for _, d := range p.probed {
			p.do(p.g.Next(p.now, run.WorkerProbed{ID: d.Worker, Instance: d.Instance, Alive: true}))
		}
		p.probed = nil
		for i := range fleet {
			fleet[i].Fresh = true
		}
		p.workers(fleet...)
		p.do(p.g.Resume(p.now))
		p.pass(time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second)
	}
}

func (p *play) checkEnd(n int) {
	require.Empty(p.t, p.running)
	require.Empty(p.t, p.asks)
	require.Empty(p.t, p.held, "what was granted is given back")
	bad := 0
	for i := range n {
		state := p.state(fmt.Sprintf("t%d", i))
		require.Contains(p.t, []string{"completed", "failed", "upstream_failed"}, state)
		blocked := false
		for _, need := range p.view(fmt.Sprintf("t%d", i)).Needs {
			blocked = blocked || p.state(need) != "completed"
		}
		require.Equal(p.t, blocked, state == "upstream_failed")
		if state != "completed" {
			bad++
		}
	}
	require.Equal(p.t, bad > 0, p.end.Outcome == dag.OutcomeFailed)
}
