package starter

import (
	"context"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/explain"
)

// maxFailures is how many failed jobs are read to count their messages.
const maxFailures = 10_000

// Failures groups the failed jobs of a closed run by their messages, the most frequent
// first. uncounted is how many failed jobs are in no group; 0: the counts are exact.
// Jobs that the result does not list are read from the run, which needs a control
// plane; without one they are uncounted.
func (r Runs) Failures(ctx context.Context, snapshot Snapshot) (failures []explain.Failure, uncounted int) {
	if snapshot.Result == nil {
		return nil, 0
	}
	failed, listed := snapshot.Result.Counts.Failed, snapshot.Result.Errors
	if failed > len(listed) {
		jobs, _, err := r.Jobs(ctx, snapshot.RunRef, JobFilter{States: []string{stateFailed}, Limit: min(failed, maxFailures)})
		if err == nil && len(jobs) >= len(listed) {
			listed = make([]contract.JobError, len(jobs))
			for i, job := range jobs {
				listed[i] = contract.JobError{DedupeKey: job.DedupeKey, Message: job.Error, JobID: job.JobID, Worker: job.Worker, Items: job.Items}
			}
		}
	}
	return explain.GroupFailures(listed), max(0, failed-len(listed))
}
