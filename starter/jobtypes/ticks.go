package jobtypes

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

const (
	// maxTicksAnswer is the most instants in one answer of the server.
	maxTicksAnswer = 1000
	// maxTicks bounds the instants of one job type: more than a week at one per ten seconds.
	maxTicks = 100_000
)

// Due lists the ticks of a job type in its present schedule, both ends inclusive, at most [maxTicks].
func (c Client) Due(ctx context.Context, name string, from, to time.Time) ([]time.Time, error) {
	return c.schedules().ticks(ctx, name, from, to, maxTicks)
}

// Record returns the record of a job type in its newest closed run; empty before the first run.
func (c Client) Record(ctx context.Context, known JobType) (contract.RunRecord, error) {
	for _, run := range known.Recent {
		snapshot, err := c.client.Runs().Show(ctx, starter.RunRef{WorkflowID: run.WorkflowID})
		if err == nil && !snapshot.Open() && snapshot.Result != nil {
			return snapshot.Result.Record, nil
		}
	}
	return contract.RunRecord{}, ctx.Err()
}

func (s schedules) ticks(ctx context.Context, name string, from, to time.Time, limit int) ([]time.Time, error) {
	var listed []time.Time
	// The server excludes the start.
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
		if rpc.Code(err) == codes.NotFound {
			return nil, starter.NotApplied(name)
		}
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
