package admission

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/callopts"
)

const (
	// A retry of the activity adds no events to the history.
	watchTimeout = 24 * time.Hour
	// watchHeartbeat bounds the time until another control plane continues a watch.
	watchHeartbeat = 10 * time.Second
	lateTimeout    = 15 * time.Minute
)

func callWatchHolders(ctx workflow.Context) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, watching(watchTimeout, "watch for holders that end"))
	return workflow.ExecuteActivity(ctx, contract.WatchHoldersActivity)
}

func callAskHolders(ctx workflow.Context, in contract.AskHoldersInput) workflow.Future {
	options := callopts.ControlOptions("request the holdings of running workflows")
	if !in.LateSince.IsZero() {
		options = watching(lateTimeout, "request the holdings of workflows that show late")
	}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.AskHoldersActivity, in)
}

func watching(timeout time.Duration, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           contract.ControlQueue,
		StartToCloseTimeout: timeout,
		HeartbeatTimeout:    watchHeartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1},
		Summary:             summary,
	}
}
