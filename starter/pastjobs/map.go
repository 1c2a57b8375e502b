package pastjobs

import (
	"context"

	"github.com/roundsman/roundsman/contract"
)

// Map returns the state of each job of a run in one byte: an index into [contract.JobStates], or
// [contract.JobMapUnknown]. held is the answer of an open group.
func Map(ctx context.Context, run Run, held contract.JobsQueryResult) ([]byte, error) {
	of := contract.ItemRecord{Pages: held.Record}
	if run.Record != nil {
		of = *run.Record
	}
	parts, err := Filter{Limit: all}.parts(ctx, run, of)
	if err != nil {
		return nil, err
	}
	jobs := held.Map
	for _, part := range parts {
		for i := range part.jobs {
			j := &part.jobs[i]
			jobs = contract.MarkJobs(jobs, j.N, j.N+j.More, j.State)
		}
	}
	return jobs, nil
}

// all is a limit that keeps all jobs.
const all = int(^uint(0) >> 1)
