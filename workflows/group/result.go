package group

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/carry"
	"github.com/roundsman/roundsman/internal/engine/duration"
	"github.com/roundsman/roundsman/internal/engine/values"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/run"
)

func (r *groupRun) status() (contract.GroupStatus, error) {
	if r.core == nil {
		return contract.GroupStatus{}, run.ErrNotBegun
	}
	status := r.core.Status(r.loop.Now())
	status.RetryBudget = r.in.Spec.RetryBudget
	status.IgnoresWindow = r.in.IgnoresWindow(workflow.GetInfo(r.ctx).WorkflowExecution.ID)
	if !r.in.DryRun && !r.apart() {
		status.Usual = new(duration.UsualOf(r.record.Good))
	}
	return status, nil
}

func (r *groupRun) jobs(in contract.JobsQueryInput) (contract.JobsQueryResult, error) {
	if r.core == nil {
		return contract.JobsQueryResult{}, run.ErrNotBegun
	}
	return r.core.Jobs(in, r.loop.Now())
}

func (r *groupRun) result() contract.JobGroupResult {
	result := r.core.Result(r.loop.Now())
	if r.in.DryRun {
		return result
	}
	info := workflow.GetInfo(r.ctx).WorkflowExecution
	result.IgnoredWindow = r.in.IgnoresWindow(info.ID)
	result.Dropped = r.droppedCheckpoints()
	if s := r.in.Submission; s != nil {
		result.Submission, result.SubmittedBy = s.ID, s.By
	}
	if r.apart() {
		return result // Only runs of the Schedule extend the record.
	}
	r.learn()
	if result.Detector != "" {
		r.record.AvoidDetector = r.core.FailedDetector()
	}
	r.record.Values = values.Extend(r.record.Values, r.core.Values(), result.EndedAt)
	result.Record = withRun(r.record, result.Detector, r.due(result.StartedAt), contract.RunSummary{
		WorkflowID: info.ID, RunID: info.RunID, Outcome: result.Outcome,
		Reason: jobtype.ClipCause(result.Reason, maxReasonBytes), StartedAt: result.StartedAt, EndedAt: result.EndedAt, Counts: result.Counts,
	})
	return result
}

// maxReasonBytes keeps a record of twenty runs far below 64 KiB.
const maxReasonBytes = 300

// scheduledFor is the search attribute with the tick of a scheduled workflow.
const scheduledFor = "TemporalScheduledStartTime"

func (r *groupRun) about() jobtype.RunInfo {
	if r.startedAt.IsZero() { // It does not change after the start of a job or a detection.
		r.startedAt = r.core.Status(r.loop.Now()).StartedAt.UTC().Truncate(time.Second)
	}
	about := jobtype.RunInfo{StartedAt: r.startedAt, ScheduledAt: r.due(r.startedAt)}
	if r.adHoc() && !r.in.Submission.ScheduledAt.IsZero() {
		about.ScheduledAt = r.in.Submission.ScheduledAt
	}
	return about
}

func (r *order) due(started time.Time) time.Time {
	if tick, scheduled := workflow.GetTypedSearchAttributes(r.ctx).GetTime(temporal.NewSearchAttributeKeyTime(scheduledFor)); scheduled {
		return tick.UTC()
	}
	return started
}

func withRun(record contract.RunRecord, detector string, due time.Time, run contract.RunSummary) contract.RunRecord {
	record.Sequence++
	if detector != "" {
		record.LastDetector = detector
	}
	switch run.Outcome {
	case contract.OutcomeCompleted:
		record.LastSuccess = run.EndedAt
		if run.Counts.Done() > 0 {
			record.LastWithJobs = due
		}
		record.Good = newest(record.Good, run)
	case contract.OutcomePartial, contract.OutcomeFailed, contract.OutcomeTimeout, contract.OutcomeCanceled:
		record.Bad = newest(record.Bad, run)
	case contract.OutcomeSkipped:
	}
	return record
}

// withMissed adds runs without a result.
func withMissed(record contract.RunRecord, missed []contract.RunSummary) contract.RunRecord {
	for _, run := range missed {
		record.Sequence++
		run.Reason = jobtype.ClipCause(run.Reason, maxReasonBytes)
		record.Bad = newest(record.Bad, run)
	}
	return record
}

func newest(runs []contract.RunSummary, run contract.RunSummary) []contract.RunSummary {
	list := append([]contract.RunSummary{run}, runs...)
	slices.SortStableFunc(list, func(a, b contract.RunSummary) int { return b.EndedAt.Compare(a.EndedAt) })
	return list[:min(len(list), contract.MaxRunRecords)]
}

// learn adds run times, checkpoints for later groups, and the opening until which the group was skipped.
func (r *groupRun) learn() {
	took := slices.Clone(r.record.TookMS)
	for _, one := range r.core.Took() {
		took = append(took, one.Milliseconds())
	}
	r.record.TookMS = took[max(0, len(took)-window.MaxKnown):]
	r.record.ClosedUntil = r.core.ClosedUntil()
	r.record.Checkpoints = nil
	for _, carried := range r.core.Carried() {
		r.record.Checkpoints = append(r.record.Checkpoints, contract.KeptCheckpoint(carried))
	}
}

func tookOf(record contract.RunRecord) []time.Duration {
	took := make([]time.Duration, len(record.TookMS))
	for i, ms := range record.TookMS {
		took[i] = time.Duration(ms) * time.Millisecond
	}
	return took
}

func carriedOf(record contract.RunRecord) []carry.Checkpoint {
	var carried []carry.Checkpoint
	for _, one := range record.Checkpoints {
		carried = append(carried, carry.Checkpoint(one))
	}
	return carried
}

// droppedCheckpoints returns the checkpoints that no later group continues.
func (r *groupRun) droppedCheckpoints() *contract.DroppedCheckpoints {
	dropped := contract.DroppedCheckpoints(r.core.Dropped())
	if r.apart() {
		for _, carried := range r.core.Carried() {
			dropped.Count++
			dropped.Keys = append(dropped.Keys, carried.Key)
		}
	}
	if dropped.Count == 0 {
		return nil
	}
	return &dropped
}

// Phase implements [run.Describer].
func (r *groupRun) Phase() string { return string(r.core.Phase()) }

// Describe implements [run.Describer].
func (r *groupRun) Describe() {
	s := r.core.Summary(r.loop.Now())
	text := fmt.Sprintf("**%s** · %d running · %d pending · %s", s.Phase, s.Running, s.Pending, strings.ReplaceAll(s.Counts.String(), ", ", " · "))
	wait := s.Wait
	if wait == nil && s.Running == 0 && s.Pending > 0 {
		wait = r.core.MainWait(r.loop.Now())
	}
	workflow.SetCurrentDetails(r.ctx, r.loop.Details(wait, text))
}
