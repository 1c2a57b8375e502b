package dagrun_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/jobtype"
)

// turmoil is all that a run meets: operators, workers that fail, vanish and come
// back, outcomes that arrive late or twice, admission, people, and the clock.
type turmoil struct {
	*play
	rt    *rapid.T
	cfg   dagrun.Config
	fleet []contract.WorkerView
	// past are ended and forgotten attempts with their reports.
	past []pastAttempt
	// granted are requests that were answered.
	granted []decision
	kinds   map[string]string // the entry of each task
	lists   int               // how many of the lists that tasks return are possible
}

type pastAttempt struct {
	id      string
	task    int
	attempt int
	silent  bool // its worker was lost: its outcome may still be delivered
	end     run.Ending
}

var turmoilFiles = fstest.MapFS{"inner.yaml": {Data: []byte("version: 1\nname: inner\ntasks: [{id: x, noop: true}]\n")}}

const splitsInto = `{"v": 1, "tasks": [{"id": %q, "command": ["x"]}, {"id": %q, "needs": [%q], "noop": true}]}`

// drawTurmoil writes a DAG with tasks of every kind.
func drawTurmoil(t *rapid.T) (compiled *dag.Graph, text string, kinds map[string]string) {
	text = fmt.Sprintf("version: 1\nname: world\nconcurrency: %d\n", rapid.IntRange(1, 3).Draw(t, "concurrency"))
	text += rapid.SampledFrom([]string{"", "", "on_failure: stop\n"}).Draw(t, "on_failure")
	text += rapid.SampledFrom([]string{"", "hold_on_failure: 1m\n"}).Draw(t, "hold")
	text += rapid.SampledFrom([]string{"", "", "", "deadline: 3m\n"}).Draw(t, "deadline")
	text += "tasks:\n"
	kinds = map[string]string{}
	var tasks []string
	for i := range rapid.IntRange(1, 8).Draw(t, "tasks") {
		id := fmt.Sprintf("t%d", i)
		var needs []string
		for _, other := range tasks {
			if rapid.IntRange(0, 3).Draw(t, "need") == 0 {
				needs = append(needs, other)
			}
		}
		does := rapid.SampledFrom([]string{
			"noop: true", "noop: true, when: 'false'", "noop: true, node: w1", "job_type: j", "job_type: k", "job_type: shared", "command: [x]", "command: [split]", "command: [defer]", "command: [defer], retries: {limit: 1, backoff: 2s}", "command: [list]", "command: [list]", "command: [x], node: w0",
			"command: [x], resources: {db: 1}", "noop: true, resources: {db: 2}", "job_type: k, resources: {db: 1}", "command: [x], retries: {limit: 2, backoff: 3s}",
			"approval: {timeout: 40s}", "approval: {}", "sleep: 7s", "dag: inner.yaml", "dag: inner.yaml, resources: {db: 1}", "dag: inner.yaml, retries: {limit: 1, backoff: 2s}",
			"command: [x], resources: {db: 1}, retries: {limit: 1, backoff: 3s}",
		}).Draw(t, "does")
		if len(needs) > 0 {
			does += ", trigger_rule: " + rapid.SampledFrom([]string{"all_success", "all_success", "all_done", "one_failed", "always"}).Draw(t, "rule")
			single := slices.DeleteFunc(slices.Clone(needs), func(id string) bool { return strings.Contains(kinds[id], "for_each") })
			if strings.HasPrefix(does, "command: [x]") && len(single) > 0 && rapid.Bool().Draw(t, "refers") {
				needs := single
				of := rapid.SampledFrom(needs).Draw(t, "of")
				does = strings.Replace(does, "[x]", fmt.Sprintf("[x, '{{if eq .Needs.%s.State \"succeeded\"}}{{.Needs.%s.Result.v}}{{end}}']", of, of), 1)
			}
		}
		does += drawFanOut(t, needs, kinds)
		text += fmt.Sprintf("  - {id: %s, needs: [%s], %s}\n", id, strings.Join(needs, ", "), does)
		tasks = append(tasks, id)
		kinds[id] = does
	}
	loaded, err := spec.Load("world.yaml", []byte(text))
	require.NoError(t, err)
	done, err := spec.Compile(loaded, turmoilFiles)
	require.NoError(t, err)
	return done.Graph, text, kinds
}

