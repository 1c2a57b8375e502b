package flow_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/flow"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func compile(t require.TestingT, text string) *dag.Graph {
	loaded, err := spec.Load("dag.yaml", []byte(text))
	require.NoError(t, err)
	compiled, err := spec.Compile(loaded, nil)
	require.NoError(t, err)
	return compiled.Graph
}

func worker(id string, slots int) flow.Worker {
	return flow.Worker{
		Worker: placement.Worker{ID: id, Instance: "i1", State: "ONLINE", Online: true, Fresh: true, Beat: 1},
		Offer:  flow.Offer{Slots: slots, Handlers: map[string]int{flow.CommandHandler: 0, "h": 1}},
	}
}

// play drives a flow by hand.
type play struct {
	t       require.TestingT
	now     time.Time
	f       *flow.Flow
	running map[string]flow.Decision // attempts in flight, by task
	tries   map[string]int           // the number of the newest attempt, by task
	fences  map[string][]int64       // of all attempts, by task; 0 for those without a worker
	asked   map[string]bool          // told to cancel
	// insisted are the sub-DAGs that were told to end at once.
	insisted []string
	watched  bool
	probed   []flow.Decision
	lookups  []string
	lost     []flow.Decision // attempts on workers that are given up
	asks     []flow.Decision // requests for resources without an answer
	held     map[int]string  // granted requests, by their number
	end      *flow.Decision
}

func start(t require.TestingT, text string, cfg flow.Config) *play {
	return begin(t, compile(t, text), cfg)
}

func begin(t require.TestingT, graph *dag.Graph, cfg flow.Config) *play {
	run, err := flow.NewRun(graph)
	require.NoError(t, err)
	p := &play{t: t, now: epoch, running: map[string]flow.Decision{}, tries: map[string]int{}, asked: map[string]bool{}}
	p.f, err = flow.New(run, cfg, epoch)
	require.NoError(t, err)
	p.do(p.f.Start(p.now))
	return p
}

func (p *play) do(decisions []flow.Decision) {
	for _, d := range decisions {
		id := ""
		if d.Task != dag.None {
			id = p.f.Run().ID(d.Task)
		}
		switch d.Kind {
		case flow.StartNoop, flow.StartJob, flow.StartDAG:
			require.NotContains(p.t, p.running, id, "a task has one attempt at a time")
			require.Equal(p.t, p.tries[id]+1, d.Attempt, "attempts of %s are counted, and none counts twice", id)
			p.running[id], p.tries[id] = d, d.Attempt
			p.noteFence(id, d)
		case flow.Cancel:
			require.Contains(p.t, p.running, id)
			p.asked[id] = true
		case flow.Insist:
			require.True(p.t, p.asked[id], "it was asked to end before")
			p.insisted = append(p.insisted, id)
		case flow.Forget:
			delete(p.running, id)
			delete(p.asked, id)
		case flow.Lose:
			require.Contains(p.t, p.running, id)
			p.lost = append(p.lost, d)
		case flow.Probe:
			p.probed = append(p.probed, d)
		case flow.Watch:
			p.watched = true
		case flow.LookUp:
			p.lookups = append(p.lookups, d.ID)
		case flow.AskResources:
			p.asks = append(p.asks, d)
		case flow.ReleaseResources:
			p.asks = slices.DeleteFunc(p.asks, func(a flow.Decision) bool { return a.Ask.Number == d.Ask.Number })
			delete(p.held, d.Ask.Number)
		case flow.End:
			require.Nil(p.t, p.end, "a run ends once")
			p.end = &d
		}
	}
}

func (p *play) noteFence(id string, d flow.Decision) {
	if p.fences == nil {
		p.fences = map[string][]int64{}
	}
	for len(p.fences[id]) < d.Attempt {
		p.fences[id] = append(p.fences[id], 0)
	}
	if d.Job != nil {
		p.fences[id][d.Attempt-1] = d.Job.Fence
	}
}

