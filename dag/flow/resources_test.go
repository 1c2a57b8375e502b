package flow_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/flow"
	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// grant answers the k-th open request.
func (p *play) grant(k int) {
	d := p.asks[k]
	p.asks = append(p.asks[:k:k], p.asks[k+1:]...)
	if p.held == nil {
		p.held = map[int]string{}
	}
	id := p.f.Run().ID(d.Task)
	p.held[d.Ask.Number] = id
	p.do(p.f.Granted(p.now, id, d.Ask.Number))
}

func TestResourcesAreHeldFromBeforeTheFirstAttemptToTheEnd(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, resources: {tape: 1, db: 2}, command: [x], retries: {limit: 1, backoff: 2s}}\n", flow.Config{})
	require.Len(t, p.asks, 1)
	assert.Equal(t, map[string]int{"db": 2, "tape": 1}, p.asks[0].Ask.Resources)
	assert.False(t, p.watched, "it needs no worker yet")
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 1)}))
	assert.Empty(t, p.running)
	assert.Equal(t, "resources: 2 of pool db, 1 of pool tape", p.view("a").Waiting)
	assert.Equal(t, "task a waits for resources: 2 of pool db, 1 of pool tape", p.f.Status().Waiting)

	p.do(p.f.Granted(p.now, "a", p.asks[0].Ask.Number+1))
	p.do(p.f.Granted(p.now, "nobody", p.asks[0].Ask.Number))
	assert.Empty(t, p.running, "the grant of another request does not count")
	p.grant(0)
	require.Contains(t, p.running, "a")
	assert.Empty(t, p.f.Status().Waiting)
	p.ended("a", flow.Ending{Failure: placement.FailureFailed, Message: "no"})
	assert.Len(t, p.held, 1, "a backoff keeps it")
	p.pass(2 * time.Second)
	require.Contains(t, p.running, "a")
	assert.Empty(t, p.asks, "a retry does not ask again")
	p.ended("a", flow.Ending{})
	assert.Empty(t, p.held)
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
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
`, flow.Config{})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4)}))
	require.Len(t, p.asks, 2, "a task that is skipped asks for nothing")
	assert.Contains(t, p.running, "free")
	assert.Empty(t, p.lookups)
	p.grant(0)
	assert.Equal(t, flow.StartNoop, p.running["join"].Kind)
	p.grant(0)
	assert.Equal(t, []string{"j"}, p.lookups)
	p.do(p.f.SetJobType(p.now, "j", flow.JobType{}, "it is not applied"))
	assert.Equal(t, map[int]string{1: "join"}, p.held)
}

func TestRunWithoutResourcesAsksForNothing(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x]}\n", flow.Config{})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4)}))
	d := p.running["a"]
	for _, end := range p.f.Ended(p.now, d.Task, d.Attempt, flow.Ending{}) {
		assert.Equal(t, flow.End, end.Kind)
	}
	assert.Empty(t, p.asks)
}

func TestRefusedAndCanceledRequests(t *testing.T) {
	t.Parallel()
	p := start(t, "version: 1\nname: two\nhold_on_failure: 1h\ntasks:\n  - {id: a, command: [x], resources: {db: 9}}\n  - {id: b, command: [x], resources: {db: 1}}\n", flow.Config{})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4)}))
	first := p.asks[0].Ask.Number
	p.do(p.f.Refused(p.now, "a", first, "it needs 9 of pool db, whose size is 1"))
	assert.Equal(t, "failed", p.state("a"))
	assert.Equal(t, "it needs 9 of pool db, whose size is 1", p.view("a").Error)
	decisions, _, err := p.f.Operate(p.now, flow.Request{Kind: flow.CancelTask, Tasks: []string{"b"}})
	require.NoError(t, err)
	p.do(decisions)
	assert.Equal(t, "canceled", p.state("b"))
	assert.Empty(t, p.asks, "the request is withdrawn")

	decisions, _, err = p.f.Operate(p.now, flow.Request{Kind: flow.Retry, Tasks: []string{"a"}})
	require.NoError(t, err)
	p.do(decisions)
	require.Len(t, p.asks, 1)
	assert.Greater(t, p.asks[0].Ask.Number, first+1)
	p.do(p.f.Granted(p.now, "a", first))
	assert.Empty(t, p.running, "an answer to the first request is not one to this")
	p.grant(0)
	assert.Contains(t, p.running, "a")
}

func TestPausedRunKeepsWhatWasGranted(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, noop: true, resources: {db: 1}}\n", flow.Config{})
	p.do(p.f.Pause(p.now, "ann", "lunch"))
	p.grant(0)
	assert.Empty(t, p.running)
	assert.Equal(t, "the run is paused: lunch", p.view("a").Waiting)
	p.roll(flow.Config{})
	assert.Empty(t, p.running)
	p.do(p.f.Resume(p.now))
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
`, flow.Config{})
	p.do(p.f.SetWorkers(p.now, []flow.Worker{worker("w", 4)}))
	p.grant(1)
	p.ended("fails", flow.Ending{Failure: placement.FailureFailed, Message: "no"})
	p.roll(flow.Config{JobTypes: map[string]flow.JobType{}})
	require.Len(t, p.asks, 1, "it does not ask again")
	assert.Equal(t, "resources: 1 of pool db", p.view("typed").Waiting)
	p.grant(0)
	assert.Equal(t, []string{"j"}, p.lookups, "the job type was not known before")
	p.do(p.f.SetJobType(p.now, "j", flow.JobType{Handler: "h", Policy: jobtype.Policy{}}, ""))
	p.ended("typed", flow.Ending{})
	p.pass(5 * time.Second)
	p.ended("fails", flow.Ending{})
	assert.Empty(t, p.held)
	require.Len(t, p.asks, 1)
	assert.Equal(t, 3, p.asks[0].Ask.Number, "numbers go on")
	p.grant(0)
	p.ended("later", flow.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome, fmt.Sprint(p.f.Counts()))
}
