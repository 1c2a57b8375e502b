package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/calls"
)

func callEnsureAdmission(ctx workflow.Context, in contract.EnsureAdmissionInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, calls.ControlOptions("start admission, which is missing"))
	return workflow.ExecuteActivity(ctx, contract.EnsureAdmissionActivity, in)
}
