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

// maxMissed bounds how many runs are looked up; the server remembers ten
// actions of a schedule.
const maxMissed = 10

// missed finds the runs that the schedule started and that left no record,
// oldest first: those that were terminated, failed, timed out or canceled.
//
// A run is known by its workflow id, which carries the time of its tick and is
// the same across continue-as-new. Runs that the schedule started after the
// asking one are none of its business: they learn of it.
//
// It also counts the ticks that the server dropped; nil: nobody knows.
func (c *Control) missed(ctx context.Context, in contract.PrepareInput) ([]contract.RunSummary, *contract.TickCounts, error) {
	described, err := c.runs.ScheduleClient().GetHandle(ctx, contract.ScheduleID(in.JobType)).Describe(ctx)
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("describe the schedule of %s: %w", in.JobType, err)
	}
	ticks := &contract.TickCounts{Skipped: described.Info.NumActionsSkippedOverlap, Missed: described.Info.NumActionsMissedCatchupWindow}
	known := recorded(in.Record)
	var missed []contract.RunSummary
	for _, action := range described.Info.RecentActions {
		started := action.StartWorkflowResult
		if started == nil || known[started.WorkflowID] {
			continue
		}
		if started.WorkflowID == in.WorkflowID || len(missed) == maxMissed {
			break
		}
		summary, lost, err := c.lost(ctx, started.WorkflowID, action.ActualTime)
		if err != nil {
			return missed, ticks, err
		}
		if lost {
			missed = append(missed, summary)
		}
	}
	return missed, ticks, nil
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

// lost describes a run that began at started. One that is still running, or completed, or is no longer
// kept by the server, is not lost.
func (c *Control) lost(ctx context.Context, workflowID string, started time.Time) (contract.RunSummary, bool, error) {
	answer, err := c.runs.DescribeWorkflowExecution(ctx, workflowID, "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return contract.RunSummary{}, false, nil
	}
	if err != nil {
		return contract.RunSummary{}, false, fmt.Errorf("describe run %s: %w", workflowID, err)
	}
	info := answer.GetWorkflowExecutionInfo()
	outcome, ended := outcomeOf(info.GetStatus())
	if !ended {
		return contract.RunSummary{}, false, nil
	}
	summary := contract.RunSummary{
		WorkflowID: workflowID, RunID: info.GetExecution().GetRunId(), Outcome: outcome,
		Reason: reasonOf(info.GetStatus()), StartedAt: started, EndedAt: info.GetCloseTime().AsTime(),
	}
	c.explain(ctx, &summary)
	return summary, true, nil
}

// outcomeOf is the outcome of a run that left no result; false if it runs or
// left one.
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

// explain adds what the run's last event says. Without it the summary is less
// precise, but true.
func (c *Control) explain(ctx context.Context, summary *contract.RunSummary) {
	events := c.runs.GetWorkflowHistory(ctx, summary.WorkflowID, summary.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
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
		summary.Reason = withDetail("terminated by "+terminated.GetIdentity(), terminated.GetReason())
	case *historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes:
		summary.Reason = withDetail(summary.Reason, attributes.WorkflowExecutionFailedEventAttributes.GetFailure().GetMessage())
	case *historypb.HistoryEvent_WorkflowExecutionCanceledEventAttributes:
		c.fill(summary, attributes.WorkflowExecutionCanceledEventAttributes.GetDetails())
	}
}

// fill takes the result that a canceled group leaves as its detail.
func (c *Control) fill(summary *contract.RunSummary, details *commonpb.Payloads) {
	var result contract.JobGroupResult
	if len(details.GetPayloads()) == 0 || c.converter.FromPayloads(details, &result) != nil || result.Outcome == "" {
		return
	}
	summary.Outcome, summary.Counts, summary.StartedAt, summary.EndedAt = result.Outcome, result.Counts, result.StartedAt, result.EndedAt
	summary.Reason = withDetail("canceled", result.Reason)
}

func withDetail(what, detail string) string {
	if detail == "" || detail == what {
		return what
	}
	return what + ": " + detail
}
