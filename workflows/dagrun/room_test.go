package dagrun_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/envtest"
)

// A DAG run waits for room in the same way with its tasks.
func TestDAGWaitsForRoomOnAWorkerThatOthersFill(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	n := envtest.FilledFor("command", b.Now(), 2*time.Minute+500*time.Millisecond)
	b.execute = func(contract.ExecuteInput) (contract.ExecuteState, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return n.Execute(b.Now())
	}
	n.ReportRoom(b.TestWorkflowEnvironment)
	text := "version: 1\nname: crowded\ntasks:\n"
	for i := range 12 {
		text += fmt.Sprintf("  - {id: t%d, command: [x]}\n", i)
	}
	result := b.run(text, contract.DAGInput{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.LessOrEqual(t, n.Returned, 4+5)
	assert.Less(t, n.FirstAfter, time.Second)
}
