package group

import (
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/recorder"
)

// auditMissed records runs that were terminated, because they could not. Several runs may find the same one, so the entry
// has its id.
func (r *groupRun) auditMissed(missed []contract.RunSummary) {
	for _, run := range missed {
		if by := run.Terminated; by != nil {
			r.loop.Audit.Add(contract.AuditEntry{
				ID: "ended|" + run.RunID, Kind: contract.AuditOperator, At: run.EndedAt, From: by.By, Action: "run.terminate", Object: run.WorkflowID, Detail: by.Reason,
			})
		}
	}
}

// auditTicks records ticks that the server dropped. After a canceled run, whose record is lost, some may be recorded twice.
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
		n      int
		code   contract.Code
		detail string
	}{
		{now.Skipped - before.Skipped, contract.CodeOverlap, "it was due while the group before still ran (policy.overlap: skip)"},
		{now.Missed - before.Missed, contract.CodeServerAway, "it was due while the server was away for longer than catchup_window"},
	} {
		if dropped.n > 0 {
			r.loop.Audit.Add(contract.AuditEntry{
				Kind: contract.AuditScheduler, At: r.loop.Now(), Action: recorder.Refused, Code: string(dropped.code),
				Object: contract.ScheduleID(r.in.Spec.Name), Count: dropped.n, Detail: dropped.detail,
			})
		}
	}
}

func (r *groupRun) auditCalendar(in contract.SetCalendarInput) {
	was, is := recorder.Changes(
		contract.SetCalendarInput{Calendar: r.in.Spec.Calendar, LaneCalendar: r.in.Spec.LaneCalendar}, contract.SetCalendarInput{Calendar: in.Calendar, LaneCalendar: in.LaneCalendar})
	r.loop.Audit.Signaled(contract.SignalSetCalendar, contract.AuditEntry{Action: "calendar.set", Actor: in.By, Before: was, After: is})
}

func (r *groupRun) auditPolicy(ctx workflow.Context, set contract.SetPolicyResult, in contract.SetPolicyInput) {
	was, is := recorder.Changes(set.Before, set.After)
	if in.RetryBudget != nil {
		type budget struct {
			Is *contract.RetryBudget `json:"retry_budget,omitempty"`
		}
		old, current := recorder.Changes(budget{set.RetryBudgetBefore}, budget{in.RetryBudget.WithDefaults()})
		was, is = joined(was, old), joined(is, current)
	}
	r.loop.Audit.Updated(ctx, contract.AuditEntry{Action: "policy.set", Actor: in.By, Before: was, After: is})
}

func joined(a, b string) string { return strings.Trim(a+"; "+b, "; ") }
