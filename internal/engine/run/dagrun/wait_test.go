package dagrun_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

// checkWaits: a task that neither runs nor has ended has a wait with a time, the others have none. A run in which
// nothing runs has a wait, too.
func (p *play) checkWaits() {
	run := p.g.Run()
	for i := range dag.Index(run.Len()) {
		id, state, waits := run.ID(i), run.State(i), p.g.Waits(i)
		_, attempt := p.running[id]
		switch {
		case attempt, state.Terminal() && state != dag.UpstreamFailed && run.StoppedBy(i) == dag.None:
			require.Empty(p.t, waits, "%s is %s", id, state)
			continue
		}
		require.NotEmpty(p.t, waits, "%s is %s", id, state)
		for _, w := range waits {
			require.NotEmpty(p.t, w.Detail)
			require.True(p.t, w.Code == contract.CodeStarting || !w.Since.IsZero() && !w.Since.After(p.now), "%s: %+v", id, w)
			require.True(p.t, w.Until.IsZero() || w.Until.After(p.now), "%s: %+v", id, w)
		}
	}
	if waits, _ := p.g.RunWaits(100); len(p.running) == 0 && p.end == nil {
		require.NotEmpty(p.t, waits)
	}
}

func (p *play) waits(id string) []dagrun.Wait {
	i, ok := p.g.Run().Lookup(id)
	require.True(p.t, ok, id)
	return p.g.Waits(i)
}

// wait is the one reason of a task.
func (p *play) wait(id string) dagrun.Wait {
	waits := p.waits(id)
	require.Len(p.t, waits, 1)
	return waits[0]
}

const waiting = `
version: 1
name: waiting
concurrency: 2
tasks:
  - {id: a, command: [x], retries: {limit: 1, backoff: 30s}}
  - {id: b, command: [x], node: n}
  - {id: c, command: [x]}
  - {id: d, needs: [a, b, c], noop: true}
  - {id: ok, approval: {prompt: "continue?", timeout: 1h}}
  - {id: nap, sleep: 10s}
`

func TestWhatTasksWaitFor(t *testing.T) {
	t.Parallel()
	p := start(t, waiting, dagrun.Config{})
	a := p.wait("a")
	assert.Equal(t, contract.CodeNoWorker, a.Code)
	assert.Equal(t, "command", a.Object)
	assert.Equal(t, []time.Time{epoch, epoch.Add(30 * time.Minute)}, []time.Time{a.Since, a.Until}, "then it fails")
	assert.Equal(t, "no online worker has handler command", a.Detail)

	p.pass(time.Second)
	gone := worker("n", 1)
	gone.State = contract.WorkerUnreachable
	p.workers(worker("w", 1), gone)
	assert.Empty(t, p.waits("a"), "it runs")
	b := p.wait("b")
	assert.Equal(t, contract.CodeUnreachable, b.Code)
	assert.Equal(t, "n", b.Object)
	assert.Contains(t, b.Detail, "worker n is unreachable")
	gone.State = contract.WorkerCordoned
	p.workers(worker("w", 1), gone)
	assert.Equal(t, contract.CodeCordoned, p.wait("b").Code)

	c := p.wait("c")
	assert.Equal(t, contract.CodeConcurrency, c.Code)
	assert.Equal(t, epoch, c.Since)
	d := p.wait("d")
	assert.Equal(t, contract.CodeUpstream, d.Code)
	assert.Equal(t, "b, a, c", d.Object, "what waits itself comes first")
	assert.Equal(t, "it waits for 3 of 3 tasks (trigger_rule all_success): b waits: WORKER_CORDONED, a is running, c is ready", d.Detail)

	ok := p.wait("ok")
	assert.Equal(t, dagrun.Wait{Wait: run.Wait{Code: contract.CodeApproval, Object: "ok", Since: epoch, Until: epoch.Add(time.Hour), Detail: "continue?"}, Task: ok.Task}, ok)
	nap := p.wait("nap")
	assert.Equal(t, contract.CodeSleeping, nap.Code)
	assert.Equal(t, epoch.Add(10*time.Second), nap.Until)

	p.ended("a", run.Ending{Failure: contract.FailureFailed, Message: "no disk"})
	a = p.wait("a")
	assert.Equal(t, contract.CodeBackoff, a.Code)
	assert.Equal(t, []time.Time{p.now, p.now.Add(30 * time.Second)}, []time.Time{a.Since, a.Until})
	assert.Equal(t, "the next attempt comes at 2026-01-02T03:04:36Z; attempt 1 failed: no disk", a.Detail)
	p.checkWaits()
	waits, more := p.g.RunWaits(3)
	assert.Equal(t, []contract.Code{contract.CodeApproval, contract.CodeSleeping, contract.CodeBackoff}, []contract.Code{waits[0].Code, waits[1].Code, waits[2].Code})
	assert.Equal(t, 2, more, "the cordoned worker and the task that is ready")
	assert.Equal(t, "task ok: continue?", waits[0].Detail)
}

