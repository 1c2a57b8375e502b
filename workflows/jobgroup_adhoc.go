package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
)

// adHoc reports whether the group's work was submitted with its start.
func (r *groupRun) adHoc() bool { return r.in.Submission != nil }

// takeSubmission hands what was submitted to the core, before anything else:
// also of a group that is canceled at once the counts are exact.
func (r *groupRun) takeSubmission() {
	if r.adHoc() {
		r.step(dispatch.Submitted{Proposals: r.in.Submission.Proposals, BatchKeys: r.in.Submission.BatchKeys})
	}
}

// firstStart is before which nothing of what was submitted may start; zero: no
// such time.
func (r *groupRun) firstStart() time.Time {
	if !r.adHoc() || len(r.in.Submission.Proposals) == 0 {
		return time.Time{}
	}
	first := r.in.Submission.Proposals[0].NotBefore
	for _, p := range r.in.Submission.Proposals[1:] {
		if p.NotBefore.Before(first) {
			first = p.NotBefore
		}
	}
	return first
}

// awaitFirst waits until the first job may start: before that the group would
// hold its lane, and spend its max_runtime, on doing nothing. It answers
// admission meanwhile, which waits for everybody when it was started anew.
func (r *groupRun) awaitFirst() error {
	until := r.firstStart()
	for workflow.Now(r.ctx).Before(until) && !r.stopAsked() {
		r.timers.SetBy(r.ctx, until)
		if err := workflow.Await(r.ctx, r.firstChanged); err != nil {
			return err
		}
		r.timers.ClearFired()
		r.collectAdmission()
		r.link.flush()
	}
	return nil
}

func (r *groupRun) firstChanged() bool {
	return r.stopAsked() || r.messages.admission.Len()+r.messages.reassert.Len() > 0 || r.link.ready() || r.timers.Fired()
}

// statusAdHoc is what an ad-hoc group says of itself before it has begun.
func (r *groupRun) statusAdHoc(status *contract.GroupStatus) {
	if !r.adHoc() {
		return
	}
	status.Pending = len(r.in.Submission.Proposals)
	status.Counts.Detected = status.Pending
	if first := r.firstStart(); workflow.Now(r.ctx).Before(first) && r.lane.askedAt.IsZero() {
		at := first.UTC().Format(time.RFC3339)
		status.Phase, status.Waiting = "waiting", "not_before "+at
		status.Wait = &contract.WaitReason{
			Code: string(dispatch.WaitNotBefore), Since: workflow.GetInfo(r.ctx).WorkflowStartTime, Until: first,
			Detail: "nothing of what was submitted may start before " + at,
		}
	}
}

// recordWith extends the job type's record. It belongs to the chain of the
// Schedule's runs, of which an ad-hoc group is none: it has not read it, and
// nobody would read what it writes.
func (r *groupRun) recordWith(detector string, run contract.RunSummary) contract.RunRecord {
	if r.adHoc() {
		return contract.RunRecord{}
	}
	return withRun(r.record, detector, run)
}

func (r *groupRun) signSubmission(result *contract.JobGroupResult) {
	if r.adHoc() {
		result.Submission, result.SubmittedBy = r.in.Submission.ID, r.in.Submission.By
	}
}

// laneDeadline is until when the group waits for its lane. A group of the
// Schedule waits until it is due again; nobody comes instead of an ad-hoc one,
// so that it waits as long as one of its jobs could still start. Zero: for ever.
func (r *groupRun) laneDeadline() time.Time {
	if !r.adHoc() {
		return r.lane.askedAt.Add(r.patience())
	}
	var last time.Time
	for _, p := range r.in.Submission.Proposals {
		if p.ExpiresAt.IsZero() {
			return time.Time{}
		}
		if p.ExpiresAt.After(last) {
			last = p.ExpiresAt
		}
	}
	return last
}

func (r *groupRun) laneTooLate() string {
	if r.adHoc() {
		return fmt.Sprintf("LANE_BUSY: lane %s was busy until every job had expired (expires_at)", r.in.Spec.Lane)
	}
	return fmt.Sprintf("LANE_BUSY: lane %s was busy for a whole interval (%s)", r.in.Spec.Lane, r.patience())
}

// patienceText says for people how long that is.
func (r *groupRun) patienceText() string {
	switch {
	case !r.adHoc():
		return ", at most one interval"
	case r.laneDeadline().IsZero():
		return ", however long that takes"
	}
	return ", until its jobs have expired"
}
