package fleet

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

const (
	// observeTimeout bounds one attempt of the observation. Ending and starting
	// again within the activity's retries costs no history.
	observeTimeout = 24 * time.Hour
	// observeHeartbeat is how soon the server notices that the observing control
	// plane is gone. It bounds how long the workers are not observed after a kill -9.
	observeHeartbeat = 10 * time.Second
	// observeRetry is the pause before the next attempt: short, because every
	// restart of a control plane or server leads here.
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
