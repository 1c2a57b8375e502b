package admission

import (
	"cmp"
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/internal/engine/instant"
)

const defaultHolds = 200

// listenToOperators registers the handlers for holds. A refused update leaves no trace in the history.
func (a *run) listenToOperators() error {
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(a.ctx, contract.UpdateReEnable, a.reEnable,
			workflow.UpdateHandlerOptions{Validator: a.checkReEnable, Description: "Re-enable a job type or a dedupe key that the retry budget has disabled."}),
		workflow.SetUpdateHandlerWithOptions(a.ctx, contract.UpdateForgive, a.forgive,
			workflow.UpdateHandlerOptions{Validator: a.checkForgive, Description: "Forget all that is held against a dedupe key."}),
		workflow.SetUpdateHandlerWithOptions(a.ctx, contract.UpdateMarkDone, a.markDone,
			workflow.UpdateHandlerOptions{Validator: a.checkMarkDone, Description: "Leave a dedupe key out for a time: its work is done."}),
		workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryHolds, a.holds,
			workflow.QueryHandlerOptions{Description: "Job types and dedupe keys that are held back, and until when."}),
	)
}

func (a *run) checkReEnable(_ workflow.Context, in contract.ReEnableInput) error {
	if in.JobType == "" {
		return errors.New("name the job type: {\"job_type\": \"scrub\"}, and a key if it is not the whole type: \"key\": \"…\"")
	}
	return a.core.CheckReEnable(admission.ReEnabled(in), a.loop.Now())
}

func (a *run) reEnable(ctx workflow.Context, in contract.ReEnableInput) (contract.HoldResult, error) {
	workflow.GetLogger(a.ctx).Info("Re-enabled.", "job type", in.JobType, "key", in.DedupeKey, "by", in.By)
	return a.auditHold(ctx, "hold.re-enable", in.By, a.operate(in.JobType, in.DedupeKey, admission.ReEnabled(in))), nil
}

func (a *run) checkForgive(_ workflow.Context, in contract.ForgiveInput) error {
	if in.JobType == "" || in.DedupeKey == "" {
		return errors.New("name a job type and a key: {\"job_type\": \"scrub\", \"key\": \"…\"}")
	}
	return a.core.CheckForgive(admission.Forgiven(in), a.loop.Now())
}

func (a *run) forgive(ctx workflow.Context, in contract.ForgiveInput) (contract.HoldResult, error) {
	workflow.GetLogger(a.ctx).Info("Key forgiven.", "job type", in.JobType, "key", in.DedupeKey, "by", in.By)
	return a.auditHold(ctx, "hold.forgive", in.By, a.operate(in.JobType, in.DedupeKey, admission.Forgiven(in))), nil
}

func (a *run) markedOf(in contract.MarkDoneInput) admission.MarkedDone {
	lasts := cmp.Or(in.For, contract.DefaultMark)
	return admission.MarkedDone{MarkDoneInput: in, Until: a.loop.Now().Add(lasts.Std())}
}

func (a *run) checkMarkDone(_ workflow.Context, in contract.MarkDoneInput) error {
	if in.JobType == "" || in.DedupeKey == "" {
		return errors.New("name a job type and a key: {\"job_type\": \"scrub\", \"key\": \"…\", \"for\": \"24h\"}")
	}
	return a.core.CheckMarkDone(a.markedOf(in), a.loop.Now())
}

func (a *run) markDone(ctx workflow.Context, in contract.MarkDoneInput) (contract.HoldResult, error) {
	workflow.GetLogger(a.ctx).Info("Key marked as done.", "job type", in.JobType, "key", in.DedupeKey, "by", in.By)
	return a.auditHold(ctx, "hold.mark-done", in.By, a.operate(in.JobType, in.DedupeKey, a.markedOf(in))), nil
}

func (a *run) operate(jobType, key string, event admission.Event) contract.HoldResult {
	result := contract.HoldResult{JobType: jobType, DedupeKey: key}
	result.Failures, result.Before = a.holdOf(jobType, key)
	a.step(event)
	a.loop.Touch()
	_, result.After = a.holdOf(jobType, key)
	return result
}

func (a *run) holdOf(jobType, key string) (failures int, hold *contract.AdmissionHold) {
	if key == "" {
		return 0, a.core.TypeHold(jobType, a.loop.Now())
	}
	return a.core.KeyRecord(jobType, key, a.loop.Now())
}

func (a *run) holds(in contract.HoldsInput) (contract.HoldsResult, error) {
	result := contract.HoldsResult{Holds: []contract.AdmissionHold{}}
	result.Tracked, result.Dropped = a.core.Tracked()
	if in.Limit <= 0 {
		in.Limit = defaultHolds
	}
	for _, held := range a.core.HeldBack(in.JobType, instant.Later(a.loop.Now(), in.At)) {
		if in.DedupeKey != "" && in.DedupeKey != held.DedupeKey || in.TypesOnly && held.DedupeKey != "" {
			continue
		}
		if result.Total++; result.Total > in.Offset && len(result.Holds) < in.Limit {
			result.Holds = append(result.Holds, held)
		}
	}
	return result, nil
}
