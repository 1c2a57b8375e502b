package graph_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
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

// A run of a DAG does the same with its tasks.
func TestDAGWaitsForRoomOnAWorkerThatOthersFill(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	n := &neighbour{began: b.Now()}
	n.freed = n.began.Add(2*time.Minute + 500*time.Millisecond)
	b.execute = func(contract.ExecuteInput) (contract.ExecuteState, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return n.execute(b.Now())
	}
	room := n.room()
	room.Handler = "command"
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalWorkerRoom, room) }, n.freed.Sub(n.began))
	text := "version: 1\nname: crowded\ntasks:\n"
	for i := range 12 {
		text += fmt.Sprintf("  - {id: t%d, command: [x]}\n", i)
	}
	result := b.run(text, contract.DAGInput{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.LessOrEqual(t, n.sentBack, 4+5)
	assert.Less(t, n.firstAfter, time.Second)
}