// drawFanOut makes some tasks fan out, over items of their own or over those that a
// task before them returns, some of these in chains.
func drawFanOut(t *rapid.T, needs []string, kinds map[string]string) string {
	if rapid.IntRange(0, 3).Draw(t, "fansOut") > 0 {
		return ""
	}
	items := "for_each: [a, b, c]"
	for _, id := range needs {
		if strings.HasPrefix(kinds[id], "command: [list]") && !strings.Contains(kinds[id], "for_each") {
			items = fmt.Sprintf("for_each: '{{.Needs.%s.Result.hosts}}'", id)
		}
	}
	chain := ""
	for _, id := range slices.Sorted(maps.Keys(kinds)) {
		if strings.Contains(kinds[id], items) && !slices.Contains(needs, id) {
			chain = ", per_item: " + id
		}
	}
	return ", " + items + chain + rapid.SampledFrom([]string{"", ", concurrency: 1", ", concurrency: 2"}).Draw(t, "ofItems")
}

func newTurmoil(t *rapid.T) (*turmoil, string) {
	drawn, text, kinds := drawTurmoil(t)
	cfg := dagrun.Config{RollEvents: rapid.IntRange(0, 1).Draw(t, "roll"), JobTypes: map[string]dagrun.JobType{
		"j":      {Handler: "h", Policy: jobtype.Policy{RetryLimit: 1}},
		"shared": {Handler: "h", Policy: jobtype.Policy{Routing: jobtype.RoutingShared}},
	}}
	w := &turmoil{play: begin(t, drawn, cfg), rt: t, cfg: cfg, kinds: kinds, lists: 8}
	for n := range 2 {
		node := worker(fmt.Sprintf("w%d", n), n+1)
		node.Shared = []string{"shared"}
		w.fleet = append(w.fleet, node)
	}
	w.workers(w.fleet...)
	return w, text
}

// result is a result of a task: a value to refer to, or more tasks.
func (w *turmoil) result(id string) json.RawMessage {
	if strings.HasPrefix(w.kind(id), "command: [list]") {
		return json.RawMessage(rapid.SampledFrom([]string{
			`{"v": 1, "hosts": ["a"]}`, `{"v": 1, "hosts": ["a", "b", "c"]}`, `{"v": 1, "hosts": ["c", "d", {"x": 1}, "a/b"]}`, `{"v": 1, "hosts": ["a", "a-b"]}`,
			`{"v": 1, "hosts": []}`, `{"v": 1}`, `{"hosts": "a"}`, `{"hosts": ["a", "a"]}`,
		}[:w.lists]).Draw(w.rt, "hosts"))
	}
	if kind := w.kind(id); strings.HasPrefix(kind, "command: [defer]") && id == spec.Entry(id) && !strings.Contains(kind, "one_failed") && len(w.running[id].Checkpoint) == 0 {
		return fmt.Appendf(nil, `{"tasks": [{"id": %q, "command": ["x"]}, {"id": %q, "noop": true}], "continue": 1}`, id+"-c", id+"-d")
	}
	if strings.HasPrefix(w.kind(id), "command: [split]") && id == spec.Entry(id) {
		first, second := id+"-a", id+"-b"
		return fmt.Appendf(nil, splitsInto, first, second, first)
	}
	return json.RawMessage(`{"v": 1}`)
}

func (w *turmoil) kind(id string) string { return w.kinds[spec.Entry(id)] }

// open lists the running tasks in order.
func (w *turmoil) open() []string { return slices.Sorted(maps.Keys(w.running)) }

// step does one of many possible things. If calm, it does only things that lead to the end.
func (w *turmoil) step(calm bool) {
	t := w.rt
	open := w.open()
	kinds := []string{"end", "end", "end", "grant", "time", "time", "lookup"}
	if !calm {
		kinds = append(kinds, "end", "end", "late", "late", "cancel-ends", "worker", "refuse", "pause", "resume", "decide", "operate", "operate", "operate", "operate", "cancel-run")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); {
	case kind == "end" && len(open) > 0:
		w.endOne(rapid.SampledFrom(open).Draw(t, "ends"))
	case kind == "grant" && len(w.asks) > 0:
		k := rapid.IntRange(0, len(w.asks)-1).Draw(t, "grant")
		w.granted = append(w.granted, w.asks[k])
		w.grant(k)
	case kind == "lookup" && len(w.lookups) > 0:
		name := w.lookups[0]
		w.lookups = w.lookups[1:]
		found, problem := dagrun.JobType{Handler: "h"}, ""
		if rapid.IntRange(0, 4).Draw(t, "unknown") == 0 {
			problem = "it is not applied"
		} else {
			w.cfg.JobTypes[name] = found
		}
		w.do(w.g.SetJobType(w.now, name, found, problem))
	case kind == "late":
		w.late()
	case kind == "cancel-ends":
		w.cancelOne()
	case kind == "worker":
		w.shake()
	case kind == "refuse" && len(w.asks) > 0:
		d := w.asks[0]
		w.asks = w.asks[1:]
		w.do(w.refusedOf(w.id(d), d.Ask, "no such pool"))
	case kind == "pause":
		w.do(w.g.Pause(w.now, "ann", "n"))
	case kind == "resume":
		w.do(w.g.Resume(w.now))
	case kind == "decide":
		w.decide()
	case kind == "operate":
		w.meddle(t, w.ids0())
	case kind == "cancel-run" && rapid.IntRange(0, 9).Draw(t, "really") == 0:
		w.do(w.g.CancelRun(w.now, "enough"))
	default:
		w.recover()
	}
}