func TestWhatAPausedTaskWaitsFor(t *testing.T) {
	t.Parallel()
	p := start(t, waiting, dagrun.Config{})
	p.pass(time.Second)
	p.do(p.g.Pause(p.now, "ann@host", "new disks"))
	for id, codes := range map[string][]contract.Code{
		"a": {contract.CodePaused, contract.CodeNoWorker}, "c": {contract.CodePaused}, "d": {contract.CodePaused, contract.CodeUpstream},
		"ok": {contract.CodeApproval}, "nap": {contract.CodeSleeping},
	} {
		var found []contract.Code
		for _, w := range p.waits(id) {
			found = append(found, w.Code)
		}
		assert.Equal(t, codes, found, id)
	}
	paused := p.waits("c")[0]
	assert.Equal(t, p.now, paused.Since)
	assert.Equal(t, "the run is paused by ann@host: new disks", paused.Detail)
	p.pass(time.Second)
	p.do(p.g.Pause(p.now, "bob", ""))
	p.roll(dagrun.Config{RollEvents: 1})
	waits, _ := p.g.RunWaits(9)
	assert.Equal(t, contract.CodePaused, waits[0].Code)
	assert.Equal(t, p.now.Add(-time.Second), waits[0].Since, "the pause is the same one")
	assert.Equal(t, "the run is paused by bob", waits[0].Detail)
	p.do(p.g.Resume(p.now))
	assert.Equal(t, contract.CodeConcurrency, p.wait("c").Code)
}

func TestWhatAFailureLeavesWaiting(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: h\nhold_on_failure: 1h\ntasks:\n  - {id: a, command: [x]}\n  - {id: b, needs: [a], noop: true}\n  - {id: c, needs: [b], noop: true}\n", dagrun.Config{})
	p.workers(worker("w", 1))
	p.pass(time.Second)
	p.ended("a", run.Ending{Failure: contract.FailurePermanent, Message: "no"})
	waits, _ := p.g.RunWaits(9)
	require.Len(t, waits, 1)
	assert.Equal(t, contract.CodeParked, waits[0].Code)
	assert.Equal(t, "a", waits[0].Object)
	assert.Equal(t, []time.Time{p.now, p.now.Add(time.Hour)}, []time.Time{waits[0].Since, waits[0].Until})
	assert.Equal(t, "tasks that failed: 1, blocked by them: 2; the run ends then unless a person acts", waits[0].Detail)
	assert.Equal(t, "it was not run, because of 1 of the 1 tasks before it: a is failed", p.wait("b").Detail)
	assert.Equal(t, "b", p.wait("c").Object)
	assert.Empty(t, p.waits("a"))
}

func TestWhatWaitsForAWorkerAndResources(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: r\ntasks:\n  - {id: a, command: [x], resources: {db: 2}}\n  - {id: b, command: [x]}\n  - {id: c, command: [x]}\n  - {id: d, job_type: j}\n", dagrun.Config{})
	p.workers(worker("w", 1), worker("v", 1), worker("u", 1))
	p.ended("b", run.Ending{Failure: contract.FailureWorkerLost, Message: "silence"})
	lost := p.wait("b")
	assert.Equal(t, contract.CodeOutcome, lost.Code)
	assert.NotEmpty(t, lost.Object)
	assert.Equal(t, p.now.Add(run.Grace), lost.Until)
	asks := p.wait("a")
	assert.Equal(t, contract.CodeResources, asks.Code)
	assert.Equal(t, p.asks[0].Ask, asks.Ask)
	assert.Equal(t, "its resources: 2 of pool db", asks.Detail)
	assert.Equal(t, contract.CodeStarting, p.wait("d").Code)
	assert.Equal(t, "j", p.wait("d").Object)
	away := worker("w", 1)
	away.Fresh = false
	p.workers(worker("u", 1), worker("v", 1), away)
	p.grant(0)
	full := p.wait("a")
	assert.Equal(t, contract.CodeSlots, full.Code)
	assert.Len(t, full.Object, 1, "the other is suspect")
	p.checkWaits()
}

func TestWhatIsPinnedToNobody(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: p\ntasks:\n  - {id: a, command: [x], node: ghost}\n", dagrun.Config{})
	p.workers(worker("w", 1))
	a := p.wait("a")
	assert.Equal(t, []string{string(contract.CodeNoWorker), "ghost"}, []string{string(a.Code), a.Object})
	assert.Contains(t, a.Detail, "worker ghost is not registered")
}

// TestWaitsOfManyTasks: the answer stays short however many wait.
func TestWaitsOfManyTasks(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("version: 1\nname: many\nconcurrency: 500\ntasks:\n  - {id: last, needs: [fan], noop: true}\n  - id: fan\n    for_each: [")
	for n := range 5000 {
		fmt.Fprintf(&text, "%d, ", n)
	}
	text.WriteString("]\n    command: [x]\n")
	p := start(t, text.String(), dagrun.Config{})
	last := p.wait("last")
	assert.Contains(t, last.Detail, "it waits for 5000 of 5000 tasks")
	assert.Contains(t, last.Detail, "and 4990 more")
	waits, more := p.g.RunWaits(20)
	require.Len(t, waits, 2)
	assert.Zero(t, more)
	assert.Contains(t, waits[0].Detail, "and 499 more: no online worker")
	assert.Contains(t, waits[1].Detail, "4500 tasks are ready")
	assert.Equal(t, "last", p.g.Similar("lats"))
	assert.Empty(t, p.g.Similar("something-else"))
}
