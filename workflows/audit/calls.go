package audit

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/callopts"
)

// adoptLimit is how long a new log tries to take over the one before it. New
// entries wait meanwhile.
const adoptLimit = 2 * time.Minute

func callAdoptAudit(ctx workflow.Context, in contract.AdoptAuditInput) workflow.Future {
	options := callopts.ControlOptions("take over the log of the run before")
	options.ScheduleToCloseTimeout = adoptLimit
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.AdoptAuditActivity, in)
}
