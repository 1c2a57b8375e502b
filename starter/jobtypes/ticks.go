package jobtypes

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

const (
	// maxTicksAnswer is how many instants the server lists at once.
	maxTicksAnswer = 1000
	// maxTicks bounds the instants of one job type: more than a week of one each ten
	// seconds.
	maxTicks = 100_000
)

// Due lists when a job type was or will be due by its present schedule, both ends
// inclusive, at most [maxTicks].
func (c Client) Due(ctx context.Context, name string, from, to time.Time) ([]time.Time, error) {
	return c.schedules().ticks(ctx, name, from, to, maxTicks)
}

// Record is what the newest run of a job type that has ended left for the next ones;
// empty before the first run.
func (c Client) Record(ctx context.Context, known JobType) (contract.RunRecord, error) {
	for _, run := range known.Recent {
		snapshot, err := c.client.Runs().Show(ctx, starter.RunRef{WorkflowID: run.WorkflowID})
		if err == nil && !snapshot.Open() && snapshot.Result != nil {
			return snapshot.Result.Record, nil
		}
	}
	return contract.RunRecord{}, ctx.Err()
}

// ticks lists when a job type was or will be due by its present schedule, both ends
// inclusive, at most limit. It is a query of the Schedule; visibility has no part in it.
func (s schedules) ticks(ctx context.Context, name string, from, to time.Time, limit int) ([]time.Time, error) {
	var listed []time.Time
	// The server's start is exclusive.
	for after := from.Add(-time.Millisecond); len(listed) < limit; after = listed[len(listed)-1] {
		var response *workflowservice.ListScheduleMatchingTimesResponse
		err := rpc.Retry(ctx, func(ctx context.Context) error {
			var callErr error
			response, callErr = s.client.Temporal().WorkflowService().ListScheduleMatchingTimes(ctx, &workflowservice.ListScheduleMatchingTimesRequest{
				Namespace: s.client.Namespace(), ScheduleId: contract.ScheduleID(name),
				StartTime: timestamppb.New(after), EndTime: timestamppb.New(to),
			})
			return callErr
		})
		if err != nil {
			return nil, fmt.Errorf("list the times of job type %s: %w", name, err)
		}
		for _, at := range response.GetStartTime() {
			listed = append(listed, at.AsTime())
		}
		if len(response.GetStartTime()) < maxTicksAnswer {
			break
		}
	}
	return listed[:min(len(listed), limit)], nil
}
