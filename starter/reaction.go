package starter

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	// reactionTimeout is how long a run is watched that was sent a request. One that
	// reacts does so in milliseconds; the first failure of a workflow task is known as
	// soon as a control plane has tried it.
	reactionTimeout = 8 * time.Second
	// reactionLook is the pause between two looks.
	reactionLook = 100 * time.Millisecond
)

// reacted watches what a run does with a request that it was sent. It returns nil as soon
// as the run continues, and if nothing is known in time: the request is delivered, and
// acted on when a control plane is there. A run whose workflow tasks fail, or which is
// paused in Temporal, never reads it: that is the error, with what ends the run.
func (r Runs) reacted(ctx context.Context, ref RunRef) error {
	present, done := r.client.patient(ctx, ref) // It ends early if no control plane is there.
	defer done()
	limited, cancel := context.WithTimeout(present, reactionTimeout)
	defer cancel()
	// A run that has ended two workflow tasks since the first look has read the request: only
	// one can have begun before it came. A busy run always has another one.
	var scheduled time.Time
	for ended := -1; ended < 2; {
		described, err := r.client.temporal.DescribeWorkflowExecution(limited, ref.WorkflowID, "")
		if err != nil {
			return nil // The request was taken; only what became of it is unknown.
		}
		status := described.GetWorkflowExecutionInfo().GetStatus()
		task := described.GetPendingWorkflowTask()
		switch {
		case status == enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED, task.GetAttempt() > 1:
			if silent := r.client.pausedOrStuck(ctx, RunRef{WorkflowID: ref.WorkflowID}); silent != nil {
				return fmt.Errorf("the request was sent, but the run does not react: %w", silent)
			}
		case status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, task == nil:
			return nil
		}
		if at := rpc.Time(task.GetOriginalScheduledTime()); !at.Equal(scheduled) {
			scheduled = at
			ended++
		}
		if rpc.Wait(limited, reactionLook) != nil {
			return nil
		}
	}
	return nil
}
