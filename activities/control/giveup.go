package control

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
)

// GiveUp is [contract.GiveUpActivity]. An activity that no worker has started ends by its own timeout of seconds. The
// failure has the checkpoint of the last heartbeat, as a heartbeat timeout has.
func (c *Control) GiveUp(ctx context.Context, in contract.GiveUpInput) error {
	pending, err := c.pending(ctx, in)
	if err != nil || pending.GetLastStartedTime() == nil {
		return err
	}
	options := temporal.ApplicationErrorOptions{NonRetryable: true}
	var last contract.Heartbeat
	if beats := pending.GetHeartbeatDetails().GetPayloads(); len(beats) > 0 && c.converter.FromPayload(beats[0], &last) == nil && len(last.Checkpoint) > 0 {
		options.Details = []any{contract.ExecuteState{Failure: contract.FailureWorkerLost, Checkpoint: last.Checkpoint, Done: last.Done}}
	}
	lost := temporal.NewApplicationErrorWithOptions(in.Reason, string(contract.FailureWorkerLost), options)
	err = c.attempts.CompleteActivityByID(ctx, activity.GetInfo(ctx).Namespace, in.WorkflowID, in.RunID, in.ActivityID, nil, lost)
	if _, ended := errors.AsType[*serviceerror.NotFound](err); ended {
		return nil
	}
	return err
}

// pending returns the activity, or nil if it has ended.
func (c *Control) pending(ctx context.Context, in contract.GiveUpInput) (*workflowpb.PendingActivityInfo, error) {
	described, err := c.runs.DescribeWorkflowExecution(ctx, in.WorkflowID, in.RunID)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil, nil //nolint:nilnil // nothing to end
	}
	if err != nil {
		return nil, err
	}
	for _, pending := range described.GetPendingActivities() {
		if pending.GetActivityId() == in.ActivityID {
			return pending, nil
		}
	}
	return nil, nil //nolint:nilnil // nothing to end
}
