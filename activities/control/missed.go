package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/contract"
)

// maxMissed bounds the runs read; the server keeps ten actions of a schedule.
const maxMissed = 10

// missed returns the newest record of the schedule's runs, and the later runs without a record, oldest first.
//
// A run is identified by its workflow id, which contains the time of its tick. Runs started after the asking one are
// omitted: their own lookups include it. The tick counts are nil if the schedule has none.
func (c *Control) missed(ctx context.Context, in contract.PrepareInput) (contract.PrepareResult, error) {
	var result contract.PrepareResult
	described, err := c.runs.ScheduleClient().GetHandle(ctx, contract.ScheduleID(in.JobType)).Describe(ctx)
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return result, nil
	}
	if err != nil {
		return result, fmt.Errorf("describe the schedule of %s: %w", in.JobType, err)
	}
	result.Ticks = &contract.TickCounts{Skipped: described.Info.NumActionsSkippedOverlap, Missed: described.Info.NumActionsMissedCatchupWindow}
	known, newest := recorded(in.Record), in.Record.Sequence
	for _, action := range described.Info.RecentActions {
		started := action.StartWorkflowResult
		if started == nil || known[started.WorkflowID] {
			continue
		}
		if started.WorkflowID == in.WorkflowID || len(result.Missed) == maxMissed {
			break
		}
		run, lost, err := c.lost(ctx, started.WorkflowID, action.ActualTime)
		switch {
		case err != nil:
			return result, err
		case !lost:
		case run.record.Sequence > newest: // Its record includes the runs before it.
			record := run.record
			result.Record, result.Missed, newest = &record, nil, record.Sequence
		default:
			result.Missed = append(result.Missed, run.RunSummary)
		}
	}
	return result, nil
}

type lostRun struct {
	contract.RunSummary
	record contract.RunRecord
}

func recorded(record contract.RunRecord) map[string]bool {
	known := map[string]bool{}
	for _, run := range record.Good {
		known[run.WorkflowID] = true
	}
	for _, run := range record.Bad {
		known[run.WorkflowID] = true
	}
	return known
}

// A run that is open, completed or no longer on the server is not lost.
func (c *Control) lost(ctx context.Context, workflowID string, started time.Time) (lostRun, bool, error) {
	answer, err := c.runs.DescribeWorkflowExecution(ctx, workflowID, "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return lostRun{}, false, nil
	}
	if err != nil {
		return lostRun{}, false, fmt.Errorf("describe run %s: %w", workflowID, err)
	}
	info := answer.GetWorkflowExecutionInfo()
	outcome, ended := outcomeOf(info.GetStatus())
	if !ended {
		return lostRun{}, false, nil
	}
	run := lostRun{RunSummary: contract.RunSummary{
		WorkflowID: workflowID, RunID: info.GetExecution().GetRunId(), Outcome: outcome,
		Reason: reasonOf(info.GetStatus()), StartedAt: started, EndedAt: info.GetCloseTime().AsTime(),
	}}
	c.explain(ctx, &run)
	return run, true, nil
}

func outcomeOf(status enums.WorkflowExecutionStatus) (contract.Outcome, bool) {
	switch status {
	case enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, enums.WORKFLOW_EXECUTION_STATUS_FAILED:
		return contract.OutcomeFailed, true
	case enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return contract.OutcomeTimeout, true
	case enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return contract.OutcomeCanceled, true
	default:
		return "", false
	}
}

func reasonOf(status enums.WorkflowExecutionStatus) string {
	switch status {
	case enums.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return "terminated"
	case enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return "its workflow timed out"
	case enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return "canceled"
	default:
		return "its workflow failed"
	}
}

func (c *Control) explain(ctx context.Context, run *lostRun) {
	events := c.runs.GetWorkflowHistory(ctx, run.WorkflowID, run.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	if !events.HasNext() {
		return
	}
	last, err := events.Next()
	if err != nil {
		return
	}
	switch attributes := last.GetAttributes().(type) {
	case *historypb.HistoryEvent_WorkflowExecutionTerminatedEventAttributes:
		terminated := attributes.WorkflowExecutionTerminatedEventAttributes
		run.Terminated = &contract.Termination{By: terminated.GetIdentity(), Reason: terminated.GetReason()}
		run.Reason = withDetail("terminated by "+run.Terminated.By, run.Terminated.Reason)
	case *historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes:
		failure := attributes.WorkflowExecutionFailedEventAttributes.GetFailure()
		run.Reason = withDetail(run.Reason, failure.GetMessage())
		c.fill(run, failure.GetApplicationFailureInfo().GetDetails(), "")
	case *historypb.HistoryEvent_WorkflowExecutionCanceledEventAttributes:
		c.fill(run, attributes.WorkflowExecutionCanceledEventAttributes.GetDetails(), "canceled")
	}
}

func (c *Control) fill(run *lostRun, details *commonpb.Payloads, how string) {
	var result contract.JobGroupResult
	if len(details.GetPayloads()) == 0 || c.converter.FromPayloads(details, &result) != nil || result.Outcome == "" {
		return
	}
	run.Outcome, run.Counts, run.StartedAt, run.EndedAt = result.Outcome, result.Counts, result.StartedAt, result.EndedAt
	run.Reason, run.record = withDetail(how, result.Reason), result.Record
}

func withDetail(what, detail string) string {
	switch {
	case detail == "" || detail == what:
		return what
	case what == "":
		return detail
	}
	return what + ": " + detail
}
