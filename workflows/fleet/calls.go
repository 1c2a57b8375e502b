package fleet

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

const (
	// A retry of the activity adds no events to the history.
	observeTimeout = 24 * time.Hour
	// observeHeartbeat bounds the gap in the observation after a kill -9 of the control plane.
	observeHeartbeat = 10 * time.Second
	// observeRetry is short because it applies to every restart of a control plane or server.
	observeRetry = time.Second
)

func callObserveWorkers(ctx workflow.Context, in contract.ObserveWorkersInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           contract.ControlQueue,
		StartToCloseTimeout: observeTimeout,
		HeartbeatTimeout:    observeHeartbeat,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: observeRetry, BackoffCoefficient: 1,
			NonRetryableErrorTypes: []string{contract.HeartbeatsUnsupportedError},
		},
		Summary: "watch the heartbeats of all workers",
	})
	return workflow.ExecuteActivity(ctx, contract.ObserveWorkersActivity, in)
}