// ids0 are the tasks of the run, added ones too.
func (w *turmoil) ids0() []string {
	ids := make([]string, w.g.Run().Len())
	for i := range ids {
		ids[i] = w.g.Run().ID(dag.Index(i))
	}
	return ids
}

func (w *turmoil) endOne(id string) {
	d, t := w.running[id], w.rt
	end := run.Ending{Message: "m"}
	switch d.Kind {
	case startNoop:
	case startDAG:
		end.Failure = rapid.SampledFrom([]contract.FailureKind{"", "", contract.FailureFailed, contract.FailureCanceled, contract.FailureNotTaken}).Draw(t, "how")
	default:
		end.Failure = rapid.SampledFrom([]contract.FailureKind{
			"", "", "", "", "", "", contract.FailureFailed, contract.FailureTimeout, contract.FailurePermanent, contract.FailureAtCapacity,
			contract.FailureDraining, contract.FailureNotTaken, contract.FailureCannotStart, contract.FailureNotInstalled, contract.FailureWorkerLost, contract.FailureStale, contract.FailureCanceled, contract.FailureDeferred, contract.FailureGuard,
		}).Draw(t, "how")
		if end.Failure == "" {
			end.Result = w.result(id)
		}
	}
	lost := end.Failure == contract.FailureWorkerLost || end.Failure == contract.FailureTimeout
	w.past = append(w.past, pastAttempt{id: id, task: d.Item, attempt: d.Attempt, silent: lost, end: end})
	w.ended(id, end)
}

// cancelOne ends a canceled attempt.
func (w *turmoil) cancelOne() {
	asked := slices.Sorted(maps.Keys(w.asked))
	if len(asked) == 0 {
		return
	}
	id := rapid.SampledFrom(asked).Draw(w.rt, "canceled")
	end := run.Ending{Failure: contract.FailureCanceled, Message: "canceled"}
	w.past = append(w.past, pastAttempt{id: id, task: w.running[id].Item, attempt: w.running[id].Attempt, end: end})
	w.ended(id, end)
}

// late repeats a report, or delivers the outcome of an attempt whose worker was lost. Only the latter may change
// anything.
func (w *turmoil) late() {
	if len(w.granted) > 0 && rapid.IntRange(0, 3).Draw(w.rt, "granted") == 0 {
		d := rapid.SampledFrom(w.granted).Draw(w.rt, "again")
		w.unchanged(func() []decision { return w.grantedOf(w.id(d), d.Ask) })
		w.unchanged(func() []decision { return w.refusedOf(w.id(d), d.Ask, "late") })
		return
	}
	if len(w.past) == 0 {
		return
	}
	a := rapid.SampledFrom(w.past).Draw(w.rt, "late")
	end := run.Ending{Message: "late", Failure: rapid.SampledFrom([]contract.FailureKind{"", contract.FailureFailed, contract.FailureCanceled, contract.FailurePermanent}).Draw(w.rt, "how")}
	if end.Failure == "" {
		end.Result = w.result(a.id)
	}
	w.unchanged(func() []decision { return w.endedOf(a.task, a.attempt, end) })
	fence := w.fences[a.id][a.attempt-1]
	switch {
	case fence == 0, a.end.Failure == contract.FailureNotTaken: // Only the server reports these.
	case a.silent:
		w.do(w.deliveredOf(a.id, fence, end))
	default:
		w.unchanged(func() []decision { return w.deliveredOf(a.id, fence, a.end) })
	}
}

