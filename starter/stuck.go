package starter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// StuckWorkflowError means: the code of the control plane cannot continue a workflow, for example after a change of
// version, or the run's state cannot be read. The server repeats the task. Running jobs continue, and nothing is
// lost.
type StuckWorkflowError struct {
	WorkflowID string
	// Message of the code's failure.
	Message string
	// Unread means that the run cannot read the state from which it continues. Its code is well.
	Unread bool
	// Failures of the workflow task or of the reads, and the first one; zero if only a query failed.
	Times int
	Since time.Time
	// Version of the last control plane that completed a workflow task; empty if unknown.
	Version string
}

func (*StuckWorkflowError) unanswered() {}

// Error implements error.
func (e *StuckWorkflowError) Error() string {
	return e.What() + "; " + e.Remedy()
}

// What returns the failure without the remedy.
func (e *StuckWorkflowError) What() string {
	return string(contract.CodeWorkflowStuck) + ": " + e.Why()
}

// Why is What without its code.
func (e *StuckWorkflowError) Why() string {
	return fmt.Sprintf("the control plane cannot continue with workflow %s%s%s: %s", e.WorkflowID, e.often(), e.under(), e.Message)
}

func (e *StuckWorkflowError) under() string {
	if e.Version == "" {
		return ""
	}
	return ", which last continued under version " + e.Version
}

func (e *StuckWorkflowError) often() string {
	if e.Times == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s %d times since %s)", explain.TextStuck(e.Unread), e.Times, e.Since.UTC().Format(time.RFC3339))
}

// Remedy returns the advice for the operator.
func (e *StuckWorkflowError) Remedy() string {
	if e.Unread {
		return explain.UnreadRemedy(e.WorkflowID).Text()
	}
	return explain.StuckRemedy(e.WorkflowID).Text()
}

// nonDeterministic is the SDK's mark of code that differs from the history.
const nonDeterministic = "[TMPRL1100]"

// silence returns the error for a paused or stuck workflow; nil for another cause.
func (c *Client) silence(ctx context.Context, ref RunRef, err error) error {
	var failed *serviceerror.QueryFailed
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.Error(), nonDeterministic):
		return &StuckWorkflowError{WorkflowID: ref.WorkflowID, Message: failed.Error(), Version: versionBefore(c.newest(ctx, ref))}
	case isContinuing(err):
		return c.unread(ctx, ref)
	case isUnanswered(err), NotReady(err), failed != nil: // A panic is a failed query as well.
		return c.pausedOrStuck(ctx, ref)
	}
	return nil
}

func (c *Client) pausedOrStuck(ctx context.Context, ref RunRef) error {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	described, err := c.temporal.DescribeWorkflowExecution(limited, ref.WorkflowID, ref.RunID)
	switch {
	case err != nil:
		return nil
	case described.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED:
		info := described.GetWorkflowExtendedInfo().GetPauseInfo()
		return &PausedWorkflowError{WorkflowID: ref.WorkflowID, By: info.GetIdentity(), Note: info.GetReason(), Since: rpc.Time(info.GetPausedTime())}
	case described.GetPendingWorkflowTask().GetAttempt() <= 1:
		return nil
	}
	stuck := c.stuck(limited, described.GetWorkflowExecutionInfo())
	if stuck == nil {
		return nil
	}
	stuck.Times = int(described.GetPendingWorkflowTask().GetAttempt()) - 1
	return stuck
}

func (c *Client) unread(ctx context.Context, ref RunRef) error {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	described, err := c.temporal.DescribeWorkflowExecution(limited, ref.WorkflowID, ref.RunID)
	if err != nil {
		return nil
	}
	return unreadOf(described)
}

// unreadOf is unread. The read is the first act of a workflow run.
func unreadOf(described *workflowservice.DescribeWorkflowExecutionResponse) error {
	for _, call := range described.GetPendingActivities() {
		if call.GetActivityType().GetName() == contract.ReadPageActivity && call.GetLastFailure() != nil {
			info := described.GetWorkflowExecutionInfo()
			return &StuckWorkflowError{
				WorkflowID: info.GetExecution().GetWorkflowId(), Unread: true, Message: call.GetLastFailure().GetMessage(),
				Times: int(call.GetAttempt()) - 1, Since: rpc.Time(info.GetStartTime()),
			}
		}
	}
	return nil
}

// newestEvents is enough to find the last workflow task behind later events.
const newestEvents = 100

// stuck returns the failure of the last workflow task. A timed-out task means that its control plane was killed.
func (c *Client) stuck(ctx context.Context, info *workflowpb.WorkflowExecutionInfo) *StuckWorkflowError {
	events := c.newest(ctx, RunRef{WorkflowID: info.GetExecution().GetWorkflowId(), RunID: info.GetExecution().GetRunId()})
	for i, event := range events {
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
			return nil
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			failed := event.GetWorkflowTaskFailedEventAttributes()
			if failed.GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND {
				return nil // A message arrived while the workflow was ending; the next task continues.
			}
			message := cmp.Or(failed.GetFailure().GetMessage(), failed.GetCause().String())
			return &StuckWorkflowError{
				WorkflowID: info.GetExecution().GetWorkflowId(), Message: message, Since: rpc.Time(event.GetEventTime()), Version: versionBefore(events[i:]),
			}
		}
	}
	return nil
}

// newest returns the newest events of a workflow, newest first. It returns none after an error.
func (c *Client) newest(ctx context.Context, ref RunRef) []*historypb.HistoryEvent {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	newest, err := c.temporal.WorkflowService().GetWorkflowExecutionHistoryReverse(limited, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: c.namespace, MaximumPageSize: newestEvents,
		Execution: &commonpb.WorkflowExecution{WorkflowId: ref.WorkflowID, RunId: ref.RunID},
	})
	if err != nil {
		c.logger.Debug("look for the last workflow task", "workflow", ref.WorkflowID, "error", err)
		return nil
	}
	return newest.GetHistory().GetEvents()
}

// versionBefore returns the version that completed the newest workflow task among the events, newest first.
func versionBefore(events []*historypb.HistoryEvent) string {
	for _, event := range events {
		if done := event.GetWorkflowTaskCompletedEventAttributes(); done != nil {
			return VersionOf(done.GetWorkerVersion().GetBuildId()) //nolint:staticcheck // see workers.ControlOptions.Version
		}
	}
	return ""
}

// checksum matches the SDK's default build id of a process without a version.
var checksum = regexp.MustCompile(`^[0-9a-f]{32}$`)

// VersionOf returns the version in a build id, or "".
func VersionOf(buildID string) string {
	if checksum.MatchString(buildID) {
		return ""
	}
	return buildID
}
