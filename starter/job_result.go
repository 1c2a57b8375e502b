package starter

import (
	"context"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// JobResult is what a job that has ended left: what its handler returned, or what
// its last attempt had printed when it failed. Nil if the job never ran on a
// worker, if no outcome of it was heard, and while it has not ended.
//
// A group keeps no results of its jobs, so that it stays small; they stand in the
// history of its workflow, which is read for this until the job's last outcome is
// found, for at most answerTimeout.
func (r Runs) JobResult(ctx context.Context, job Job) (*jobtype.Result, error) {
	if job.EndedAt.IsZero() || job.Attempt == 0 {
		return nil, nil //nolint:nilnil // no result is no failure
	}
	return r.client.resultOf(ctx, job.Run, job.JobID)
}

// TaskResult is the same of a task of a DAG, from the run that executed it.
func (d DAGs) TaskResult(ctx context.Context, ref RunRef, task contract.TaskView) (*jobtype.Result, error) {
	if task.Attempts == 0 {
		return nil, nil //nolint:nilnil // no result is no failure
	}
	if task.FromRun != "" {
		ref = RunRef{WorkflowID: task.FromRun}
	}
	return d.client.resultOf(ctx, ref, task.ID)
}

// resultOf reads the last outcome of a job or task from the history of its run, and
// of those that the run continues.
func (c *Client) resultOf(ctx context.Context, ref RunRef, id string) (*jobtype.Result, error) {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for {
		found, before, err := c.outcomeIn(limited, ref, id)
		if err != nil {
			return nil, fmt.Errorf("read the result of %s/%s from the history of its run: %w", ref, id, runError(ref, err))
		}
		if found != nil || before == "" {
			return found, nil
		}
		// It ended before the group continued as new.
		ref.RunID = before
	}
}

// outcomeIn is the last outcome of the job or task in one workflow run, nil if there is
// none, and the run that this one continues.
func (c *Client) outcomeIn(ctx context.Context, ref RunRef, id string) (found *jobtype.Result, before string, err error) {
	history := c.temporal.GetWorkflowHistory(ctx, ref.WorkflowID, ref.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	attempts := map[int64]bool{} // The events that scheduled its attempts.
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return nil, "", err
		}
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
			before = event.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			scheduled := event.GetActivityTaskScheduledEventAttributes()
			if contract.JobOfAttempt(scheduled.GetActivityId()) == id {
				attempts[event.GetEventId()] = true
			}
		default:
			state := c.outcomeOf(event, attempts, id)
			if state == nil {
				continue
			}
			found = &state.Result
			if state.Failure == "" {
				return found, before, nil
			}
		}
	}
	return found, before, nil
}

// outcomeOf reads the event if it is the outcome of one of these attempts, or of
// one that the server had given up.
func (c *Client) outcomeOf(event *historypb.HistoryEvent, attempts map[int64]bool, job string) *contract.ExecuteState {
	var told *commonpb.Payloads
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		if done := event.GetActivityTaskCompletedEventAttributes(); attempts[done.GetScheduledEventId()] {
			told = done.GetResult()
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		if failed := event.GetActivityTaskFailedEventAttributes(); attempts[failed.GetScheduledEventId()] {
			told = failed.GetFailure().GetApplicationFailureInfo().GetDetails()
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		if canceled := event.GetActivityTaskCanceledEventAttributes(); attempts[canceled.GetScheduledEventId()] {
			told = canceled.GetDetails()
		}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		if signal := event.GetWorkflowExecutionSignaledEventAttributes(); signal.GetSignalName() == contract.SignalJobOutcome {
			var late contract.JobOutcomeInput
			if c.readFirst(signal.GetInput(), &late) && late.JobID == job {
				return &late.Outcome
			}
		}
	}
	var state contract.ExecuteState
	if !c.readFirst(told, &state) {
		return nil
	}
	return &state
}

// readFirst decodes the first payload; false if there is none that can be read.
func (c *Client) readFirst(payloads *commonpb.Payloads, into any) bool {
	if len(payloads.GetPayloads()) == 0 {
		return false
	}
	if err := DataConverter().FromPayload(payloads.GetPayloads()[0], into); err != nil {
		c.logger.Debug("unreadable outcome", "error", err)
		return false
	}
	return true
}
