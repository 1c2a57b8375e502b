package entity

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/callopts"
)

// endAttempts is about five minutes of a running control plane. A time limit would also count while none runs.
const endAttempts = 30

func callEntityEnd(ctx workflow.Context, in contract.EntityEndInput) workflow.Future {
	options := callopts.ControlOptions("who ended the run before?")
	options.RetryPolicy.MaximumAttempts = endAttempts
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.EntityEndActivity, in)
}
