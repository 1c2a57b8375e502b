package dagrun_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

// commands is a DAG of independent command tasks.
func commands(n int) string {
	text := "version: 1\nname: d\ntasks:\n"
	for i := range n {
		text += fmt.Sprintf("  - {id: t%02d, command: [x]}\n", i)
	}
	return text
}

func (p *play) on(worker string) (tasks []string) {
	for id, d := range p.running {
		if d.Job != nil && d.Worker == worker {
			tasks = append(tasks, id)
		}
	}
	return tasks
}

func (p *play) endSaying(id string, failure contract.FailureKind, others int) {
	d := p.running[id]
	delete(p.running, id)
	p.do(p.endedOf(d.Item, d.Attempt, run.Ending{Failure: failure, Load: run.LoadReport{At: p.now, Others: others}}))
}

// Other runs fill a: the run's tasks come back from there once. Then it is tried at times, and used again when a task
// on it reports free slots.
func TestTasksKeepAwayFromAWorkerThatOthersFill(t *testing.T) {
	t.Parallel()
	p := start(t, commands(12), dagrun.Config{})
	p.workers(worker("a", 2), worker("b", 1))
	require.Len(t, p.on("a"), 2)
	require.Len(t, p.on("b"), 1)
	for _, id := range p.on("a") {
		p.endSaying(id, contract.FailureAtCapacity, 2)
	}
	assert.Empty(t, p.on("a"))
	p.now = p.now.Add(run.CoolDown)
	p.do(p.g.Next(p.now, run.Tick{}))
	assert.Empty(t, p.on("a"), "it does not have to cool down, it is full")
	waits, _ := p.g.RunWaits(5)
	require.Len(t, waits, 1)
	assert.Equal(t, contract.CodeSlots, waits[0].Code)
	assert.Equal(t, 11, waits[0].Tasks)

	for range 10 {
		if p.now = p.g.NextWake(); len(p.on("a")) > 0 {
			break
		}
		p.do(p.g.Next(p.now, run.Tick{}))
	}
	require.Len(t, p.on("a"), 1, "a trial")
	assert.LessOrEqual(t, p.now.Sub(epoch), 13*time.Second)
	p.endSaying(p.on("a")[0], contract.FailureNone, 0)
	assert.Len(t, p.on("a"), 2, "they have gone")
}

// Two handlers share a worker: the cap of one does not count the attempts of the other.
func TestHandlersCapsAreUsedInFull(t *testing.T) {
	t.Parallel()
	text := "version: 1\nname: d\ntasks:\n"
	for i := range 4 {
		text += fmt.Sprintf("  - {id: c%d, command: [x]}\n", i)
	}
	text += "  - {id: j1, job_type: jt}\n  - {id: j2, job_type: jt}\n"
	p := start(t, text, dagrun.Config{JobTypes: map[string]dagrun.JobType{"jt": {Handler: "h"}}})
	p.workers(worker("a", 8))
	assert.Len(t, p.on("a"), 5, "four commands, and one task of a handler with a cap of one: %v", p.running)
}

// A worker that sent tasks back reports free slots.
func TestAWorkerThatHasRoomIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, commands(6), dagrun.Config{})
	p.workers(worker("a", 2))
	for _, id := range p.on("a") {
		p.endSaying(id, contract.FailureAtCapacity, 2)
	}
	require.Empty(t, p.on("a"))
	p.now = p.now.Add(time.Second)
	p.do(p.g.Next(p.now, run.WorkerHasRoom{ID: "a", Instance: "i1", Handler: dagrun.CommandHandler, Load: run.LoadReport{At: p.now, Others: 1}}))
	assert.Len(t, p.on("a"), 1)
}
