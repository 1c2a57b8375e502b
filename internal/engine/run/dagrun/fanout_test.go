package dagrun_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/internal/engine/run/source"
)

const rolling = `
version: 1
name: rolling
tasks:
  - {id: hosts, command: [list-hosts]}
  - {id: check, needs: [hosts], for_each: "{{.Needs.hosts.Result.hosts}}", per_item: restart, command: [check, "{{.Item}}"]}
  - {id: drain, needs: [hosts], for_each: "{{.Needs.hosts.Result.hosts}}", concurrency: 2, command: [drain, "{{.Item}}", "{{.Needs.hosts.Result.token}}"]}
  - {id: restart, needs: [hosts], for_each: "{{.Needs.hosts.Result.hosts}}", per_item: drain, command: [restart, "{{.Item}}", "{{.Needs.drain.Result.port}}"]}
  - {id: other, needs: [hosts], noop: true}
  - {id: report, needs: [restart, check], command: [report, "{{range .Needs.restart}}{{.Result.v}} {{end}}"]}
`

func done(result string) run.Ending { return run.Ending{Result: []byte(result)} }

func (p *play) runs() []string { return slices.Sorted(maps.Keys(p.running)) }

// TestFanOutOverAResult: the success of a task with items adds their tasks. The items proceed one by one, within the
// limit of their fan-out. The next task waits for all of them.
func TestFanOutOverAResult(t *testing.T) {
	t.Parallel()
	p := start(t, rolling, dagrun.Config{RollEvents: 1})
	p.workers(worker("w", 10))
	require.Equal(t, []string{"hosts"}, p.runs())
	assert.Equal(t, contract.CodeUpstream, p.wait("drain").Code)
	p.ended("hosts", done(`{"hosts": ["a", "b", "c"], "token": "T"}`))
	require.Equal(t, []string{"drain.a", "drain.b", "other"}, p.runs(), "other waits for no item")
	assert.Equal(t, []string{"drain", "a", "T"}, p.running["drain.a"].Job.Command)
	assert.Equal(t, "completed", p.state("drain"))
	p.ended("other", run.Ending{})

	c := p.wait("drain.c")
	assert.Equal(t, contract.CodeConcurrency, c.Code)
	assert.Equal(t, "drain", c.Object)
	assert.Equal(t, p.now, c.Since)
	assert.Equal(t, "the concurrency of 2 of the fan-out drain is used up", c.Detail)
	waits, _ := p.g.RunWaits(9)
	require.Len(t, waits, 1)
	assert.Equal(t, "1 tasks are ready, and the concurrency of 2 of the fan-out drain is used up", waits[0].Detail)

	p.pass(time.Second)
	p.ended("drain.b", done(`{"port": "8"}`))
	require.Equal(t, []string{"drain.a", "drain.c", "restart.b"}, p.runs(), "b continues before a is drained")
	assert.Equal(t, []string{"restart", "b", "8"}, p.running["restart.b"].Job.Command)
	p.ended("restart.b", done(`{"v": "B"}`))
	p.ended("check.b", run.Ending{})
	p.ended("drain.a", done(`{"port": "7"}`))
	p.ended("drain.c", done(`{"port": "9"}`))
	p.ended("restart.a", done(`{"v": "A"}`))
	p.ended("check.a", run.Ending{})
	require.Equal(t, []string{"restart.c"}, p.runs(), "the report waits for the last item")
	p.ended("restart.c", done(`{"v": "C"}`))
	p.ended("check.c", run.Ending{})
	require.Equal(t, []string{"report"}, p.runs())
	assert.Equal(t, []string{"report", "A B C "}, p.running["report"].Job.Command)
	p.ended("report", run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
}

// TestFanOutSurvivesContinueAsNew: a limit, and since when it is used up, come along.
func TestFanOutSurvivesContinueAsNew(t *testing.T) {
	t.Parallel()
	p := start(t, strings.Replace(rolling, "command: [drain", "node: ghost, command: [drain", 1), dagrun.Config{})
	p.workers(worker("w", 10))
	p.ended("hosts", done(`{"hosts": ["a", "b", "c"], "token": "T"}`))
	p.ended("other", run.Ending{})
	since := p.now
	p.pass(time.Second)
	p.roll(dagrun.Config{})
	assert.Equal(t, since, p.wait("drain.c").Since)
	assert.Equal(t, contract.CodeNoWorker, p.wait("drain.a").Code)
	p.workers(worker("w", 10), worker("ghost", 10))
	require.Equal(t, []string{"drain.a", "drain.b"}, p.runs())
	p.ended("drain.a", done(`{"port": "7"}`))
	assert.Equal(t, []string{"drain.b", "drain.c", "restart.a"}, p.runs())
}

const rollingItems = `
version: 1
name: rolling
tasks:
  - {id: drain, for_each: [a, b, c], items_in_flight: 1, on_item_failure: stop, command: [drain, "{{.Item}}"]}
  - {id: check, for_each: [a, b, c], per_item: drain, command: [check, "{{.Item}}"]}
  - {id: undrain, for_each: [a, b, c], per_item: check, trigger_rule: always, command: [undrain, "{{.Item}}"]}
`

// TestItemsInFlight: an item waits for the chain of the one before, also after a continue-as-new between two of its
// tasks. After a failed item no other begins, and its tasks give the reason. A retry begins them.
func TestItemsInFlight(t *testing.T) {
	t.Parallel()
	p := start(t, rollingItems, dagrun.Config{})
	p.workers(worker("w", 10))
	since := p.now
	require.Equal(t, []string{"drain.a"}, p.runs())
	p.pass(time.Second)
	p.do(p.g.Pause(p.now, "ann", "between two steps"))
	p.ended("drain.a", run.Ending{})
	p.roll(dagrun.Config{})
	p.workers(worker("w", 10))
	p.do(p.g.Resume(p.now))
	require.Equal(t, []string{"check.a"}, p.runs(), "its item is still in flight")
	waits := p.wait("drain.b")
	assert.Equal(t, contract.CodeItemsInFlight, waits.Code)
	assert.Equal(t, "check.a", waits.Object)
	assert.Equal(t, since, waits.Since)
	assert.Equal(t, "1 of 1 items of drain are in flight: check.a is running", waits.Detail)
	of, _ := p.g.RunWaits(9)
	require.Len(t, of, 1)
	assert.Equal(t, "2 items wait: 1 of 1 items of drain are in flight: check.a is running", of[0].Detail)
	p.ended("check.a", run.Ending{})
	p.ended("undrain.a", run.Ending{})
	require.Equal(t, []string{"drain.b"}, p.runs())
	p.ended("drain.b", run.Ending{})
	p.pass(time.Second)
	failed := p.now
	p.ended("check.b", run.Ending{Failure: contract.FailurePermanent, Message: "down"})
	require.Equal(t, []string{"undrain.b"}, p.runs(), "the failed item is cleaned up, and nothing more is drained")
	p.pass(time.Second)
	for _, id := range []string{"drain.c", "check.c", "undrain.c"} {
		assert.Equal(t, "canceled", p.state(id))
		assert.Equal(t, run.Wait{
			Code: contract.CodeItemFailed, Object: "check.b", Since: failed,
			Detail: "its item did not begin (on_item_failure: stop): item b failed, check.b is failed",
		}, p.wait(id).Wait)
	}
}

// TestListsThatAreNone: a faulty list fails the task that returns it, with the expected form. Its retry may return another.
func TestListsThatAreNone(t *testing.T) {
	t.Parallel()
	var many, wide strings.Builder
	for i := range 100_001 {
		fmt.Fprintf(&many, "%d,", i)
	}
	random := uint64(1)
	for i := range 6000 { // Nothing that a compressor could make small.
		fmt.Fprintf(&wide, `"%d-`, i)
		for range 4 {
			random = random*6364136223846793005 + 1442695040888963407
			fmt.Fprintf(&wide, "%016x", random)
		}
		wide.WriteString(`",`)
	}
	for result, problem := range map[string]string{
		`{"hosts": []}`:            "hosts is an empty list: return at least one item",
		`{"hosts": {"a": 1}}`:      "hosts is a mapping: return a list",
		`{"hosts": null}`:          "hosts is nothing: return a list",
		`{"host": ["a"]}`:          `it returned no hosts: return a JSON object with the list, like {"hosts": ["a", "b"]}`,
		``:                         "it returned no hosts",
		`{"hosts": ["a","b","a"]}`: `the items 1 and 3 are both "a": return each once`,
		`{"hosts": [` + strings.TrimSuffix(many.String(), ",") + `]}`: "hosts has 100001 items, the limit is 100000",
		`{"hosts": [` + strings.TrimSuffix(wide.String(), ",") + `]}`: "have more than 1048576 bytes: return short references",
	} {
		p := start(t, rolling, dagrun.Config{})
		p.workers(worker("w", 10))
		p.ended("hosts", done(result))
		assert.Equal(t, "failed", p.state("hosts"))
		assert.Regexp(t, `^it was done, but INVALID: for_each of task "(check|drain)": `, p.view("hosts").Error)
		assert.Contains(t, p.view("hosts").Error, problem)
		assert.Equal(t, "upstream_failed", p.state("drain"))
		assert.Equal(t, dag.OutcomeFailed, p.end.Outcome)
		assert.Equal(t, 6, p.g.Run().Len(), "nothing is added by halves")
	}
}

// TestALongListIsNotKept: a result of more than 2 KiB is kept without its lists.
func TestALongListIsNotKept(t *testing.T) {
	t.Parallel()
	p := start(t, rolling, dagrun.Config{})
	p.workers(worker("w", 1))
	var hosts []string
	for i := range 1000 {
		hosts = append(hosts, fmt.Sprintf("%q", fmt.Sprintf("host-%d", i)))
	}
	p.ended("hosts", done(`{"hosts": [`+strings.Join(hosts, ",")+`], "token": "T"}`))
	require.Equal(t, "completed", p.state("hosts"), p.view("hosts").Error)
	assert.JSONEq(t, `{"token": "T"}`, string(p.view("hosts").Result))
	assert.Equal(t, 3006, p.g.Run().Len())
	assert.Equal(t, []string{"drain", "host-0", "T"}, p.running["drain.host-0"].Job.Command)
}

// TestTheListIsReturnedAgain: items that are not in it any more are skipped, new
// ones are added, and the others run again.
func TestTheListIsReturnedAgain(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: x\nhold_on_failure: 1h\ntasks:\n"+
		"  - {id: hosts, command: [x]}\n  - {id: go, needs: [hosts], for_each: '{{.Needs.hosts.Result.of.hosts}}', command: [x, '{{json .Item}}']}\n  - {id: end, needs: [go], noop: true}\n", dagrun.Config{})
	p.workers(worker("w", 10))
	p.ended("hosts", done(`{"of": {"hosts": ["a", {"x": 1}, "b/c"]}}`))
	require.Equal(t, []string{"go.a", "go.b-c"}, p.runs()[1:])
	object := p.runs()[0]
	assert.Regexp(t, `^go\.#[0-9a-f]{12}$`, object)
	p.ended("go.a", run.Ending{})
	p.ended("go.b-c", run.Ending{})
	p.ended(object, run.Ending{Failure: contract.FailurePermanent, Message: "no"})
	require.True(t, p.g.Run().Held())
	p.operate(dagrun.Request{Kind: dagrun.Rerun, Tasks: []string{"hosts"}})
	require.Equal(t, []string{"hosts"}, p.runs())
	p.ended("hosts", done(`{"of": {"hosts": [{"x": 1}, "d", "b-c"]}}`))
	assert.Equal(t, "skipped", p.state("go.a"))
	assert.Equal(t, "skipped", p.state("go.b-c"), "that was b/c")
	require.Len(t, p.runs(), 3)
	assert.Contains(t, p.runs(), object)
	for _, id := range p.runs() {
		p.ended(id, run.Ending{})
	}
	p.ended("end", run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
}

// TestSkippedFanOut: one that is skipped before its items are known gets no tasks,
// and those of its chain do not wait for them.
func TestSkippedFanOut(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: x\ntasks:\n  - {id: hosts, command: [x]}\n"+
		"  - {id: a, needs: [hosts], for_each: '{{.Needs.hosts.Result.hosts}}', command: [x]}\n  - {id: b, needs: [hosts], for_each: '{{.Needs.hosts.Result.hosts}}', per_item: a, command: [x]}\n", dagrun.Config{})
	p.workers(worker("w", 10))
	p.operate(dagrun.Request{Kind: dagrun.Skip, Tasks: []string{"a"}})
	p.ended("hosts", done(`{"hosts": [1, 2]}`))
	assert.Equal(t, []string{"b.1", "b.2"}, p.runs())
}

