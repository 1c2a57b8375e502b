// Package histories measures the histories of a workflow that continues as new.
package histories

import (
	"context"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// Sum is the sum of the histories of all runs of a workflow.
type Sum struct {
	Runs, Events, Bytes float64
	// OwnBytes are those of events that are not of the jobs' activities.
	OwnBytes float64
	// LongestTask is the duration of the longest workflow task without a local activity.
	LongestTask time.Duration
	// LongestCall is the duration of the longest workflow task with local activities. It includes their waits, and a
	// replay does not run them.
	LongestCall time.Duration
	// FailedTasks counts the workflow tasks that failed or timed out.
	FailedTasks float64
	// Executions are the runs, newest first.
	Executions []*commonpb.WorkflowExecution
}

// Measure reads all histories of a workflow, newest first.
func Measure(ctx context.Context, c client.Client, workflowID string) (Sum, error) {
	var sum Sum
	for of := (&commonpb.WorkflowExecution{WorkflowId: workflowID}); ; {
		described, err := c.DescribeWorkflowExecution(ctx, of.GetWorkflowId(), of.GetRunId())
		if err != nil {
			return sum, err
		}
		info := described.GetWorkflowExecutionInfo()
		sum.Runs, sum.Events, sum.Bytes = sum.Runs+1, sum.Events+float64(info.GetHistoryLength()), sum.Bytes+float64(info.GetHistorySizeBytes())
		sum.Executions = append(sum.Executions, info.GetExecution())
		before, err := sum.read(ctx, c, info.GetExecution())
		if err != nil || before == "" {
			return sum, err
		}
		of.RunId = before
	}
}

// read reads one history and returns the run before it.
func (s *Sum) read(ctx context.Context, c client.Client, of *commonpb.WorkflowExecution) (before string, err error) {
	var started time.Time
	var task completed
	defer func() { s.add(task) }()
	jobs := map[int64]bool{}
	for events := c.GetWorkflowHistory(ctx, of.GetWorkflowId(), of.GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		if err != nil {
			return "", err
		}
		if call := event.GetActivityTaskScheduledEventAttributes(); call.GetActivityType().GetName() == contract.ExecuteActivity {
			jobs[event.GetEventId()] = true
		}
		if !jobs[scheduledBy(event)] {
			s.OwnBytes += float64(proto.Size(event))
		}
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
			before = event.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
			started = rpc.Time(event.GetEventTime())
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			s.add(task)
			task = completed{took: rpc.Time(event.GetEventTime()).Sub(started)}
		case enumspb.EVENT_TYPE_MARKER_RECORDED:
			// Markers follow the task that recorded them.
			task.calls = task.calls || event.GetMarkerRecordedEventAttributes().GetMarkerName() == localActivity
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			// An event came while the run continued as new: the task is repeated.
			if event.GetWorkflowTaskFailedEventAttributes().GetCause() != enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND {
				s.FailedTasks++
			}
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
			s.FailedTasks++
		}
	}
	return before, nil
}

// localActivity is the SDK's name of the marker with the result of a local activity.
const localActivity = "LocalActivity"

// completed is a completed workflow task.
type completed struct {
	took  time.Duration
	calls bool
}

func (s *Sum) add(task completed) {
	if task.calls {
		s.LongestCall = max(s.LongestCall, task.took)
		return
	}
	s.LongestTask = max(s.LongestTask, task.took)
}

// scheduledBy returns the id of the event that scheduled the activity of an event, 0 for other events.
func scheduledBy(event *historypb.HistoryEvent) int64 {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		return event.GetEventId()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		return event.GetActivityTaskStartedEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		return event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		return event.GetActivityTaskFailedEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		return event.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
		return event.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		return event.GetActivityTaskCanceledEventAttributes().GetScheduledEventId()
	}
	return 0
}

// Span returns the time from the start of the first activity of this type to the end of the last one, by the server's clock.
func Span(ctx context.Context, c client.Client, workflow, activityType string) (time.Duration, error) {
	var first, last time.Time
	scheduled := map[int64]bool{}
	events := c.GetWorkflowHistory(ctx, workflow, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return 0, err
		}
		at := event.GetEventTime().AsTime()
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			attributes := event.GetActivityTaskScheduledEventAttributes()
			scheduled[event.GetEventId()] = attributes.GetActivityType().GetName() == activityType
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
			if first.IsZero() && scheduled[event.GetActivityTaskStartedEventAttributes().GetScheduledEventId()] {
				first = at
			}
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			if scheduled[event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()] {
				last = at
			}
		}
	}
	return last.Sub(first), nil
}
