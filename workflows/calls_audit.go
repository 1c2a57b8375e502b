package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/calls"
)

func callAdoptAudit(ctx workflow.Context, in contract.AdoptAuditInput) workflow.Future {
	options := calls.ControlOptions("take over the log of the run before")
	options.ScheduleToCloseTimeout = adoptLimit
	ctx = workflow.WithActivityOptions(ctx, options)
	return workflow.ExecuteActivity(ctx, contract.AdoptAuditActivity, in)
}
