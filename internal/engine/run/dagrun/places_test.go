package dagrun_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

const busyPool = `
version: 1
name: busy
concurrency: 2
tasks:
  - {id: db1, command: [x], resources: {db: 1}}
  - {id: db2, command: [x], resources: {db: 1}}
  - {id: db3, command: [x], resources: {db: 1}}
  - {id: free1, command: [x]}
  - {id: free2, command: [x]}
  - {id: free3, command: [x]}
`

func (p *play) ids() []string { return slices.Sorted(maps.Keys(p.running)) }

func TestTasksThatWaitForResourcesTakeNoPlace(t *testing.T) {
	t.Parallel()
	p := start(t, busyPool, dagrun.Config{})
	p.workers(worker("w", 9))
	assert.Equal(t, []string{"free1", "free2"}, p.ids())
	assert.Len(t, p.asks, 2, "as many ask ahead as may run")
	assert.Equal(t, contract.CodeResources, p.wait("db1").Code)
	assert.Equal(t, contract.CodeConcurrency, p.wait("db3").Code)
	assert.Contains(t, p.wait("db3").Detail, "2 tasks wait for their resources ahead of it")
	assert.Equal(t, "the run's concurrency of 2 is used up", p.wait("free3").Detail)

	p.grant(0)
	assert.Len(t, p.running, 2, "no place is free")
	w := p.wait("db1")
	assert.Equal(t, contract.CodeConcurrency, w.Code)
	assert.Contains(t, w.Detail, "it has its resources and gets the next place before others of its priority")
	assert.Equal(t, "a place; it has its resources", p.view("db1").Waiting)
	p.ended("free2", run.Ending{})
	assert.Equal(t, []string{"db1", "free1"}, p.ids(), "before free3")
	assert.Len(t, p.asks, 2, "db3 asks now")
	p.ended("free1", run.Ending{})
	p.ended("free3", run.Ending{})
	p.ended("db1", run.Ending{})
	assert.Empty(t, p.running)
	waits, more := p.g.RunWaits(10)
	require.Len(t, waits, 1)
	assert.Zero(t, more)
	assert.Equal(t, contract.CodeResources, waits[0].Code)
	assert.Equal(t, 2, waits[0].Tasks)
	p.grant(0)
	p.grant(0)
	p.ended("db2", run.Ending{})
	p.ended("db3", run.Ending{})
	assert.Empty(t, p.held)
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
}

func TestPlacesContinueAsNew(t *testing.T) {
	t.Parallel()
	p := start(t, busyPool, dagrun.Config{RollEvents: 1})
	p.workers(worker("w", 9))
	p.grant(0)
	p.g.Observe(p.now, 40_000, 0, 0)
	p.ended("free1", run.Ending{})
	p.ended("free2", run.Ending{})
	require.True(t, p.g.ShouldContinueAsNew())
	assert.Empty(t, p.running, "db1 has its place and waits for the next run of the workflow")
	p.roll(dagrun.Config{})
	assert.Equal(t, []string{"db1", "free3"}, p.ids())
	assert.Len(t, p.asks, 2)
}

const nested = `
version: 1
name: nested
concurrency: 1
tasks:
  - {id: db, command: [x], resources: {db: 1}}
  - {id: first, noop: true}
  - {id: sub, dag: sub.yaml, needs: [first]}
  - {id: sub2, dag: sub.yaml, needs: [sub]}
`

const subDAG = "version: 1\nname: sub\ntasks:\n  - {id: needs-it, command: [x], resources: {db: 1}}\n"

// texts are the files of sub-DAGs.
type texts map[string]string

// ReadFile implements spec.Files.
func (x texts) ReadFile(name string) ([]byte, error) { return []byte(x[name]), nil }

func compileFiles(t require.TestingT, text string, files map[string]string) *dag.Graph {
	loaded, err := spec.Load("dag.yaml", []byte(text))
	require.NoError(t, err)
	compiled, err := spec.Compile(loaded, texts(files))
	require.NoError(t, err)
	return compiled.Graph
}

