package starter

import (
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

	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// StuckWorkflowError says that a control plane runs, but its code cannot continue
// with a workflow: it panics, or it does other things than the workflow's history
// says, as one of another version may. The server repeats the workflow task until
// a control plane can; the jobs that run continue, and nothing is lost.
type StuckWorkflowError struct {
	WorkflowID string
	// Message is what the code said.
	Message string
	// Times is how often the workflow task has failed, Since when it did first; zero
	// if none has, and only the answer to a question showed it.
	Times int
	Since time.Time
	// Version of the control plane under which the workflow last continued; empty if
	// that is not known.
	Version string
}

func (*StuckWorkflowError) unanswered() {}

// Error implements error.
func (e *StuckWorkflowError) Error() string {
	return e.What() + "; " + e.Remedy()
}

// What is the failure without the remedy.
func (e *StuckWorkflowError) What() string {
	return fmt.Sprintf("WORKFLOW_STUCK: the control plane cannot continue with workflow %s%s%s: %s", e.WorkflowID, e.often(), e.under(), e.Message)
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
	return fmt.Sprintf(" (its workflow task failed %d times since %s)", e.Times, e.Since.UTC().Format(time.RFC3339))
}

// Remedy is what to do about it.
func (e *StuckWorkflowError) Remedy() string { return explain.StuckRemedy(e.WorkflowID).Text() }

// nonDeterministic marks, in every error of the SDK that is one, code that does
// not do what the history says.
const nonDeterministic = "[TMPRL1100]"

// silence says whether a workflow did not answer because it was paused or is stuck;
// nil: err has another reason.
func (c *Client) silence(ctx context.Context, ref RunRef, err error) error {
	var failed *serviceerror.QueryFailed
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.Error(), nonDeterministic):
		return &StuckWorkflowError{WorkflowID: ref.WorkflowID, Message: failed.Error(), Version: versionBefore(c.newest(ctx, ref))}
	case isUnanswered(err), NotReady(err), failed != nil: // A panic is a failed query, too.
		return c.pausedOrStuck(ctx, ref)
	}
	return nil
}

// pausedOrStuck asks the server about a workflow that does not answer.
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

// newestEvents is enough to find the last workflow task behind what has come since.
const newestEvents = 100

// stuck reads how the last workflow task ended; nil unless code failed it. One
// that timed out did so because its control plane was killed.
func (c *Client) stuck(ctx context.Context, info *workflowpb.WorkflowExecutionInfo) *StuckWorkflowError {
	events := c.newest(ctx, RunRef{WorkflowID: info.GetExecution().GetWorkflowId(), RunID: info.GetExecution().GetRunId()})
	for i, event := range events {
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
			return nil
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			failed := event.GetWorkflowTaskFailedEventAttributes()
			if failed.GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND {
				return nil // A message came while it was ending; the next one continues.
			}
			message := failed.GetFailure().GetMessage()
			if message == "" {
				message = failed.GetCause().String()
			}
			return &StuckWorkflowError{
				WorkflowID: info.GetExecution().GetWorkflowId(), Message: message, Since: rpc.Time(event.GetEventTime()), Version: versionBefore(events[i:]),
			}
		}
	}
	return nil
}

// newest are the newest events of a workflow, newest first; none if the server does
// not tell.
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

// versionBefore is that of the control plane which completed the newest workflow
// task among the events, newest first; empty if it is not known.
func versionBefore(events []*historypb.HistoryEvent) string {
	for _, event := range events {
		if done := event.GetWorkflowTaskCompletedEventAttributes(); done != nil {
			return VersionOf(done.GetWorkerVersion().GetBuildId()) //nolint:staticcheck // see workers.ControlOptions.Version
		}
	}
	return ""
}

// checksum is what the SDK notes for a process that names no version.
var checksum = regexp.MustCompile(`^[0-9a-f]{32}$`)

// VersionOf is the version that a control plane says of itself.
func VersionOf(buildID string) string {
	if checksum.MatchString(buildID) {
		return ""
	}
	return buildID
}
