package command

import (
	"context"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

const endWaitPoll = 200 * time.Millisecond

func jobOwner(job jobtype.Job) owner {
	o := owner{Attempt: job.Attempt}
	if job.ID != "" {
		o.Job = job.GroupID + "/" + job.ID
	}
	if job.DedupeKey != "" {
		o.Key = "job/" + job.JobType + "/" + job.DedupeKey
	}
	return o
}

func detectionOwner(in jobtype.DetectInput) owner {
	return owner{Key: "detection/" + in.JobType}
}

// awaitEnd waits for the end of earlier programs of the same work. After that time, or at the end of ctx, the error is
// [jobtype.ErrAtCapacity]: the job is placed again without a retry, and does not count as one that has run.
func (h *Handler) awaitEnd(ctx context.Context, workerID string, owner owner, progress jobtype.Progress) error {
	ledger := h.ledger(workerID)
	for begun := time.Now(); ; {
		earlier, living := ledger.before(owner)
		if earlier == nil {
			return nil
		}
		does, remedy := earlier.owed, "; see the log of worker "
		if does == "" {
			does, remedy = "still runs here as "+pidsOf(living), " and cannot be ended; end it on worker "
		}
		message := fmt.Sprintf("%s of attempt %d %s", earlier.Program, earlier.Owner.Attempt, does)
		if time.Since(begun) >= h.options.EndWait {
			return fmt.Errorf("%w: NOT_ENDED: %s%s", jobtype.ErrAtCapacity, message, remedy+workerID)
		}
		if progress != nil {
			progress.Report(-1, "waiting", message)
		}
		if !waitContext(ctx, endWaitPoll) {
			return fmt.Errorf("%w: %s: %w", jobtype.ErrAtCapacity, message, context.Cause(ctx))
		}
	}
}
