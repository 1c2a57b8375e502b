package workflows

import (
	"cmp"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/workflows/recorder"
)

// groupTrail is the trail of a group.
func groupTrail(ctx workflow.Context, spec contract.JobTypeSpec) *recorder.Recorder {
	return recorder.New(ctx, recorder.RunPace, contract.AuditEntry{JobType: spec.Name, Object: workflow.GetInfo(ctx).WorkflowExecution.ID})
}

// placed adds notes of a run's core; name says what a subject is called.
func placed(t *recorder.Recorder, notes []placement.Note, name func(subject int) string) {
	for _, note := range notes {
		d := recorder.Decision{Action: string(note.Verdict), Code: string(note.Code), Detail: note.Detail, N: note.Count, Waited: note.Waited}
		if note.Subject >= 0 {
			d.Object = name(note.Subject)
		}
		t.Decided(d)
	}
}

// auditNotes takes what the core has noted. A dry run decides about nothing.
func (r *groupRun) auditNotes() {
	if notes := r.core.Notes(); !r.in.DryRun {
		placed(r.trail, notes, contract.JobID)
	}
}

// auditLane tells of a turn that was waited for.
func (r *groupRun) auditLane() {
	if waited := workflow.Now(r.ctx).Sub(r.lane.askedAt); r.lane.granted && waited >= placement.Noticeable {
		r.trail.Decided(recorder.Decision{Action: recorder.Delayed, Code: "LANE_BUSY", Detail: "it waited for its turn in lane " + r.in.Spec.Lane, Waited: waited})
	}
}

// auditSkip tells of a run that did not take its turn. Its reason begins with the
// code.
func (r *groupRun) auditSkip(reason string) {
	if r.toldClosed() {
		return
	}
	code, detail, _ := strings.Cut(reason, ": ")
	code, until, _ := strings.Cut(code, " ")
	if until != "" {
		detail = strings.TrimSuffix("until "+until+": "+detail, ": ")
	}
	r.trail.Decided(recorder.Decision{Action: recorder.Refused, Code: code, Detail: detail, Waited: workflow.Now(r.ctx).Sub(workflow.GetInfo(r.ctx).WorkflowStartTime)})
}

// auditMissed tells of runs that were terminated: they could not.
func (r *groupRun) auditMissed(missed []contract.RunSummary) {
	for _, run := range missed {
		identity, terminated := strings.CutPrefix(run.Reason, "terminated by ")
		if !terminated {
			continue
		}
		identity, detail, _ := strings.Cut(identity, ": ")
		r.trail.Add(contract.AuditEntry{
			Kind: contract.AuditOperator, At: run.EndedAt, From: identity, Action: "run.terminate", Object: run.WorkflowID, Detail: detail,
		})
	}
}

// auditTicks tells of ticks that the server dropped since a run of the job type
// told of them last. After a run that was canceled, whose record is lost, some
// may be told of twice.
func (r *groupRun) auditTicks(now *contract.TickCounts) {
	before := r.record.Ticks
	if now == nil {
		return
	}
	r.record.Ticks = now
	if before == nil {
		return
	}
	for _, dropped := range []struct {
		n            int
		code, detail string
	}{
		{now.Skipped - before.Skipped, "OVERLAP_SKIPPED", "it was due while the group before still ran (policy.overlap: skip)"},
		{now.Missed - before.Missed, "CATCHUP_MISSED", "it was due while the server was away for longer than catchup_window"},
	} {
		if dropped.n > 0 {
			r.trail.Add(contract.AuditEntry{
				Kind: contract.AuditScheduler, At: workflow.Now(r.ctx), Action: recorder.Refused, Code: dropped.code,
				Object: contract.ScheduleID(r.in.Spec.Name), Count: dropped.n, Detail: dropped.detail,
			})
		}
	}
}

func (r *groupRun) auditPause(in contract.PauseInput) {
	r.trail.Signaled(contract.SignalPause, contract.AuditEntry{Action: "run.pause", Actor: in.By, Before: r.pauseState(), After: pausedText(in.Note)})
}

func (r *groupRun) auditResume() {
	r.trail.Signaled(contract.SignalResume, contract.AuditEntry{Action: "run.resume", Before: r.pauseState(), After: "going on"})
}

// pauseState says whether the group is paused.
func (r *groupRun) pauseState() string {
	if s := r.core.Status(workflow.Now(r.ctx)); s.Paused {
		return pausedText(s.PauseNote)
	}
	return "going on"
}

func pausedText(note string) string { return strings.TrimSuffix("paused: "+note, ": ") }

// auditJob tells of an operator's wish for one job.
func (r *groupRun) auditJob(signal, action string, in contract.CancelJobInput) {
	object := r.trail.Object() + "/" + in.JobID
	if in.JobID == "" {
		object = r.trail.Object() + "/key " + in.DedupeKey
	}
	r.trail.Signaled(signal, contract.AuditEntry{Action: action, Actor: in.By, Object: object, Before: r.jobState(in), Detail: in.Reason})
}

// jobState is the state of the job that is to end.
func (r *groupRun) jobState(in contract.CancelJobInput) string {
	n, _ := contract.JobNumber(in.JobID)
	jobs, _ := r.core.Jobs(dispatch.Filter{Job: n, DedupeKey: in.DedupeKey, Limit: 1}, workflow.Now(r.ctx))
	if n == 0 && in.DedupeKey == "" || len(jobs) == 0 {
		return "no such job"
	}
	return string(jobs[0].State)
}

func (r *groupRun) auditCancelGroup(in contract.CancelGroupInput) {
	r.trail.Signaled(contract.SignalCancelGroup, contract.AuditEntry{Action: "run.cancel", Actor: in.By, Before: string(r.core.Phase()), Detail: in.Reason})
}

// auditPolicy says which settings another policy changes; ctx is the update
// handler's.
func (r *groupRun) auditPolicy(ctx workflow.Context, set contract.SetPolicyResult, in contract.SetPolicyInput) {
	was, is := recorder.Changes(set.Before, set.After)
	if in.RetryBudget != nil {
		type budget struct {
			Is *contract.RetryBudget `json:"retry_budget,omitempty"`
		}
		old, current := recorder.Changes(budget{set.RetryBudgetBefore}, budget{in.RetryBudget.WithDefaults()})
		was, is = joined(was, old), joined(is, current)
	}
	r.trail.Updated(ctx, contract.AuditEntry{Action: "policy.set", Actor: in.By, Before: was, After: is})
}

func joined(a, b string) string { return strings.Trim(a+"; "+b, "; ") }

// admissionRefused adds that admission will never grant something. A turn in a
// lane is reported by the run that is skipped.
func admissionRefused(t *recorder.Recorder, refusal contract.AdmissionRefusal) {
	if strings.HasPrefix(refusal.ID, itemLane) {
		return
	}
	object, _, _ := cutLast(refusal.ID, ".")
	t.Decided(recorder.Decision{Action: recorder.Refused, Code: cmp.Or(refusal.Code, "NOT_ADMITTED"), Object: object, Detail: refusal.String()})
}
