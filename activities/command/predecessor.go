package command

import (
	"context"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// endWaitPoll is the time between two looks for the end of an earlier program.
const endWaitPoll = 200 * time.Millisecond

// jobOwner names the work of a job.
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

// awaitEnd waits until no program runs next to which one of owner must not start: that of
// an earlier attempt which does not end. If it does not end in time, the error is a
// [jobtype.ErrAtCapacity], so the job is placed again, and no retry is spent.
func (h *Handler) awaitEnd(ctx context.Context, workerID string, owner owner, progress jobtype.Progress) error {
	ledger := h.ledger(workerID)
	for begun := time.Now(); ; {
		earlier, living := ledger.before(owner)
		if earlier == nil {
			return nil
		}
		message := fmt.Sprintf("%s of attempt %d still runs here as %s", earlier.Program, earlier.Owner.Attempt, pidsOf(living))
		if time.Since(begun) >= h.options.EndWait {
			return fmt.Errorf("%w: NOT_ENDED: %s and cannot be ended; end it on worker %s", jobtype.ErrAtCapacity, message, workerID)
		}
		if progress != nil {
			progress.Report(-1, "waiting", message)
		}
		if !waitContext(ctx, endWaitPoll) {
			return fmt.Errorf("not started: %s: %w", message, context.Cause(ctx))
		}
	}
}
