package workflows

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/flow"
	"github.com/roundsman/roundsman/internal/dispatch"
)

// subDAGID is the workflow id of a task's sub-DAG, the same for all its attempts.
func (r *dagRun) subDAGID(task string) string {
	return contract.SubDAGWorkflowID(workflow.GetInfo(r.ctx).WorkflowExecution.ID, task)
}

func (r *dagRun) startSubDAG(d *flow.Decision) {
	ctx, cancel := workflow.WithCancel(r.ctx)
	id := r.flow.Run().ID(d.Task)
	future := callSubDAG(ctx, r.subDAGID(id), "task "+id+" of "+r.in.Name,
		contract.DAGInput{Depth: r.in.Depth + 1, By: r.in.By, RollEvents: r.in.RollEvents, Resources: r.in.Resources, DeclaredAt: r.link.base.DeclaredAt}, d.Graph)
	r.attempts = append(r.attempts, dagAttempt{task: d.Task, n: d.Attempt, kind: d.Kind, future: future, cancel: cancel})
}

// insist repeats the cancellation of a sub-DAG, which can be requested only once
// but said as often as one likes.
func (r *dagRun) insist(d *flow.Decision) {
	callCancelDAG(r.ctx, r.subDAGID(r.flow.Run().ID(d.Task)), contract.CancelDAGInput{Reason: d.Reason})
}

// endingOfSubDAG says in words of ours what became of a sub-DAG: the SDK's are
// about its own things.
func endingOfSubDAG(err error, id string) dispatch.Ending {
	var (
		canceled    *temporal.CanceledError
		terminated  *temporal.TerminatedError
		taken       *temporal.ChildWorkflowExecutionAlreadyStartedError
		application *temporal.ApplicationError
		timeout     *temporal.TimeoutError
	)
	switch {
	case errors.As(err, &canceled):
		message := id + " was canceled"
		var result contract.DAGResult
		if canceled.HasDetails() && canceled.Details(&result) == nil && result.Reason != "" {
			message += ": " + result.Reason
		}
		return dispatch.Ending{Failure: dispatch.FailureCanceled, Message: message}
	case errors.As(err, &terminated):
		return dispatch.Ending{Failure: dispatch.FailureFailed, Message: id + " was terminated"}
	case errors.As(err, &taken):
		return dispatch.Ending{
			Failure: dispatch.FailureNotTaken, Message: "another workflow is open under the id of this sub-DAG's run, " + id,
		}
	case errors.As(err, &timeout):
		return dispatch.Ending{Failure: dispatch.FailureTimeout, Message: id + " ran into its workflow timeout"}
	case errors.As(err, &application):
		return dispatch.Ending{Failure: dispatch.FailureFailed, Message: application.Message()}
	}
	return dispatch.Ending{Failure: dispatch.FailureFailed, Message: err.Error()}
}
