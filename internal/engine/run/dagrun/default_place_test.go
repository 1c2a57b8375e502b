package dagrun_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

// A DAG of a job runs where its proposal requires, except tasks with a place of their own and tasks without a worker.
func TestTasksRunWhereTheRunSays(t *testing.T) {
	t.Parallel()
	const text = `
version: 1
name: placed
tasks:
  - {id: plain, command: [x]}
  - {id: pinned, node: w2, command: [x]}
  - {id: labelled, labels: {disk: ssd}, command: [x]}
  - {id: typed, job_type: j}
  - {id: join, noop: true}
`
	ssd := worker("w3", 9)
	ssd.Labels = map[string]string{"disk": "ssd", "rack": "r1"}
	ssd.Shared = []string{"j"}
	types := map[string]dagrun.JobType{"j": {Handler: "h"}}
	shared := types["j"]
	shared.Policy.Routing = "shared"
	types["j"] = shared
	places := func(cfg dagrun.Config) map[string]string {
		cfg.JobTypes = types
		p := start(t, text, cfg)
		p.workers(worker("w1", 9), worker("w2", 9), ssd)
		where := map[string]string{}
		for id, d := range p.running {
			if d.Job != nil {
				where[id] = d.Worker
			}
		}
		assert.Contains(t, p.running, "join")
		return where
	}
	assert.Equal(t, map[string]string{"plain": "w1", "pinned": "w2", "labelled": "w3", "typed": "w1"}, places(dagrun.Config{Node: "w1"}))
	assert.Equal(t, map[string]string{"plain": "w3", "pinned": "w2", "labelled": "w3", "typed": "w3"}, places(dagrun.Config{Labels: map[string]string{"rack": "r1"}}))
	assert.Empty(t, places(dagrun.Config{})["typed"], "without, the shared queue decides")
}

// A handler's cap is for that handler: other work on the worker does not use it.
func TestCapOfAHandlerIsItsOwn(t *testing.T) {
	t.Parallel()
	types := map[string]dagrun.JobType{"j": {Handler: "h"}}
	p := start(t, `
version: 1
name: capped
tasks:
  - {id: c1, command: [x]}
  - {id: c2, command: [x]}
  - {id: h1, job_type: j}
  - {id: h2, job_type: j}
`, dagrun.Config{JobTypes: types})
	p.workers(worker("w", 3))
	assert.Equal(t, []string{"c1", "c2", "h1"}, p.ids())
	p.ended("c1", run.Ending{})
	assert.Equal(t, contract.CodeSlots, p.wait("h2").Code, "its handler may run once there")
	p.ended("h1", run.Ending{})
	assert.Equal(t, []string{"c2", "h2"}, p.ids())
}
