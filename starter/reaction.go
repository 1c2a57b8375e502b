package starter

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	// A run reacts in milliseconds. A failing workflow task shows with the first attempt. A longer [Options.AskWithin] counts.
	reactionTimeout = 8 * time.Second
	reactionLook    = 100 * time.Millisecond
)

// reacted returns true as soon as the run has read a request, and false without a result in time: a later control plane
// reads the request. If the run's workflow tasks fail, or it is paused in Temporal, the error names the remedy.
func (r Runs) reacted(ctx context.Context, ref RunRef) (read bool, err error) {
	present, done := r.client.patient(ctx, ref) // It ends early without a control plane.
	defer done()
	limited, cancel := context.WithTimeout(present, max(reactionTimeout, r.client.askWithin))
	defer cancel()
	// A run that has ended two workflow tasks since the first look has read the request.
	var scheduled time.Time
	for ended := -1; ended < 2; {
		described, err := r.client.temporal.DescribeWorkflowExecution(limited, ref.WorkflowID, "")
		if err != nil {
			return false, nil // The request was accepted; its effect is unknown.
		}
		status := described.GetWorkflowExecutionInfo().GetStatus()
		task := described.GetPendingWorkflowTask()
		switch {
		case status == enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED, task.GetAttempt() > 1:
			if silent := r.client.pausedOrStuck(ctx, RunRef{WorkflowID: ref.WorkflowID}); silent != nil {
				return false, fmt.Errorf("the request was sent, but the run does not react: %w", silent)
			}
		case status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, task == nil:
			if unread := unreadOf(described); unread != nil {
				return false, fmt.Errorf("the request was sent, but the run does not read it yet: %w", unread)
			}
			return true, nil
		}
		if at := rpc.Time(task.GetOriginalScheduledTime()); !at.Equal(scheduled) {
			scheduled = at
			ended++
		}
		if rpc.Wait(limited, reactionLook) != nil {
			return false, nil
		}
	}
	return true, nil
}

// missed returns [ErrAlreadyEnded] if the run had its outcome before it read a request. A canceled run satisfies the
// cancels of all senders. A run has a result only after its last messages, usually within milliseconds. If they stay
// undelivered, a pause is missed. A cancel is not: the cancel may have ended the run.
func (r Runs) missed(ctx context.Context, ref RunRef, advice string, cancel bool) error {
	limited, done := context.WithTimeout(ctx, max(reactionTimeout, r.client.askWithin))
	defer done()
	shown, err := r.Show(limited, ref)
	for err == nil && shown.Phase == contract.PhaseEnded && rpc.Wait(limited, reactionLook) == nil {
		if next, fault := r.Show(limited, ref); fault == nil {
			shown = next
		}
	}
	switch {
	case err != nil, shown.Open() && (cancel || shown.Phase != contract.PhaseEnded), cancel && shown.EndedAs() == string(contract.OutcomeCanceled):
		return nil // Without an answer, or an outcome to cancel, the effect is unknown.
	case shown.Open():
		return fmt.Errorf("run %s has %w its work, and only its last messages are not delivered yet", ref.WorkflowID, ErrAlreadyEnded)
	}
	return shown.alreadyEnded(advice)
}
