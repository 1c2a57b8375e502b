package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

func callRecordAudit(ctx workflow.Context, in contract.RecordAuditInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, controlOptions("record in the audit log"))
	return workflow.ExecuteActivity(ctx, contract.RecordAuditActivity, in)
}

func callAdoptAudit(ctx workflow.Context, in contract.AdoptAuditInput) workflow.Future {
	options := controlOptions("take over the log of the run before")
	options.ScheduleToCloseTimeout = adoptLimit
	ctx = workflow.WithActivityOptions(ctx, options)
	return workflow.ExecuteActivity(ctx, contract.AdoptAuditActivity, in)
}
