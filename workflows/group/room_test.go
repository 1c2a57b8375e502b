package group_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// neighbour plays a worker that others fill until a moment, when it tells so.
type neighbour struct {
	began, freed time.Time
	sentBack     int
	firstAfter   time.Duration
}

func (n *neighbour) execute(now time.Time) (contract.ExecuteState, error) {
	state := contract.ExecuteState{Worker: "node-a", Instance: "i-node-a", StartedAt: now}
	if now.Before(n.freed) {
		n.sentBack++
		state.Failure, state.Others = contract.FailureAtCapacity, 4
		return state, failureWith(contract.FailureAtCapacity, state)
	}
	if n.firstAfter == 0 {
		n.firstAfter = now.Sub(n.freed)
	}
	return state, nil
}

func (n *neighbour) room() contract.WorkerRoomInput {
	return contract.WorkerRoomInput{Worker: "node-a", Instance: "i-node-a", Handler: "fake", At: n.freed}
}

// Everything is full for two minutes. What was sent comes back once, trials become
// rare, and all is done when the worker says that there is room.
func TestGroupWaitsForRoomOnAWorkerThatOthersFill(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(40)
	n := &neighbour{began: b.Now()}
	n.freed = n.began.Add(2*time.Minute + 500*time.Millisecond)
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return n.execute(b.Now())
	}
	b.RegisterDelayedCallback(func() {
		value, err := b.QueryWorkflow(contract.QueryStatus)
		var status contract.GroupStatus
		if assert.NoError(t, err) && assert.NoError(t, value.Get(&status)) && assert.Len(t, status.Workers, 1) {
			assert.Equal(t, 4, status.Workers[0].Others)
			assert.Zero(t, status.Running)
		}
	}, time.Minute)
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalWorkerRoom, n.room()) }, n.freed.Sub(n.began))
	result := b.run(jobtype.Policy{GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 4})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 40, result.Counts.Completed)
	assert.Equal(t, n.sentBack, result.Counts.Replacements)
	assert.LessOrEqual(t, n.sentBack, 4+5, "four at first, and trials after 5, 10, 20, 40 and 60 s")
	assert.Less(t, n.firstAfter, time.Second)
}
