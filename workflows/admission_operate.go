package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/admission"
)

// defaultHolds is how many of what is held back a query lists.
const defaultHolds = 200

// listenToOperators opens what is held back to people. Handlers never wait, and
// what they refuse leaves no trace in the history.
func (a *admissionRun) listenToOperators() error {
	if err := workflow.SetUpdateHandlerWithOptions(a.ctx, contract.UpdateReEnable, a.reEnable,
		workflow.UpdateHandlerOptions{Validator: a.checkReEnable, Description: "Re-enable a job type or a dedupe key that the retry budget has disabled."}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(a.ctx, contract.UpdateForgive, a.forgive,
		workflow.UpdateHandlerOptions{Validator: a.checkForgive, Description: "Forget all that is held against a dedupe key."}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(a.ctx, contract.UpdateMarkDone, a.markDone,
		workflow.UpdateHandlerOptions{Validator: a.checkMarkDone, Description: "Leave a dedupe key out for a time: its work is done."}); err != nil {
		return err
	}
	return workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryHolds, a.holds,
		workflow.QueryHandlerOptions{Description: "Job types and dedupe keys that are held back, and until when."})
}

func reEnabledOf(in contract.ReEnableInput) admission.ReEnabled {
	event := admission.ReEnabled{JobType: in.JobType, Key: in.DedupeKey}
	if in.DedupeKey != "" {
		event.Hash = contract.DedupeHash(in.JobType, in.DedupeKey)
	}
	return event
}

func (a *admissionRun) checkReEnable(_ workflow.Context, in contract.ReEnableInput) error {
	if in.JobType == "" {
		return errors.New("name the job type: {\"job_type\": \"scrub\"}, and a key if it is not the whole type: \"key\": \"…\"")
	}
	return a.core.CheckReEnable(reEnabledOf(in), workflow.Now(a.ctx))
}

func (a *admissionRun) reEnable(ctx workflow.Context, in contract.ReEnableInput) (contract.HoldResult, error) {
	workflow.GetLogger(a.ctx).Info("Re-enabled.", "job type", in.JobType, "key", in.DedupeKey, "by", in.By)
	return a.auditHold(ctx, "hold.re-enable", in.By, a.operate(in.JobType, in.DedupeKey, reEnabledOf(in))), nil
}

func forgivenOf(in contract.ForgiveInput) admission.Forgiven {
	return admission.Forgiven{JobType: in.JobType, Key: in.DedupeKey, Hash: contract.DedupeHash(in.JobType, in.DedupeKey)}
}

func (a *admissionRun) checkForgive(_ workflow.Context, in contract.ForgiveInput) error {
	if in.JobType == "" || in.DedupeKey == "" {
		return errors.New("name a job type and a key: {\"job_type\": \"scrub\", \"key\": \"…\"}")
	}
	return a.core.CheckForgive(forgivenOf(in), workflow.Now(a.ctx))
}

func (a *admissionRun) forgive(ctx workflow.Context, in contract.ForgiveInput) (contract.HoldResult, error) {
	workflow.GetLogger(a.ctx).Info("Key forgiven.", "job type", in.JobType, "key", in.DedupeKey, "by", in.By)
	return a.auditHold(ctx, "hold.forgive", in.By, a.operate(in.JobType, in.DedupeKey, forgivenOf(in))), nil
}

func (a *admissionRun) markedOf(in contract.MarkDoneInput) admission.MarkedDone {
	lasts := in.For
	if lasts == 0 {
		lasts = contract.DefaultMark
	}
	return admission.MarkedDone{
		JobType: in.JobType, Key: in.DedupeKey, Hash: contract.DedupeHash(in.JobType, in.DedupeKey),
		Until: workflow.Now(a.ctx).Add(lasts.Std()), By: in.By,
	}
}

func (a *admissionRun) checkMarkDone(_ workflow.Context, in contract.MarkDoneInput) error {
	if in.JobType == "" || in.DedupeKey == "" {
		return errors.New("name a job type and a key: {\"job_type\": \"scrub\", \"key\": \"…\", \"for\": \"24h\"}")
	}
	return a.core.CheckMarkDone(a.markedOf(in), workflow.Now(a.ctx))
}

func (a *admissionRun) markDone(ctx workflow.Context, in contract.MarkDoneInput) (contract.HoldResult, error) {
	workflow.GetLogger(a.ctx).Info("Key marked as done.", "job type", in.JobType, "key", in.DedupeKey, "by", in.By)
	return a.auditHold(ctx, "hold.mark-done", in.By, a.operate(in.JobType, in.DedupeKey, a.markedOf(in))), nil
}

// operate does what an operator wants and says what it changed.
func (a *admissionRun) operate(jobType, key string, event admission.Event) contract.HoldResult {
	now := workflow.Now(a.ctx)
	result := contract.HoldResult{JobType: jobType, DedupeKey: key, Before: a.holdOf(jobType, key, now)}
	if key != "" {
		result.Failures, _ = a.core.KeyRecord(contract.DedupeHash(jobType, key), now)
	}
	a.step(event)
	a.touched = true
	result.After = a.holdOf(jobType, key, now)
	return result
}

func (a *admissionRun) holdOf(jobType, key string, now time.Time) *contract.AdmissionHold {
	off := a.core.TypeOff(jobType, now)
	if key != "" {
		_, off = a.core.KeyRecord(contract.DedupeHash(jobType, key), now)
	}
	if off == nil {
		return nil
	}
	return new(wireHold(admission.HeldBack{JobType: jobType, Key: key, Off: *off}))
}

func (a *admissionRun) holds(in contract.HoldsInput) (contract.HoldsResult, error) {
	result := contract.HoldsResult{Holds: []contract.AdmissionHold{}}
	result.Tracked, result.Dropped = a.core.Tracked()
	if in.Limit <= 0 {
		in.Limit = defaultHolds
	}
	for _, held := range a.core.HeldBack(in.JobType, workflow.Now(a.ctx)) {
		if in.DedupeKey != "" && in.DedupeKey != held.Key || in.TypesOnly && held.Key != "" {
			continue
		}
		if result.Total++; len(result.Holds) < in.Limit {
			result.Holds = append(result.Holds, wireHold(held))
		}
	}
	return result, nil
}
