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
	"github.com/roundsman/roundsman/jobtype"
)

// Requests begin with a worker that could take the task, and end with the attempt's back-off: others can use the
// resources meanwhile.
func TestResourcesAreHeldWhileTheTaskCanUseThem(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, resources: {tape: 1, db: 2}, command: [x], retries: {limit: 1, backoff: 2s}}\n", dagrun.Config{})
	assert.True(t, p.watched)
	assert.Empty(t, p.asks, "no worker could take it")
	p.workers(worker("w", 1))
	require.Len(t, p.asks, 1)
	assert.Equal(t, map[string]int{"db": 2, "tape": 1}, p.asks[0].Needs.Pools)
	assert.Equal(t, 30*time.Second, p.asks[0].Grace)
	assert.Empty(t, p.running)
	assert.Equal(t, "resources: 2 of pool db, 1 of pool tape", p.view("a").Waiting)
	assert.Equal(t, "task a waits for resources: 2 of pool db, 1 of pool tape", p.g.Status(p.now).Waiting)

	p.do(p.grantedOf("a", p.asks[0].Ask+1))
	p.do(p.grantedOf("nobody", p.asks[0].Ask))
	assert.Empty(t, p.running, "the grant of another request does not count")
	p.grant(0)
	require.Contains(t, p.running, "a")
	assert.Empty(t, p.g.Status(p.now).Waiting)
	p.ended("a", run.Ending{Failure: contract.FailureFailed, Message: "no"})
	assert.Empty(t, p.held)
	assert.Empty(t, p.asks)
	p.pass(2 * time.Second)
	require.Len(t, p.asks, 1)
	p.grant(0)
	require.Contains(t, p.running, "a", "it has its place since its first attempt")
	p.ended("a", run.Ending{Failure: contract.FailureDraining, Message: "bye"})
	assert.Len(t, p.held, 1, "a worker that hands it back costs nothing")
	p.pass(10 * time.Second)
	p.ended("a", run.Ending{})
	assert.Empty(t, p.held)
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
}

// TestTheBeginOfTheLastAttemptContinuesAsNew: a task that ends without another attempt has run.
func TestTheBeginOfTheLastAttemptContinuesAsNew(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x], retries: {limit: 1, backoff: 2m}}\n", dagrun.Config{RollEvents: 1})
	p.workers(worker("w", 1))
	began := p.now
	p.pass(time.Minute)
	p.ended("a", run.Ending{Failure: contract.FailureFailed, Message: "no"})
	p.roll(dagrun.Config{})
	p.cancel("a")
	assert.Equal(t, "canceled", p.state("a"))
	assert.Equal(t, began, p.view("a").StartedAt)
	assert.Equal(t, p.now, p.view("a").EndedAt)
}

// A task that requests again holds its place. Another one may hold the requested resources and wait for that place.
func TestATaskThatAsksAgainIsGivenWay(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: circle\nconcurrency: 1\ntasks:\n  - {id: a, command: [x], resources: {db: 1}, retries: {limit: 1, backoff: 2s}}\n  - {id: b, command: [x], resources: {db: 1}}\n", dagrun.Config{RollEvents: 1})
	p.workers(worker("w", 9))
	p.grant(0)
	require.Len(t, p.asks, 1, "b asks")
	p.ended("a", run.Ending{Failure: contract.FailureFailed, Message: "no"})
	p.grant(0)
	require.Equal(t, []string{"b"}, slices.Collect(maps.Values(p.held)))
	p.pass(2 * time.Second)
	assert.Empty(t, p.held, "b has given it back")
	p.roll(dagrun.Config{RollEvents: 1})
	require.Equal(t, []string{"a"}, p.asking())
	assert.Equal(t, contract.CodeConcurrency, p.wait("b").Code)
	p.grant(0)
	assert.Equal(t, []string{"a"}, p.ids())
	require.Equal(t, []string{"b"}, p.asking())
	p.grant(0)
	p.ended("a", run.Ending{})
	p.ended("b", run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
}

func (p *play) asking() (ids []string) {
	for _, d := range p.asks {
		ids = append(ids, p.id(d))
	}
	return ids
}

func TestResourcesAreAskedForByEveryKindThatRuns(t *testing.T) {
	t.Parallel()
	p := start(t, `
version: 1
name: kinds
tasks:
  - {id: join, noop: true, resources: {db: 1}}
  - {id: never, when: "false", command: [x], resources: {db: 1}}
  - {id: typed, job_type: j, resources: {db: 1}}
  - {id: free, command: [x]}
`, dagrun.Config{})
	p.workers(worker("w", 4))
	require.Len(t, p.asks, 1, "a task that is skipped asks for nothing, nor does one whose job type is not known")
	assert.Contains(t, p.running, "free")
	assert.Equal(t, []string{"j"}, p.lookups)
	p.grant(0)
	assert.Equal(t, startNoop, p.running["join"].Kind)
	p.do(p.g.SetJobType(p.now, "j", dagrun.JobType{}, "it is not applied"))
	assert.Equal(t, map[int]string{1: "join"}, p.held)
}

func TestRunWithoutResourcesAsksForNothing(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x]}\n", dagrun.Config{})
	p.workers(worker("w", 4))
	d := p.running["a"]
	for _, end := range p.endedOf(d.Item, d.Attempt, run.Ending{}) {
		assert.Equal(t, endRun, end.Kind)
	}
	assert.Empty(t, p.asks)
}