// cancel cancels tasks, which must not be refused.
func (p *play) cancel(ids ...string) {
	for _, id := range ids {
		request, refused := p.cancelRequest(id)
		require.Nil(p.t, refused)
		p.do(p.g.Next(p.now, request))
	}
}

func (p *play) cancelRequest(id string) (source.CancelItem, *contract.ItemRefusal) {
	i, _ := p.g.Run().Lookup(id)
	request := source.CancelItem{Item: int(i), Name: id}
	_, refused := p.g.CheckCancel(request)
	return request, refused
}

func (p *play) operate(req dagrun.Request) {
	decisions, _, err := p.g.Operate(p.now, req)
	require.NoError(p.t, err)
	p.do(decisions)
}

// TestFanOutsAreResumed: a new run has the tasks of the earlier one, executes the failed ones, and needs the list again
// where the fan-out has changed.
func TestFanOutsAreResumed(t *testing.T) {
	t.Parallel()
	text := "version: 1\nname: x\ntasks:\n  - {id: hosts, command: [x]}\n  - {id: go, needs: [hosts], concurrency: 1, for_each: '{{.Needs.hosts.Result.hosts}}', command: [CMD]}\n"
	p := start(t, text, dagrun.Config{})
	p.workers(worker("w", 10))
	p.ended("hosts", done(`{"hosts": ["a", "b"]}`))
	p.ended("go.a", run.Ending{})
	p.ended("go.b", run.Ending{Failure: contract.FailurePermanent, Message: "no"})
	require.NotNil(t, p.end)
	resumed := func(text string) dagrun.Plan {
		final, err := p.g.Snapshot()
		require.NoError(t, err)
		prior, err := dagrun.Read(p.g.Run().Graph(), final)
		require.NoError(t, err)
		_, plan, err := dagrun.Prepare(prior, compile(t, text), dag.ResumeRequest{Run: "first", AcceptDiff: true})
		require.NoError(t, err)
		return plan
	}
	assert.Equal(t, []string{"go.b"}, resumed(text).Executed)
	assert.Equal(t, []string{"hosts", "go"}, resumed(strings.Replace(text, "CMD", "other", 1)).Executed)
}