// A sub-DAG may need an object that a task of its parent holds while that task waits for the sub-DAG's place.
func TestResourcesAreGivenBackWhileSubDAGsHaveAllPlaces(t *testing.T) {
	t.Parallel()
	p := begin(t, compileFiles(t, nested, map[string]string{"sub.yaml": subDAG}), dagrun.Config{})
	p.workers(worker("w", 9))
	p.ended("first", run.Ending{})
	require.Equal(t, []string{"sub"}, p.ids())
	require.Len(t, p.asks, 1, "db asked while the place was free")
	p.grant(0)
	assert.Empty(t, p.held, "it gave it back")
	w := p.wait("db")
	assert.Equal(t, contract.CodeConcurrency, w.Code)
	assert.Contains(t, w.Detail, "by tasks that wait, perhaps for its resources")
	p.g.Observe(p.now, 40_000, 0, 0)
	p.ended("sub", run.Ending{})
	require.True(t, p.g.ShouldContinueAsNew())
	p.roll(dagrun.Config{})
	require.Equal(t, []string{"sub2"}, p.ids())
	assert.Empty(t, p.asks, "it does not ask while all places are taken like that")
	p.ended("sub2", run.Ending{})
	require.Len(t, p.asks, 1)
	p.grant(0)
	p.ended("db", run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)

	q := begin(t, compileFiles(t, nested, map[string]string{"sub.yaml": subDAG}), dagrun.Config{})
	q.workers(worker("w", 9))
	q.ended("first", run.Ending{})
	q.grant(0)
	q.do(q.g.CancelRun(q.now, "enough"))
	assert.Equal(t, "canceled", q.state("db"))
	q.ended("sub", run.Ending{Failure: "canceled"})
	assert.Equal(t, dag.OutcomeCanceled, q.end.Outcome)
}

// TestTasksThatGaveWayGoOnAfterCanceledOnes: tasks that released their resources in a full run are offered again, after
// any number of cancellations before them.
func TestTasksThatGaveWayGoOnAfterCanceledOnes(t *testing.T) {
	t.Parallel()
	text := "version: 1\nname: way\nconcurrency: 1\ntasks:\n  - {id: first, command: [x]}\n"
	var canceled []string
	for i := range 12 {
		text += fmt.Sprintf("  - {id: t%02d, command: [x], exclusive: [volume/%d]}\n", i, i)
		canceled = append(canceled, fmt.Sprintf("t%02d", i))
	}
	p := start(t, text, dagrun.Config{})
	p.workers(worker("w", 9))
	for k := 0; k < len(p.asks); { // Each answer may add one.
		p.do(p.g.Next(p.now, run.Waits{Item: p.asks[k].Item, Ask: p.asks[k].Ask}))
		k++
	}
	require.Len(t, p.asks, 12, "those that wait for others take no place")
	for range 12 {
		p.grant(0)
	}
	require.Len(t, p.held, 1, "one has what the next place needs")
	p.cancel(canceled[1:11]...)
	p.ended("first", run.Ending{})
	p.ended("t00", run.Ending{})
	require.Equal(t, []string{"t11"}, p.asking())
	p.grant(0)
	p.ended("t11", run.Ending{})
	require.NotNil(t, p.end)
}

// TestNothingStartsThatTheHistoryHasNoRoomFor: attempts count before they are in the history, and small ends of
// attempts make room for others.
func TestNothingStartsThatTheHistoryHasNoRoomFor(t *testing.T) {
	t.Parallel()
	types := map[string]dagrun.JobType{"j": {Handler: dagrun.CommandHandler, Bytes: 1 << 20}}
	p := start(t, "version: 1\nname: large\nconcurrency: 100\ntasks:\n  - {id: a, for_each: ["+strings.Repeat("1, ", 100)+"], job_type: j}\n", dagrun.Config{JobTypes: types})
	p.g.Observe(p.now, 100, 1<<20, 0)
	p.workers(worker("w", 100))
	first := len(p.running)
	assert.InDelta(t, 42, first, 2, "1 MiB each, and their ends")
	p.g.Observe(p.now, 200, 1<<20, first<<20)
	p.ended("a.#0", run.Ending{})
	assert.Len(t, p.running, first-1, "they wait to be ordered")
	p.g.Observe(p.now, 200, 4<<20, 0)
	p.ended("a.#1", run.Ending{})
	assert.Greater(t, len(p.running), first-2, "they were smaller than expected")
}

func TestTaskThatCarriesTooMuchFails(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("x", 200<<10)
	p := start(t, "version: 1\nname: large\nparams: {word: "+word+"}\ntasks:\n  - {id: a, command: ["+strings.Repeat("'{{.Params.word}}', ", 8)+"]}\n", dagrun.Config{})
	p.workers(worker("w", 1))
	assert.Empty(t, p.running)
	assert.Equal(t, "failed", p.state("a"))
	assert.Contains(t, p.view("a").Error, "have 1638400 bytes, the limit is 1572864: pass a reference")
}
