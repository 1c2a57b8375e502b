package group_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/envtest"
)

// All workers are full for two minutes. Prefetched jobs return once and trials become rare. After the worker
// reports free slots, all jobs complete.
func TestGroupWaitsForRoomOnAWorkerThatOthersFill(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(40)
	n := envtest.FilledFor("fake", b.Now(), 2*time.Minute+500*time.Millisecond)
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return n.Execute(b.Now())
	}
	b.RegisterDelayedCallback(func() {
		value, err := b.QueryWorkflow(contract.QueryStatus)
		var status contract.GroupStatus
		if assert.NoError(t, err) && assert.NoError(t, value.Get(&status)) && assert.Len(t, status.Workers, 1) {
			assert.Equal(t, 4, status.Workers[0].Others)
			assert.Zero(t, status.Running)
		}
	}, time.Minute)
	n.ReportRoom(b.TestWorkflowEnvironment)
	result := b.run(jobtype.Policy{GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 4})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 40, result.Counts.Completed)
	assert.Equal(t, n.Returned, result.Counts.Replacements)
	assert.LessOrEqual(t, n.Returned, 4+5, "four at first, and trials after 5, 10, 20, 40 and 60 s")
	assert.Less(t, n.FirstAfter, time.Second)
}
