package recorder

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/callopts"
)

func callRecordAudit(ctx workflow.Context, in contract.RecordAuditInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, callopts.ControlOptions("record in the audit log"))
	return workflow.ExecuteActivity(ctx, contract.RecordAuditActivity, in)
}
