package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/calls"
)

const (
	// watchTimeout bounds one attempt of the watcher. Ending and starting again
	// within the activity's retries costs no history.
	watchTimeout = 24 * time.Hour
	// watchHeartbeat is how soon another control plane takes the watch over.
	watchHeartbeat = 10 * time.Second
)

func callEnsureAdmission(ctx workflow.Context, in contract.EnsureAdmissionInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, calls.ControlOptions("start admission, which is missing"))
	return workflow.ExecuteActivity(ctx, contract.EnsureAdmissionActivity, in)
}

func callWatchHolders(ctx workflow.Context) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           contract.ControlQueue,
		StartToCloseTimeout: watchTimeout,
		HeartbeatTimeout:    watchHeartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1},
		Summary:             "watch for holders that end",
	})
	return workflow.ExecuteActivity(ctx, contract.WatchHoldersActivity)
}

func callAskHolders(ctx workflow.Context) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, calls.ControlOptions("ask running groups what they hold"))
	return workflow.ExecuteActivity(ctx, contract.AskHoldersActivity)
}
