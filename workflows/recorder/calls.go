package recorder

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/calls"
)

func callRecordAudit(ctx workflow.Context, in contract.RecordAuditInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, calls.ControlOptions("record in the audit log"))
	return workflow.ExecuteActivity(ctx, contract.RecordAuditActivity, in)
}
