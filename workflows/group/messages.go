package group

import (
	"errors"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/group"
	"github.com/roundsman/roundsman/workflows/run"
)

type messages struct {
	calendar, succeeded workflow.ReceiveChannel
}

func (m messages) waiting() bool {
	return m.calendar.Len()+m.succeeded.Len() > 0
}

// Update handlers never wait, so none is unfinished when the group ends or continues as new.
func (r *groupRun) listen() error {
	r.messages = messages{
		calendar:  workflow.GetSignalChannel(r.ctx, contract.SignalSetCalendar),
		succeeded: workflow.GetSignalChannel(r.ctx, contract.SignalSucceeded),
	}
	return errors.Join(
		r.loop.Listen(),
		workflow.SetUpdateHandlerWithOptions(r.ctx, contract.UpdateDetectPage, r.takePage,
			workflow.UpdateHandlerOptions{Validator: r.checkPage, Description: "One page of proposals, sent by the detector."}),
		workflow.SetUpdateHandlerWithOptions(r.ctx, contract.UpdateSetPolicy, r.setPolicy,
			workflow.UpdateHandlerOptions{Validator: r.checkPolicy, Description: "Replaces the policy of this running group, and its retry budget."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryStatus, r.status,
			workflow.QueryHandlerOptions{Description: "State of the group: phase, counts, workers, waits."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryCommon, r.common,
			workflow.QueryHandlerOptions{Description: "Common data of all jobs, by id, for workers."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryJobs, r.jobs,
			workflow.QueryHandlerOptions{Description: "The jobs of the group, filtered and paged."}),
	)
}

func pageOf(in contract.DetectPageInput) group.Page {
	return group.Page{Attempt: in.Attempt, Seq: in.Seq, Proposals: in.Proposals, BatchKeys: in.BatchKeys, Paged: in.Paged}
}

func (r *groupRun) checkPage(_ workflow.Context, in contract.DetectPageInput) error {
	if r.core == nil {
		return run.ErrNotBegun
	}
	return r.core.CheckPage(pageOf(in))
}

func (r *groupRun) takePage(ctx workflow.Context, in contract.DetectPageInput) (contract.DetectPageResult, error) {
	return contract.DetectPageResult(r.core.TakePage(workflow.Now(ctx), pageOf(in))), nil
}

// The SDK logs and drops a signal that cannot be decoded.
func (r *groupRun) collectMessages() {
	r.collectCalendars()
	r.collectSucceeded()
}

func (r *groupRun) collectCalendars() {
	for {
		var in contract.SetCalendarInput
		if !r.messages.calendar.ReceiveAsync(&in) {
			return
		}
		if in.IgnoreWindow {
			r.releaseFromWindow(in)
			continue
		}
		r.auditCalendar(in)
		r.in.Spec.Calendar, r.in.Spec.LaneCalendar = in.Calendar, in.LaneCalendar
		if !r.ignoresWindow() {
			r.windows = nil // Earlier requests are obsolete.
			r.loop.Step(group.CalendarSet{Windows: r.hasWindows()})
		}
	}
}

func (r *groupRun) collectLateCalendars() {
	for {
		var in contract.SetCalendarInput
		if !r.messages.calendar.ReceiveAsync(&in) {
			return
		}
		entry := contract.AuditEntry{Action: "calendar.set", Actor: in.By, Code: string(contract.CodeAlreadyEnded)}
		if in.IgnoreWindow {
			entry.Action = "run.ignore_window"
		}
		r.loop.Audit.Signaled(contract.SignalSetCalendar, entry)
	}
}

func (r *groupRun) releaseFromWindow(in contract.SetCalendarInput) {
	// STARTING: a lookup that failed within the workflow task is repeated, and the sender may have read an earlier state.
	held := []contract.Code{contract.CodeWindowClosed, contract.CodeAfter, contract.CodeStarting}
	if r.ignoresWindow() || !slices.Contains(held, r.core.Wait(r.loop.Now()).Code) {
		r.loop.Audit.Ignored(contract.SignalSetCalendar)
		return
	}
	r.loop.Audit.Signaled(contract.SignalSetCalendar, contract.AuditEntry{Action: "run.ignore_window", Actor: in.By})
	r.in = r.in.IgnoringWindow(workflow.GetInfo(r.ctx).WorkflowExecution.ID)
	r.windows, r.successes = nil, nil
	r.loop.Step(group.Released{})
}

func (r *groupRun) checkPolicy(_ workflow.Context, in contract.SetPolicyInput) error {
	if r.core == nil {
		return run.ErrNotBegun
	}
	policy, err := in.Over(r.core.Policy())
	if err != nil {
		return err
	}
	budget := in.RetryBudget.WithDefaults()
	return errors.Join(r.core.CheckPolicy(policy, budget), budget.Validate())
}

// A new retry budget applies to later failures. Stopped keys stay stopped.
func (r *groupRun) setPolicy(ctx workflow.Context, in contract.SetPolicyInput) (contract.SetPolicyResult, error) {
	policy, err := in.Over(r.core.Policy())
	if err != nil {
		return contract.SetPolicyResult{}, err // The validator has refused that.
	}
	result := contract.SetPolicyResult{Before: r.core.Policy(), After: policy, RetryBudgetBefore: r.in.Spec.RetryBudget}
	r.auditPolicy(ctx, result, in)
	r.loop.Observe()
	if in.RetryBudget != nil {
		r.setBudget(in.RetryBudget.WithDefaults())
	}
	r.loop.Admission.SetGrace(policy.HeartbeatTimeout)
	r.loop.Step(group.PolicySet{Policy: policy})
	r.loop.Touch()
	return result, nil
}

func (r *groupRun) setBudget(budget *contract.RetryBudget) {
	r.in.Spec.RetryBudget = budget
	r.loop.Admission.SetBudget(budget, budget != nil && !r.in.DryRun)
	r.loop.Step(group.BudgetSet{Counts: budget != nil})
}
