package workflows

import (
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/calls"
)

// noopTimeout bounds one attempt of an activity that does nothing: it is the
// time in which a control plane that was killed is noticed.
const noopTimeout = 10 * time.Second

// noopContext is what all no-op tasks of a run are called in.
func noopContext(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: contract.ControlQueue, StartToCloseTimeout: noopTimeout,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
	})
}

// callNoop runs a task that only joins others. ctx is a noopContext.
func callNoop(ctx workflow.Context, task string, n int) workflow.Future {
	options := workflow.GetActivityOptions(ctx)
	options.ActivityID = contract.AttemptID(task, n)
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.NoopActivity)
}

// callSubDAG runs a DAG as a child workflow, under an id of its own.
func callSubDAG(ctx workflow.Context, id, summary string, in contract.DAGInput, graph []byte) workflow.Future {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, TaskQueue: contract.ControlQueue,
		// The child ends properly, with its own running tasks, when it is
		// canceled or its parent is gone.
		WaitForCancellation: true, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         summary,
	})
	return workflow.ExecuteChildWorkflow(ctx, contract.DAGWorkflow, in, graph, []byte(nil))
}

// callCancelDAG tells a run to end. Where it has ended already, or has not begun,
// there is nothing to tell: a cancellation was requested before.
func callCancelDAG(ctx workflow.Context, id string, in contract.CancelDAGInput) {
	workflow.SignalExternalWorkflow(ctx, id, "", contract.SignalCancelDAG, in)
}

func callCompileDAG(ctx workflow.Context, in contract.CompileDAGInput) workflow.Future {
	options := calls.ControlOptions("compile the DAG")
	options.RetryPolicy.NonRetryableErrorTypes = []string{contract.DAGInvalidError}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.CompileDAGActivity, in)
}

func callLookUpJobType(ctx workflow.Context, in contract.LookUpJobTypeInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, calls.ControlOptions("look up job type "+in.JobType))
	return workflow.ExecuteActivity(ctx, contract.LookUpJobTypeActivity, in)
}
