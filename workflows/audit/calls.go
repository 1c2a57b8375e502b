package audit

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/callopts"
)

// adoptAttempts bounds the attempts to take over the log of the run before: about two minutes of a running
// control plane. New entries wait meanwhile. A limit of time would also count while no control plane runs.
const adoptAttempts = 15

func callAdoptAudit(ctx workflow.Context, in contract.AdoptAuditInput) workflow.Future {
	options := callopts.ControlOptions("take over the log of the run before")
	options.RetryPolicy.MaximumAttempts = adoptAttempts
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.AdoptAuditActivity, in)
}
