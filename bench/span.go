package main

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
)

// span returns the time from the start of the first activity of this type to the end of the last one, by the server's clock.
func (c *cluster) span(ctx context.Context, workflow, activityType string) (time.Duration, error) {
	var first, last time.Time
	scheduled := map[int64]bool{}
	events := c.temporal.GetWorkflowHistory(ctx, workflow, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
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