func (p *play) ended(id string, end flow.Ending) {
	d, ok := p.running[id]
	require.True(p.t, ok, "%s runs", id)
	delete(p.running, id)
	delete(p.asked, id)
	p.do(p.f.Ended(p.now, d.Task, d.Attempt, end))
}

func (p *play) pass(d time.Duration) {
	p.now = p.now.Add(d)
	p.do(p.f.Tick(p.now))
}

func (p *play) state(id string) string {
	i, ok := p.f.Run().Lookup(id)
	require.True(p.t, ok, id)
	return p.f.Run().State(i).String()
}

func (p *play) view(id string) flow.TaskView {
	i, ok := p.f.Run().Lookup(id)
	require.True(p.t, ok, id)
	return p.f.View(i)
}

// roll snapshots and restores.
func (p *play) roll(cfg flow.Config) {
	data, err := p.f.Snapshot()
	require.NoError(p.t, err)
	f, err := flow.Restore(p.f.Run().Graph(), data, cfg, p.now)
	require.NoError(p.t, err)
	again, err := f.Snapshot()
	require.NoError(p.t, err)
	require.Equal(p.t, string(data), string(again), "Snapshot(Restore(s)) is s")
	p.f = f
	p.do(f.Tick(p.now))
}

const one = "version: 1\nname: one\ntasks:\n  - "

func TestRetriesBackOffAndThenFail(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x], retries: {limit: 3, backoff: 2s, max_backoff: 5s}}\n", flow.Config{})
	require.True(t, p.watched)
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 1)}))
	for _, wait := range []time.Duration{2 * time.Second, 4 * time.Second, 5 * time.Second} {
		p.ended("a", flow.Ending{Failure: placement.FailureFailed, Message: "no"})
		assert.Equal(t, p.now.Add(wait), p.f.NextWake())
		assert.Equal(t, "the next attempt: no", p.view("a").Waiting)
		p.pass(wait - time.Millisecond)
		assert.Empty(t, p.running)
		p.pass(time.Millisecond)
		assert.Contains(t, p.running, "a")
	}
	p.ended("a", flow.Ending{Failure: placement.FailureFailed, Message: "never"})
	assert.Equal(t, dag.OutcomeFailed, p.end.Outcome)
	assert.Equal(t, 4, p.view("a").Attempts)
	assert.Equal(t, "never", p.view("a").Error)
}

func TestPermanentFailureIsNotRetried(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x], retries: {limit: 3}}\n", flow.Config{})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 1)}))
	p.ended("a", flow.Ending{Failure: placement.FailurePermanent, Message: "broken"})
	assert.Equal(t, "failed", p.state("a"))
}

func TestBouncedTaskGoesElsewhereAndCountsNothing(t *testing.T) {
	t.Parallel()
	for _, failure := range []placement.Failure{
		placement.FailureAtCapacity, placement.FailureDraining, placement.FailureUnsupported, placement.FailureNotTaken,
	} {
		p := start(t, one+"{id: a, command: [x]}\n", flow.Config{})
		p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("a1", 1), worker("a2", 1)}))
		first := p.running["a"].Job.Worker
		p.ended("a", flow.Ending{Failure: failure, Message: "not me"})
		assert.NotEqual(t, first, p.running["a"].Job.Worker, failure)
		p.ended("a", flow.Ending{})
		assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
		assert.Equal(t, 2, p.view("a").Attempts)
	}
}

func TestLostTaskIsRecalledThenReplacedThenGivenUp(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x]}\n", flow.Config{})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 1)}))
	for n := 1; n <= 4; n++ {
		p.ended("a", flow.Ending{Failure: placement.FailureWorkerLost, Message: "silence"})
		require.Len(t, p.probed, n)
		p.pass(placement.RecallGrace)
		if n < 4 {
			assert.Empty(t, p.running, "a suspect worker gets nothing")
			p.do(p.f.Probed(p.now, "w", "i1", true, flow.Beat{}))
			require.Contains(t, p.running, "a")
		}
	}
	assert.Equal(t, "failed", p.state("a"))
	assert.Equal(t, "silence (lost 4 times, worker_loss_limit is 3)", p.view("a").Error)
}

