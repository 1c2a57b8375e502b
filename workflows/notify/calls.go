package notify

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

const (
	// watchTimeout bounds one attempt of the watcher, which returns after a quarter of it.
	watchTimeout = 24 * time.Hour
	// heartbeat bounds the time until the loss of a control plane is detected.
	heartbeat = 15 * time.Second
	// deliverTimeout is the longest timeout of a receiver plus a margin.
	deliverTimeout = time.Minute
)

func callWatchEvents(ctx workflow.Context, in contract.WatchEventsInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: contract.ControlQueue, StartToCloseTimeout: watchTimeout, HeartbeatTimeout: heartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
		WaitForCancellation: true,
		Summary:             "watch for events with receivers",
	})
	return workflow.ExecuteActivity(ctx, contract.WatchEventsActivity, in)
}

// callDeliver makes one attempt. The queue decides when to repeat it.
func callDeliver(ctx workflow.Context, in contract.Delivery) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: contract.ControlQueue, StartToCloseTimeout: deliverTimeout, HeartbeatTimeout: heartbeat,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:     string(in.Event) + " to " + in.Receiver,
	})
	return workflow.ExecuteActivity(ctx, contract.DeliverActivity, in)
}
