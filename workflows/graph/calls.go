package graph

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/calls"
)

func callCompileDAG(ctx workflow.Context, in contract.CompileDAGInput) workflow.Future {
	options := calls.ControlOptions("compile the DAG")
	options.RetryPolicy.NonRetryableErrorTypes = []string{contract.DAGInvalidError}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.CompileDAGActivity, in)
}

func callLookUpJobType(ctx workflow.Context, in contract.LookUpJobTypeInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, calls.ControlOptions("look up job type "+in.JobType))
	return workflow.ExecuteActivity(ctx, contract.LookUpJobTypeActivity, in)
}
