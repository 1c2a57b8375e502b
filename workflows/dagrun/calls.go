package dagrun

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/callopts"
)

func callCompileDAG(ctx workflow.Context, in contract.CompileDAGInput) workflow.Future {
	options := callopts.ControlOptions("compile the DAG")
	options.RetryPolicy.NonRetryableErrorTypes = []string{contract.DAGInvalidError}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.CompileDAGActivity, in)
}

func callLaneReport(ctx workflow.Context, group string, in contract.LaneReport) workflow.Future {
	return workflow.SignalExternalWorkflow(ctx, group, "", contract.SignalLaneReport, in)
}

func callLookUpJobType(ctx workflow.Context, in contract.LookUpJobTypeInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, callopts.ControlOptions("look up job type "+in.JobType))
	return workflow.ExecuteActivity(ctx, contract.LookUpJobTypeActivity, in)
}
