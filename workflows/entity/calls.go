package entity

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/callopts"
)

// endLimit is how long a new entity tries to learn who ended the one before it.
const endLimit = 5 * time.Minute

func callEntityEnd(ctx workflow.Context, in contract.EntityEndInput) workflow.Future {
	options := callopts.ControlOptions("who ended the run before?")
	options.ScheduleToCloseTimeout = endLimit
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.EntityEndActivity, in)
}