// unchanged calls act and checks that it changes nothing.
func (w *turmoil) unchanged(act func() []decision) {
	w.do(w.g.Next(w.now, run.Tick{})) // Any step may have pending work.
	before, err := w.g.Snapshot()
	require.NoError(w.rt, err)
	require.Empty(w.rt, act())
	after, err := w.g.Snapshot()
	require.NoError(w.rt, err)
	require.Equal(w.rt, string(before), string(after))
}

// shake changes the view of a worker.
func (w *turmoil) shake() {
	node := &w.fleet[rapid.IntRange(0, len(w.fleet)-1).Draw(w.rt, "worker")]
	switch rapid.IntRange(0, 2).Draw(w.rt, "shake") {
	case 0:
		node.Fresh = !node.Fresh
	case 1:
		away := node.State == contract.WorkerOnline
		node.Fresh, node.State = !away, contract.WorkerOnline
		if away {
			node.State = contract.WorkerOffline
		}
	case 2:
		node.Instance += "+" // Another process has taken it over.
	}
	node.Beat++
	w.workers(w.fleet...)
	for _, d := range w.lost {
		if id := w.id(d); w.running[id].Attempt == d.Attempt {
			w.past = append(w.past, pastAttempt{id: id, task: d.Item, attempt: d.Attempt, silent: true})
			w.ended(id, run.Ending{Failure: contract.FailureWorkerLost, Message: d.Reason})
		}
	}
	w.lost = nil
}

// decide answers an approval, or a task without one.
func (w *turmoil) decide() {
	req := dagrun.Request{Kind: rapid.SampledFrom([]dagrun.RequestKind{dagrun.Approve, dagrun.Approve, dagrun.Reject}).Draw(w.rt, "decide"), By: "bob"}
	req.Tasks = []string{rapid.SampledFrom(w.ids0()).Draw(w.rt, "of")}
	if waiting := w.g.Approvals(10); len(waiting) > 0 {
		req.Tasks = []string{waiting[0].ID}
	}
	decisions, _, err := w.g.Operate(w.now, req)
	if err != nil {
		require.Empty(w.rt, decisions)
	}
	w.do(decisions)
}

// recover brings the workers back and lets time pass.
func (w *turmoil) recover() {
	for i := range w.fleet {
		n := &w.fleet[i]
		n.Fresh, n.State = true, contract.WorkerOnline
		n.Beat++
	}
	for _, d := range w.probed {
		w.do(w.g.Next(w.now, run.WorkerProbed{ID: d.Worker, Instance: d.Instance, Alive: true}))
	}
	w.probed = nil
	w.workers(w.fleet...)
	w.pass(time.Duration(rapid.IntRange(1, 20).Draw(w.rt, "seconds")) * time.Second)
}

// check checks the invariants after a step.
func (w *turmoil) check() {
	w.checkWaits()
	on := map[string]int{}
	for id, d := range w.running {
		require.Equal(w.rt, "running", w.state(id))
		if d.Job != nil && d.Worker != "" {
			on[d.Worker+"/"+d.Instance]++
		}
	}
	for _, node := range w.fleet {
		require.LessOrEqual(w.rt, on[node.ID+"/"+node.Instance], node.MaxExecute, "on %s", node.ID)
	}
	for _, f := range w.g.Run().FanOuts() {
		runs := 0
		for id := range w.running {
			if spec.Entry(id) == f.Name {
				runs++
			}
		}
		require.LessOrEqual(w.rt, runs, f.Limit, "of %s", f.Name)
	}
	for n, id := range w.held {
		require.Equal(w.rt, "running", w.state(id), "request %d is held by what does not need it", n)
	}
	state, err := w.g.Snapshot()
	require.NoError(w.rt, err)
	read, err := dagrun.Read(w.g.Run().Graph(), state)
	require.NoError(w.rt, err)
	require.Equal(w.rt, w.g.Counts(), read.Counts())
}

// TestTurmoil: with random operators, people, workers and admission, and any delay of messages, a run ends. It releases
// everything and counts nothing twice. A failed run can be resumed and then succeeds.
func TestTurmoil(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, text := newTurmoil(t)
		wild := rapid.IntRange(0, 60).Draw(t, "wild")
		w.toEnd(wild, text)
		w.checkEnded()
		w.resume(text)
	})
}

