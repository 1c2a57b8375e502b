package audit

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/callopts"
)

func callAdoptAudit(ctx workflow.Context, in contract.AdoptAuditInput) workflow.Future {
	options := callopts.ControlOptions("take over the log of the run before")
	options.RetryPolicy.MaximumAttempts = contract.AdoptAuditAttempts
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.AdoptAuditActivity, in)
}
