package control

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
)

// Prepare is [contract.PrepareActivity]: which workers can serve the job type,
// and which of its runs left no record.
//
// A registry that is missing is created and has no workers yet. Past runs that
// cannot be looked up are left out with a warning: a group does not fail for
// its statistics. Nothing is changed, so a repeat answers what is true then.
func (c *Control) Prepare(ctx context.Context, in contract.PrepareInput) (contract.PrepareResult, error) {
	var result contract.PrepareResult
	view, err := c.view(ctx, contract.WatchFleetInput{WorkflowID: in.WorkflowID, Handler: in.Handler, JobType: in.JobType})
	if errors.Is(err, errNoFleet) {
		err = c.EnsureFleet(ctx, contract.EnsureFleetInput{})
	}
	if err != nil {
		return result, err
	}
	result.Workers, result.WorkersSeq = view.Workers, view.Seq
	if in.Scheduled {
		missed, ticks, err := c.missed(ctx, in)
		if err != nil {
			activity.GetLogger(ctx).Warn("Past runs cannot be looked up; those without a record stay unknown.", "job_type", in.JobType, "error", err)
		}
		result.Missed, result.Ticks = missed, ticks
	}
	return result, nil
}
