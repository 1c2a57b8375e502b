package run_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/testsuite/envtest"
	"github.com/roundsman/roundsman/workflows/run"
)

// TestADeliveredOutcomeComesBeforeAFailedAdoption: one workflow task has the delivered outcome
// of an attempt, and the end of its adoption. The item has run, so it does not run again.
func TestADeliveredOutcomeComesBeforeAFailedAdoption(t *testing.T) {
	t.Parallel()
	for name, adoption := range map[string]func() error{
		"not running": func() error { return envtest.FailureOf(contract.FailureNotRunning) },
		"silent":      func() error { return temporal.NewHeartbeatTimeoutError() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.RegisterActivityWithOptions(func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
				return contract.ExecuteState{}, adoption()
			}, activity.RegisterOptions{Name: contract.ExecuteActivity})
			b.RegisterDelayedCallback(func() {
				for _, id := range []string{"job-00001", "unknown"} {
					b.SignalWorkflow(contract.SignalJobOutcome, contract.JobOutcomeInput{
						JobID: contract.AttemptID(id, 1), Attempt: 1, Fence: 7, Outcome: contract.ExecuteState{Worker: "node-a", Instance: "i-node-a"},
					})
				}
			}, time.Second)
			b.ExecuteWorkflow(func(ctx workflow.Context) error {
				r := run.New(ctx, run.Options{JobType: "scrub"})
				r.Adopt(engine.Decision{Kind: engine.Adopt, Item: 1, Attempt: 1, Adoption: 1, Worker: "node-a", Instance: "i-node-a", Fence: 7, Timeout: time.Hour, HeartbeatTimeout: time.Minute}, "job-00001", "scrub")
				if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
					return err
				}
				r.Collect() // Whether the server was away is known.
				if err := workflow.Sleep(ctx, time.Minute); err != nil {
					return err
				}
				endings := r.Endings(contract.JobNumber)
				require.Len(t, endings, 2)
				delivered, first := endings[0].(engine.Delivered)
				require.True(t, first, "%+v", endings)
				assert.Equal(t, 1, delivered.Item)
				assert.Empty(t, delivered.Ending.Failure)
				assert.IsType(t, engine.Ended{}, endings[1])
				assert.Empty(t, r.Endings(contract.JobNumber), "each once")
				return nil
			})
			require.NoError(t, b.GetWorkflowError())
		})
	}
}

// TestReportsOfOneWorkflowTask: a key fails, and the run ends in the same workflow task. Both reports of endings arrive.
func TestReportsOfOneWorkflowTask(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ExecuteWorkflow(func(ctx workflow.Context) error {
		r := run.New(ctx, run.Options{JobType: "scrub"})
		r.Admission.SetBudget(&contract.RetryBudget{}, true)
		r.Admission.Report(contract.AdmissionEndings{Failed: []contract.AdmissionFailure{{Attempt: "job-00001.1", DedupeKey: "bad"}}})
		r.Admission.Report(contract.AdmissionEndings{SuccessAt: r.Now()})
		return r.Close(contract.AdmissionEndings{Done: admission.PackKeys([]uint64{7})})
	})
	require.NoError(t, b.GetWorkflowError())
	require.Len(t, b.requests, 1)
	reported := b.requests[0].Endings
	require.Len(t, reported, 3)
	assert.Len(t, reported[0].Failed, 1)
	assert.False(t, reported[1].SuccessAt.IsZero())
	assert.NotEmpty(t, reported[2].Done)
	assert.True(t, reported[0].At.Before(reported[1].At) && reported[1].At.Before(reported[2].At), "the time identifies a report")
}
