package dagrun_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/contract"
)

// TestDAGTellsOfOperatorsAndDelays covers both, with a continue-as-new.
func TestDAGTellsOfOperatorsAndDelays(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	tries := 0
	b.execute = func(contract.ExecuteInput) (contract.ExecuteState, error) {
		if tries++; tries == 1 {
			return contract.ExecuteState{}, errors.New("not yet")
		}
		return contract.ExecuteState{Worker: "node-a"}, nil
	}
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalPause, contract.PauseInput{Note: "look"}) }, time.Minute)
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalResume, nil) }, 2*time.Minute)
	b.RegisterDelayedCallback(func() {
		b.UpdateWorkflow(contract.UpdateApprove, "1", &sdktest.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { assert.NoError(t, err) }, OnComplete: func(any, error) {},
		}, contract.DecideTaskInput{Task: "gate", By: "ann", Note: "fine"})
	}, 3*time.Minute)
	result := b.run(`version: 1
name: audited
tasks:
  - {id: work, command: ["true"], retries: {limit: 2, backoff: 30s}}
  - {id: gate, approval: {prompt: fine}, needs: [work]}
`, contract.DAGInput{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	run := "default-test-workflow-id"
	assert.ElementsMatch(t, []string{
		"dag.pause " + run, "dag.resume " + run, "dag.approve " + run + "/gate", "delayed RETRY_BACKOFF_UNTIL " + run,
	}, b.audit.Lines())
	for _, e := range b.audit.Entries() {
		assert.Equal(t, "audited", e.JobType)
		if e.Action == "dag.approve" {
			assert.Equal(t, []string{"ann", "fine", "gate: running", "gate: completed"}, []string{e.Actor, e.Detail, e.Before, e.After})
		}
	}
}

// TestActionsOnAnEndingDAGAreRecorded: the last task has ended, and the DAG returns its grants.
func TestActionsOnAnEndingDAGAreRecorded(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	b.OnSignalExternalWorkflow(mock.Anything, contract.AdmissionWorkflowID, "", contract.SignalAdmissionRequest, mock.Anything).Return(
		func(_, _, _, _ string, arg any) error {
			request, ok := arg.(contract.AdmissionRequest)
			require.True(t, ok)
			if request.ReleaseAll {
				b.SignalWorkflow(contract.SignalPause, contract.PauseInput{Note: "disk 7", By: "bob"})
				b.SignalWorkflow(contract.SignalCancelRun, contract.CancelRunInput{Reason: "enough", By: "eve"})
			}
			if len(request.Items) > 0 {
				b.SignalWorkflow(contract.SignalAdmissionAnswer, *grantAll(request))
			}
			return nil
		})
	result := b.run("version: 1\nname: pooled\ntasks: [{id: a, resources: {db: 1}, noop: true}]\n", contract.DAGInput{Resources: map[string]int{"db": 5}})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	run := "default-test-workflow-id"
	assert.ElementsMatch(t, []string{"dag.pause ALREADY_ENDED " + run, "dag.cancel ALREADY_ENDED " + run}, b.audit.Lines())
}