func TestDeliveredOutcomeOfALostAttemptCounts(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x]}\n", flow.Config{})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 1)}))
	p.ended("a", flow.Ending{Failure: placement.FailureWorkerLost, Message: "silence"})
	p.do(p.f.Delivered(p.now, "a", p.fences["a"][0]+7, flow.Ending{}))
	assert.Equal(t, "running", p.state("a"), "another attempt's outcome does not count")
	p.delivered("a", 1, flow.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
}

func TestNodeBoundTask(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, node: n, timeout: 10m, command: [x]}\n", flow.Config{})
	gone := worker("n", 1)
	gone.Online, gone.State = false, "UNREACHABLE"
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4), gone}))
	assert.Empty(t, p.running)
	assert.Contains(t, p.view("a").Waiting, "worker n is not available")
	gone.Offline, gone.State = true, "OFFLINE"
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4), gone}))
	assert.Equal(t, "it is pinned to worker n, which is OFFLINE", p.view("a").Error)
}

func TestTaskWithoutWorkerGivesUpAfterItsTimeout(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, labels: {disk: ssd}, timeout: 10m, command: [x]}\n", flow.Config{})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4)}))
	p.pass(10*time.Minute - time.Second)
	assert.Equal(t, "running", p.state("a"))
	p.pass(time.Second)
	assert.Equal(t, "no worker with handler command and labels disk=ssd is available for 10m0s", p.view("a").Error)
}

// TestTaskThatJoinsOthersWithoutWorkerGivesUpToo: that nobody can serve its class
// was noted before it began to wait.
func TestTaskThatJoinsOthersWithoutWorkerGivesUpToo(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: two\ntasks:\n  - {id: a, labels: {disk: ssd}, timeout: 10m, command: [x]}\n  - {id: b, command: [x]}\n  - {id: c, needs: [b], labels: {disk: ssd}, timeout: 5m, command: [x]}\n", flow.Config{})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4)}))
	p.ended("b", flow.Ending{})
	p.pass(5 * time.Minute)
	assert.Contains(t, p.view("c").Error, "for 5m0s")
	assert.Equal(t, "running", p.state("a"))
}

func TestJobTypesAreLookedUpOnce(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: two\ntasks:\n  - {id: a, job_type: j}\n  - {id: b, job_type: j}\n  - {id: c, job_type: k}\n", flow.Config{})
	assert.Equal(t, []string{"j", "k"}, p.lookups)
	p.do(p.f.SetJobType(p.now, "k", flow.JobType{}, "job type k is not applied"))
	assert.Equal(t, "job type k is not applied", p.view("c").Error)
	p.do(p.f.SetJobType(p.now, "j", flow.JobType{Handler: "h", Policy: jobtype.Policy{RetryLimit: 1}}, ""))
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4)}))
	assert.Len(t, p.running, 1, "the handler's own cap is one")
	p.ended("a", flow.Ending{Failure: placement.FailureFailed, Message: "once"})
	p.pass(5 * time.Second)
	p.ended("b", flow.Ending{})
	assert.Contains(t, p.running, "a", "the job type's retries hold")
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: two\ntasks:\n  - {id: a, approval: {prompt: \"ok?\", timeout: 1h}}\n  - {id: b, approval: {}}\n  - {id: c, noop: true}\n", flow.Config{})
	require.ErrorContains(t, p.f.Check(flow.Request{Kind: flow.Approve, Tasks: []string{"c"}}), `task "c" does not wait for an approval: it is running`)
	require.ErrorContains(t, p.f.Check(flow.Request{Kind: flow.Reject, Tasks: []string{"z"}}), `there is no task "z" in this run`)
	decisions, _, err := p.f.Operate(p.now, flow.Request{Kind: flow.Reject, Tasks: []string{"b"}, By: "ada", Note: "no"})
	require.NoError(t, err)
	p.do(decisions)
	assert.Equal(t, "rejected by ada: no", p.view("b").Error)
	p.pass(time.Hour)
	assert.Equal(t, "nobody approved it within 1h", p.view("a").Error)
}