// toEnd plays random steps, and then only steps that lead to the end.
func (w *turmoil) toEnd(wild int, text string) {
	for step := 0; w.end == nil; step++ {
		require.Less(w.rt, step, 4000, "the run continues for ever:\n%s", text)
		w.g.Observe(w.now, step, 0, 0)
		if step == wild {
			w.do(w.g.Resume(w.now))
		}
		if step >= wild && w.g.Run().Held() {
			w.pass(time.Minute)
		}
		for _, a := range w.g.Approvals(10) {
			if step >= wild {
				decisions, _, err := w.g.Operate(w.now, dagrun.Request{Kind: dagrun.Approve, Tasks: []string{a.ID}})
				require.NoError(w.rt, err)
				w.do(decisions)
			}
		}
		w.step(step >= wild)
		if w.end == nil {
			w.check()
		}
		if w.end == nil && w.g.ShouldContinueAsNew() {
			require.Empty(w.rt, w.running)
			w.roll(w.cfg)
		}
	}
}

func (w *turmoil) checkEnded() {
	require.Empty(w.rt, w.running)
	require.Empty(w.rt, w.asks)
	require.Empty(w.rt, w.held)
	run, bad := w.g.Run(), 0
	for i := range dag.Index(run.Len()) {
		state, id := run.State(i), run.ID(i)
		require.True(w.rt, state.Terminal(), "%s is %s", id, state)
		if slices.Contains([]dag.State{dag.Failed, dag.UpstreamFailed, dag.Canceled}, state) {
			bad++
		}
		if kind := w.kind(id); !strings.HasPrefix(kind, "sleep") && !strings.HasPrefix(kind, "approval") {
			require.Equal(w.rt, w.tries[id], w.view(id).Attempts, "attempts of %s", id)
		}
		if state == dag.Failed {
			require.NotEmpty(w.rt, w.view(id).Error, id)
		}
		if state == dag.Completed {
			require.Empty(w.rt, w.view(id).Error, id)
		}
	}
	switch w.end.Outcome {
	case dag.OutcomeCompleted:
		require.Zero(w.rt, bad)
	case dag.OutcomeFailed:
		require.True(w.rt, bad > 0 || strings.Contains(w.end.Reason, "deadline"))
	case dag.OutcomeCanceled:
		require.Equal(w.rt, "enough", w.end.Reason)
	default:
		require.Fail(w.rt, "outcome", "%s", w.end.Outcome)
	}
	w.pass(24 * time.Hour)
	require.Empty(w.rt, w.running)
}

// resume continues with the run and lets everything go well.
func (w *turmoil) resume(text string) {
	final, err := w.g.Snapshot()
	require.NoError(w.rt, err)
	prior, err := dagrun.Read(w.g.Run().Graph(), final)
	require.NoError(w.rt, err)
	state, plan, err := dagrun.Prepare(prior, w.g.Run().Graph(), dag.ResumeRequest{Run: "dag/world/1"})
	require.NoError(w.rt, err, text)
	if len(plan.Executed) == 0 {
		return // All went well, though perhaps after the deadline.
	}
	f, err := restoreGraph(w.g.Run().Graph(), state, w.cfg, w.now)
	require.NoError(w.rt, err)
	p := newPlay(w.rt, f, w.now)
	for i := range dag.Index(f.Run().Len()) {
		p.tries[f.Run().ID(i)] = f.View(i).Attempts
	}
	next := &turmoil{play: p, rt: w.rt, cfg: w.cfg, kinds: w.kinds, fleet: w.fleet, lists: 4}
	p.do(f.Start(p.now))
	next.well(text)
	for i := range dag.Index(f.Run().Len()) {
		id := f.Run().ID(i)
		if f.Run().State(i) == dag.Failed {
			require.Regexp(w.rt, "the task it refers to was skipped|it has no items: .* is skipped", p.view(id).Error, text)
		}
	}
}

// well lets everything go well until the run ends.
func (w *turmoil) well(text string) {
	for step := 0; w.end == nil; step++ {
		require.Less(w.rt, step, 1000, "the resumed run continues for ever:\n%s", text)
		for _, name := range w.lookups {
			w.do(w.g.SetJobType(w.now, name, dagrun.JobType{Handler: "h"}, ""))
		}
		w.lookups = nil
		for len(w.asks) > 0 {
			w.grant(0)
		}
		for _, a := range w.g.Approvals(10) {
			decisions, _, err := w.g.Operate(w.now, dagrun.Request{Kind: dagrun.Approve, Tasks: []string{a.ID}})
			require.NoError(w.rt, err)
			w.do(decisions)
		}
		for _, id := range w.open() {
			if d, ok := w.running[id]; ok {
				end := run.Ending{}
				if d.Kind == run.Start {
					end.Result = w.result(id)
				}
				w.ended(id, end)
			}
		}
		if w.end == nil {
			w.checkWaits()
			w.recover()
		}
	}
	require.Empty(w.rt, w.held)
}