func TestRefusedAndCanceledRequests(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: two\nhold_on_failure: 1h\ntasks:\n  - {id: a, command: [x], resources: {db: 9}}\n  - {id: b, command: [x], resources: {db: 1}}\n", dagrun.Config{})
	p.workers(worker("w", 4))
	first := p.asks[0].Ask
	p.asks = p.asks[1:]
	p.do(p.refusedOf("a", first, "it needs 9 of pool db, whose size is 1"))
	assert.Equal(t, "failed", p.state("a"))
	assert.Equal(t, "it needs 9 of pool db, whose size is 1", p.view("a").Error)
	p.cancel("b")
	assert.Equal(t, "canceled", p.state("b"))
	assert.Empty(t, p.asks, "the request is withdrawn")

	decisions, _, err := p.g.Operate(p.now, dagrun.Request{Kind: dagrun.Retry, Tasks: []string{"a"}})
	require.NoError(t, err)
	p.do(decisions)
	require.Len(t, p.asks, 1)
	assert.Greater(t, p.asks[0].Ask, first+1)
	p.do(p.grantedOf("a", first))
	assert.Empty(t, p.running, "an answer to the first request is not one to this")
	p.grant(0)
	assert.Contains(t, p.running, "a")
}

func TestPausedRunGivesBackWhatItDoesNotUse(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: two\nconcurrency: 1\ntasks:\n  - {id: a, noop: true, resources: {db: 1}}\n  - {id: b, noop: true}\n  - {id: c, noop: true, resources: {db: 2}}\n", dagrun.Config{})
	require.Contains(t, p.running, "b")
	first := p.asks[0].Ask
	p.grant(0)
	assert.Len(t, p.held, 1)
	p.do(p.g.Pause(p.now, "ann", "lunch"))
	assert.Empty(t, p.held)
	assert.Empty(t, p.asks)
	p.do(p.grantedOf("a", first))
	assert.Equal(t, "the run is paused by ann: lunch", p.view("a").Waiting)
	p.do(p.g.Pause(p.now, "ann", strings.Repeat("long ", 1<<18)))
	assert.Less(t, len(p.view("a").Waiting), 1<<11, "a note travels with the run")
	p.ended("b", run.Ending{})
	p.roll(dagrun.Config{})
	p.do(p.g.Resume(p.now))
	require.Len(t, p.asks, 1)
	assert.Greater(t, p.asks[0].Ask, first)
	p.grant(0)
	assert.Contains(t, p.running, "a")
}

func TestResourcesContinueAsNew(t *testing.T) {
	t.Parallel()
	p := start(t, `
version: 1
name: rolls
tasks:
  - {id: typed, job_type: j, resources: {db: 1}}
  - {id: fails, command: [x], resources: {db: 1}, retries: {limit: 1, backoff: 5s}}
  - {id: later, needs: [fails], command: [x], resources: {db: 1}}
`, dagrun.Config{})
	p.workers(worker("w", 4))
	p.do(p.g.SetJobType(p.now, "j", dagrun.JobType{Handler: "h", Policy: jobtype.Policy{}}, ""))
	require.Equal(t, []string{"fails", "typed"}, p.asking())
	p.grant(0)
	p.ended("fails", run.Ending{Failure: contract.FailureFailed, Message: "no"})
	p.roll(dagrun.Config{JobTypes: map[string]dagrun.JobType{"j": {Handler: "h"}}})
	require.Len(t, p.asks, 1, "it does not ask again")
	assert.Equal(t, "resources: 1 of pool db", p.view("typed").Waiting)
	p.grant(0)
	p.ended("typed", run.Ending{})
	p.pass(5 * time.Second)
	p.grant(0)
	p.ended("fails", run.Ending{})
	assert.Empty(t, p.held)
	require.Len(t, p.asks, 1)
	assert.Equal(t, 4, p.asks[0].Ask, "numbers continue")
	p.grant(0)
	p.ended("later", run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome, fmt.Sprint(p.g.Counts()))
}