func TestResultsAreKeptWhileWanted(t *testing.T) {
	t.Parallel()
	text := `
version: 1
name: results
tasks:
  - {id: give, command: [x]}
  - {id: use, needs: [give], command: [y, "{{.Needs.give.Result.v}}"]}
  - {id: also, needs: [give], command: [z, "{{.Needs.give.Result.v}}"]}
`
	p := start(t, text, flow.Config{})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4)}))
	p.ended("give", flow.Ending{Result: json.RawMessage(`{"v": "{{hi}}"}`)})
	assert.Equal(t, []string{"y", "{{hi}}"}, p.running["use"].Job.Command)
	assert.NotEmpty(t, p.view("give").Result)
	p.ended("use", flow.Ending{})
	p.ended("also", flow.Ending{Failure: placement.FailurePermanent, Message: "x"})
	assert.Equal(t, dag.OutcomeFailed, p.end.Outcome)
	assert.NotEmpty(t, p.view("give").Result, "a failed task may be retried")

	state, plan, err := prepare(t, p, dag.ResumeRequest{Run: "r1"})
	require.NoError(t, err)
	assert.Equal(t, []string{"also"}, plan.Executed)
	second, err := flow.Restore(p.f.Run().Graph(), state, flow.Config{}, p.now)
	require.NoError(t, err)
	q := &play{t: t, now: p.now, f: second, running: map[string]flow.Decision{}, tries: map[string]int{}, asked: map[string]bool{}}
	q.do(second.Start(q.now))
	q.do(second.SetWorkers(q.now, []flow.Worker{worker("w", 4)}))
	assert.Equal(t, []string{"z", "{{hi}}"}, q.running["also"].Job.Command)
	q.ended("also", flow.Ending{})
	assert.Empty(t, q.view("give").Result)
	assert.Equal(t, "r1", q.view("give").From)

	_, plan, err = prepare(t, q, dag.ResumeRequest{Run: "r2", From: []string{"use"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"give", "use"}, plan.Executed, "what it refers to is gone and is made again")
}

func prepare(t *testing.T, p *play, req dag.ResumeRequest) ([]byte, flow.Plan, error) {
	t.Helper()
	final, err := p.f.Snapshot()
	require.NoError(t, err)
	prior, err := flow.Read(p.f.Run().Graph(), final)
	require.NoError(t, err)
	return flow.Prepare(prior, p.f.Run().Graph(), req)
}

func TestResultTooLarge(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: r\ntasks:\n  - {id: a, command: [x]}\n  - {id: b, needs: [a], command: [\"{{.Needs.a.Result.v}}\"]}\n", flow.Config{})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4)}))
	p.ended("a", flow.Ending{Result: fmt.Appendf(nil, `{"v": "%02048d"}`, 1)})
	assert.Contains(t, p.view("a").Error, "its result has 2057 bytes and 1 tasks refer to it, the limit is 2048")
	assert.Equal(t, "upstream_failed", p.state("b"))
}

func TestDeadlineHoldAndCancel(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: d\ndeadline: 1h\nhold_on_failure: 10m\ntasks:\n  - {id: a, command: [x]}\n  - {id: b, needs: [a], noop: true}\n", flow.Config{Deadline: 30 * time.Minute})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4)}))
	p.ended("a", flow.Ending{Failure: placement.FailureFailed, Message: "x"})
	require.True(t, p.f.Run().Held())
	decisions, changed, err := p.f.Operate(p.now, flow.Request{Kind: flow.Retry})
	require.NoError(t, err)
	p.do(decisions)
	assert.Equal(t, []string{"a", "b"}, changed)
	p.pass(30 * time.Minute)
	assert.True(t, p.asked["a"])
	p.ended("a", flow.Ending{Failure: placement.FailureCanceled})
	assert.Equal(t, dag.OutcomeFailed, p.end.Outcome)
	assert.Equal(t, "the deadline of 30m0s is over", p.end.Reason)
}

