package starter

import (
	"context"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter/pastjobs"
)

// JobMap returns the state of each job of a group in one byte: an index into [contract.JobStates], or
// [contract.JobMapUnknown]. It costs one query; ended jobs come from the record.
func (r Runs) JobMap(ctx context.Context, ref RunRef) ([]byte, error) {
	described, err := r.Describe(ctx, ref)
	if err != nil {
		return nil, err
	}
	var held contract.JobsQueryResult
	ended := false
	if !described.Open() {
		if described, err = r.withResult(ctx, described); err != nil {
			return nil, err
		}
		ended = described.Result != nil && !described.Result.DryRun
	}
	if !ended {
		if held, err = query[contract.JobsQueryResult](ctx, r.client, described.RunRef, contract.QueryJobs, contract.JobsQueryInput{Brief: true}); err != nil {
			return nil, err
		}
	}
	return pastjobs.Map(ctx, pastjobs.Run{ID: described.WorkflowID, Pages: r.client.pages, Record: described.record}, held)
}
