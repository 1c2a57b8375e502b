package group_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TestAStalledHandlerIsNotCalledALostWorker: both end with a missed heartbeat, and only the last heartbeat
// shows the difference.
func TestAStalledHandlerIsNotCalledALostWorker(t *testing.T) {
	t.Parallel()
	for want, last := range map[string]contract.Heartbeat{
		"no heartbeat from worker node-a since it was at 40%, copy (on_worker_loss is fail)": {Percent: 40, Stage: "copy"},
		"no heartbeat from worker node-a (on_worker_loss is fail)":                           {},
		"the handler on worker node-a reported nothing for 30s (stall_timeout) since it was at 40%, copy: it hangs, or it should call Progress.Report or Alive more often " +
			"(on_worker_loss is fail)": {Percent: 40, Stage: "copy", Stalled: jobtype.Duration(30 * time.Second)},
	} {
		b := newBench(t)
		b.found = proposals(1)
		b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
			if in.Adopt {
				return contract.ExecuteState{}, failure(contract.FailureNotRunning)
			}
			return contract.ExecuteState{}, temporal.NewHeartbeatTimeoutError(last)
		}
		result := b.run(jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossFail})
		require.Len(t, result.Errors, 1)
		assert.Contains(t, result.Errors[0].Message, want)
	}
}

// The server ends a detection as soon as the worker does; its error must name the setting, too.
func TestADetectionOverItsTimeoutNamesIt(t *testing.T) {
	t.Parallel()
	late := func(policy jobtype.Policy) contract.JobGroupResult {
		b := newBench(t)
		b.detect = func(contract.DetectActivityInput) error {
			return temporal.NewTimeoutError(enums.TIMEOUT_TYPE_START_TO_CLOSE, nil)
		}
		return b.run(policy)
	}
	result := late(jobtype.Policy{DetectionTimeout: jobtype.Duration(3 * time.Second)})
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.Contains(t, result.Reason, "over the detection timeout of 3s")
	ending := late(jobtype.Policy{DetectionTimeout: jobtype.Duration(time.Hour), MaxRuntime: jobtype.Duration(20 * time.Second)})
	assert.NotContains(t, ending.Reason, "detection timeout", "the rest of the run's time was the limit")
}