func TestCanceledAttemptThatDoesNotEndIsForgotten(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, heartbeat_timeout: 20s, command: [x]}\n", flow.Config{})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4)}))
	p.do(p.f.CancelRun(p.now, "enough"))
	require.True(t, p.asked["a"])
	p.pass(45 * time.Second)
	assert.Empty(t, p.running)
	assert.Equal(t, dag.OutcomeCanceled, p.end.Outcome)
	assert.Contains(t, p.view("a").Error, "did not stop and may still run")
}

func TestBadStates(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x]}\n", flow.Config{})
	data, err := p.f.Snapshot()
	require.NoError(t, err)
	for n := range data {
		_, err := flow.Restore(p.f.Run().Graph(), data[:n], flow.Config{}, epoch)
		require.Error(t, err, "cut at %d", n)
	}
}

// TestRandomFlows: whatever workers and tasks do, a run ends, in the states that
// the endings imply, and continuing as new in between changes nothing.
func TestRandomFlows(t *testing.T) {
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
		cfg := flow.Config{RollEvents: rapid.IntRange(0, 1).Draw(t, "roll"), JobTypes: map[string]flow.JobType{"j": {Handler: "h", Policy: jobtype.Policy{RetryLimit: 1}}}}
		p := start(t, text, cfg)
		fleet := []flow.Worker{worker("w0", 1), worker("w1", 2)}
		p.do(p.f.SetWorkers(p.now, fleet))
		for step := 0; p.end == nil; step++ {
			require.Less(t, step, 3000, "the run goes on for ever:\n%s", text)
			p.f.Observe(step, 0, 0)
			p.act(fleet)
			p.checkWaits()
			if p.end == nil && p.f.ShouldContinueAsNew() {
				require.Empty(t, p.running)
				p.roll(cfg)
			}
		}
		p.checkEnd(n)
	})
}

// act does one random thing; often the one that lets the run go on.
func (p *play) act(fleet []flow.Worker) {
	t, ok := p.t.(*rapid.T)
	require.True(p.t, ok)
	var ids []string
	for i := range dag.Index(p.f.Run().Len()) {
		if id := p.f.Run().ID(i); p.running[id].Attempt > 0 {
			ids = append(ids, id)
		}
	}
	switch k := rapid.IntRange(0, 10).Draw(t, "act"); {
	case k == 10 && !p.f.Run().Paused():
		p.do(p.f.Pause(p.now, "ann", "n"))
	case k < 6 && len(ids) > 0:
		id := rapid.SampledFrom(ids).Draw(t, "ends")
		end := flow.Ending{Message: "m"}
		if p.running[id].Kind == flow.StartJob {
			end.Failure = rapid.SampledFrom([]placement.Failure{
				"", "", "", "", placement.FailureFailed, placement.FailureTimeout, placement.FailurePermanent, placement.FailureAtCapacity,
				placement.FailureDraining, placement.FailureNotTaken, placement.FailureWorkerLost, placement.FailureStale,
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
		p.do(p.f.SetWorkers(p.now, fleet))
	default:
		for _, d := range p.probed {
			p.do(p.f.Probed(p.now, d.ID, d.Instance, true, flow.Beat{}))
		}
		p.probed = nil
		for i := range fleet {
			fleet[i].Fresh = true
		}
		p.do(p.f.SetWorkers(p.now, fleet))
		p.do(p.f.Resume(p.now))
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
		require.Contains(p.t, []string{"succeeded", "failed", "upstream_failed"}, state)
		blocked := false
		for _, need := range p.view(fmt.Sprintf("t%d", i)).Needs {
			blocked = blocked || p.state(need) != "succeeded"
		}
		require.Equal(p.t, blocked, state == "upstream_failed")
		if state != "succeeded" {
			bad++
		}
	}
	require.Equal(p.t, bad > 0, p.end.Outcome == dag.OutcomeFailed)
}
