package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

// Successes is [contract.SuccessesActivity]. A repeat returns the successes of its own time.
func (c *Control) Successes(ctx context.Context, in contract.SuccessesInput) (contract.SuccessesResult, error) {
	result := contract.SuccessesResult{Last: map[string]time.Time{}}
	for _, name := range in.JobTypes {
		at, err := c.lastSuccess(ctx, name)
		if err != nil {
			return result, err
		}
		if !at.IsZero() {
			result.Last[name] = at
		}
	}
	return result, nil
}

// The newest record includes the successes of earlier runs.
func (c *Control) lastSuccess(ctx context.Context, name string) (time.Time, error) {
	described, err := c.runs.ScheduleClient().GetHandle(ctx, contract.ScheduleID(name)).Describe(ctx)
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("describe the schedule of %s: %w", name, err)
	}
	for _, action := range slices.Backward(described.Info.RecentActions) {
		if action.StartWorkflowResult == nil {
			continue
		}
		record, err := c.recordOf(ctx, action.StartWorkflowResult.WorkflowID)
		if err != nil {
			return time.Time{}, err
		}
		if record.Sequence > 0 {
			return record.LastSuccess, nil
		}
	}
	return time.Time{}, nil
}

func (c *Control) recordOf(ctx context.Context, workflowID string) (contract.RunRecord, error) {
	answer, err := c.runs.DescribeWorkflowExecution(ctx, workflowID, "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return contract.RunRecord{}, nil
	}
	if err != nil {
		return contract.RunRecord{}, fmt.Errorf("describe run %s: %w", workflowID, err)
	}
	run := lostRun{RunSummary: contract.RunSummary{WorkflowID: workflowID, RunID: answer.GetWorkflowExecutionInfo().GetExecution().GetRunId()}}
	switch answer.GetWorkflowExecutionInfo().GetStatus() {
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return c.completed(ctx, run)
	case enums.WORKFLOW_EXECUTION_STATUS_FAILED, enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
		c.explain(ctx, &run)
	}
	return run.record, nil
}

func (c *Control) completed(ctx context.Context, run lostRun) (contract.RunRecord, error) {
	events := c.runs.GetWorkflowHistory(ctx, run.WorkflowID, run.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	if !events.HasNext() {
		return contract.RunRecord{}, nil
	}
	last, err := events.Next()
	if err != nil {
		return contract.RunRecord{}, fmt.Errorf("read the end of run %s: %w", run.WorkflowID, err)
	}
	if ended, ok := last.GetAttributes().(*historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes); ok {
		c.fill(&run, ended.WorkflowExecutionCompletedEventAttributes.GetResult(), "")
	}
	return run.record, nil
}

// Succeeded is [contract.SucceededActivity]. A repeated message changes nothing.
func (c *Control) Succeeded(ctx context.Context, in contract.SucceededInput) error {
	var faults []error
	for _, name := range in.AwaitedBy {
		described, err := c.runs.ScheduleClient().GetHandle(ctx, contract.ScheduleID(name)).Describe(ctx)
		if _, none := errors.AsType[*serviceerror.NotFound](err); none {
			continue
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("describe the schedule of %s: %w", name, err))
			continue
		}
		for _, open := range described.Info.RunningWorkflows {
			if startedBefore(described.Info.RecentActions, open.WorkflowID, in.Before) {
				continue
			}
			err := c.signals.SignalWorkflow(ctx, open.WorkflowID, "", contract.SignalSucceeded, in.SucceededSignal)
			if _, ended := errors.AsType[*serviceerror.NotFound](err); err != nil && !ended {
				faults = append(faults, fmt.Errorf("wake run %s: %w", open.WorkflowID, err))
			}
		}
	}
	return errors.Join(faults...)
}

func startedBefore(actions []client.ScheduleActionResult, workflowID string, at time.Time) bool {
	return slices.ContainsFunc(actions, func(action client.ScheduleActionResult) bool {
		return action.StartWorkflowResult != nil && action.StartWorkflowResult.WorkflowID == workflowID && action.ActualTime.Before(at)
	})
}
