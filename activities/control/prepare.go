package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
)

// Prepare is [contract.PrepareActivity]. A missing registry is created and has no workers yet. Unreadable past runs
// are omitted: a group does not fail for its statistics.
//
// Within a workflow task a result over [maxMarker] fails: the group then calls it as a separate activity.
func (c *Control) Prepare(ctx context.Context, in contract.PrepareInput) (contract.PrepareResult, error) {
	result, err := c.prepare(ctx, in)
	if err != nil || !activity.GetInfo(ctx).IsLocalActivity {
		return result, err
	}
	encoded, err := json.Marshal(result)
	if err == nil && len(encoded) > maxMarker {
		err = fmt.Errorf("%d bytes are too many for a workflow task, which takes %d", len(encoded), maxMarker)
	}
	return result, err
}

// The server terminates a workflow for a marker of 2 MiB, but only refuses an activity result.
const maxMarker = 1 << 20

func (c *Control) prepare(ctx context.Context, in contract.PrepareInput) (contract.PrepareResult, error) {
	var result contract.PrepareResult
	view, err := c.view(ctx, contract.WatchFleetInput{WorkflowID: in.WorkflowID, Handler: in.Handler, JobType: in.JobType})
	if errors.Is(err, errNoFleet) {
		err = c.EnsureFleet(ctx, contract.EnsureFleetInput{})
	}
	if err != nil {
		return result, err
	}
	result.Workers, result.WorkersSeq, result.Incomplete = view.Workers, view.Seq, view.Incomplete
	if in.Scheduled {
		past, err := c.missed(ctx, in)
		if err != nil {
			activity.GetLogger(ctx).Warn("Past runs cannot be looked up; those without a record stay unknown.", "job_type", in.JobType, "error", err)
		}
		result.Record, result.Missed, result.Ticks = past.Record, past.Missed, past.Ticks
	}
	return result, nil
}
