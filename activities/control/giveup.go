package control

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
)

// GiveUp is [contract.GiveUpActivity]. An activity that no worker has started ends by its own timeout of seconds.
func (c *Control) GiveUp(ctx context.Context, in contract.GiveUpInput) error {
	open, err := c.isOpen(ctx, in)
	if err != nil || !open {
		return err
	}
	lost := temporal.NewApplicationErrorWithOptions(in.Reason, string(contract.FailureWorkerLost), temporal.ApplicationErrorOptions{NonRetryable: true})
	err = c.attempts.CompleteActivityByID(ctx, activity.GetInfo(ctx).Namespace, in.WorkflowID, in.RunID, in.ActivityID, nil, lost)
	if _, ended := errors.AsType[*serviceerror.NotFound](err); ended {
		return nil
	}
	return err
}

func (c *Control) isOpen(ctx context.Context, in contract.GiveUpInput) (bool, error) {
	described, err := c.runs.DescribeWorkflowExecution(ctx, in.WorkflowID, in.RunID)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, pending := range described.GetPendingActivities() {
		if pending.GetActivityId() == in.ActivityID {
			return pending.GetLastStartedTime() != nil, nil
		}
	}
	return false, nil
}
