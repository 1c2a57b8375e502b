package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

// result summarises the group and extends the job type's record.
func (r *groupRun) result() contract.JobGroupResult {
	now := workflow.Now(r.ctx)
	status := r.core.Status(now)
	result := contract.JobGroupResult{
		JobType: r.in.Spec.Name, Outcome: contract.Outcome(r.end.Outcome), Reason: r.end.Reason, DryRun: r.in.DryRun,
		Counts: contract.GroupCounts(status.Counts), StartedAt: r.startedAt, EndedAt: now,
		DurationMS: now.Sub(r.startedAt).Milliseconds(), Detector: status.Detector, ByWorker: status.ByWorker,
	}
	for _, e := range r.core.Errors(contract.MaxJobErrors) {
		failure := contract.JobError{DedupeKey: e.DedupeKey, Message: e.Message, Worker: e.Worker, Items: e.Items}
		if e.N > 0 {
			failure.JobID = contract.JobID(e.N)
		}
		result.Errors = append(result.Errors, failure)
	}
	result.HeldBack = r.heldBack()
	if r.in.DryRun {
		result.Proposals = r.core.Proposals(contract.MaxDryRunProposals)
		return result
	}
	for _, d := range r.core.Deduped() {
		result.Deduped = append(result.Deduped, contract.DedupedProposal{DedupeKey: d.Key, By: d.By})
	}
	r.signSubmission(&result)
	info := workflow.GetInfo(r.ctx)
	result.IgnoredWindow = r.in.IgnoresWindow(info.WorkflowExecution.ID)
	result.Dropped = r.droppedCheckpoints()
	r.record = r.withLearned(r.record)
	if status.Detector != "" {
		r.record.AvoidDetector = r.core.FailedDetector()
	}
	result.Record = r.recordWith(status.Detector, contract.RunSummary{
		WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID, Outcome: result.Outcome,
		Reason: clipReason(result.Reason), StartedAt: result.StartedAt, EndedAt: now, Counts: result.Counts,
	})
	return result
}

// maxReasonBytes keeps a record of twenty runs far below 64 KiB.
const maxReasonBytes = 300

func clipReason(reason string) string {
	if len(reason) > maxReasonBytes {
		return strings.ToValidUTF8(reason[:maxReasonBytes], "") + "…"
	}
	return reason
}

// withRun extends a record by the run that ends now.
func withRun(record contract.RunRecord, detector string, run contract.RunSummary) contract.RunRecord {
	record.Sequence++
	if detector != "" {
		record.LastDetector = detector
	}
	switch run.Outcome {
	case contract.OutcomeCompleted:
		record.LastSuccess = run.EndedAt
		record.Good = newest(record.Good, run)
	case contract.OutcomePartial, contract.OutcomeFailed, contract.OutcomeTimeout, contract.OutcomeCanceled:
		record.Bad = newest(record.Bad, run)
	case contract.OutcomeSkipped:
	}
	return record
}

// withMissed adds the runs that left no result behind. They count as runs of
// the job type too.
func withMissed(record contract.RunRecord, missed []contract.RunSummary) contract.RunRecord {
	for _, run := range missed {
		record.Sequence++
		run.Reason = clipReason(run.Reason)
		record.Bad = newest(record.Bad, run)
	}
	return record
}

// newest puts run first and keeps MaxRunRecords, ordered by end.
func newest(runs []contract.RunSummary, run contract.RunSummary) []contract.RunSummary {
	list := append([]contract.RunSummary{run}, runs...)
	slices.SortStableFunc(list, func(a, b contract.RunSummary) int { return b.EndedAt.Compare(a.EndedAt) })
	return list[:min(len(list), contract.MaxRunRecords)]
}

// details is what the Web UI shows as the workflow's current details.
func (r *groupRun) details() string {
	if r.core == nil {
		return ""
	}
	s := r.core.Summary()
	c := s.Counts
	text := fmt.Sprintf("**%s** · %d found · %d running · %d pending · %d completed", s.Phase, c.Accepted, s.Running, s.Pending, c.Completed)
	for _, part := range []struct {
		n    int
		name string
	}{
		{c.Failed, "failed"},
		{c.Stale, "stale"},
		{c.Canceled, "canceled"},
		{c.Expired, "expired"},
		{c.NotStarted, "not started"},
		{c.Duplicates, "duplicates"},
		{c.Batched, "batched with others"},
		{c.Disabled, "held back"},
		{c.Surplus, "surplus"},
		{c.Invalid, "invalid"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(" · %d %s", part.n, part.name)
		}
	}
	if s.Waiting != "" {
		text += "\n\n" + s.Waiting
	}
	return text
}
