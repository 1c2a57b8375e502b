package jobs

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/batch"
	"github.com/roundsman/roundsman/jobtype"
)

// Detect runs one detection and sends its proposals, page by page, to its group. A repeat sends the same pages under
// the same update ids. A result that the server no longer accepts is dropped: the group detects again.
func (a *Activities) Detect(ctx context.Context, in contract.DetectActivityInput) (contract.DetectActivityResult, error) {
	what := Running{
		JobID: fmt.Sprintf("detect-%d", in.Attempt), GroupID: in.WorkflowID, JobType: in.Input.JobType,
		Handler: in.Handler, Attempt: in.Attempt, Detection: true,
	}
	r := a.newAttempt(ctx, what, 0)
	r.progress = newProgress(a.options.WorkerID, nil, r.what.StartedAt)
	r.limits = limits{quiet: quietLimit(in.Liveness, in.StallTimeout)}
	defer a.track(r)()
	beats := &beater{
		server: a.options.Server, hold: r.hold, progress: r.progress, ended: r.ended, stop: r.cancel,
	}
	stopBeating := beats.start(ctx)
	result, failure := r.detect(ctx, in)
	if !errors.Is(failure, errUnwanted) {
		r.reporting.Store(true)
		a.report(r, result, failure)
		r.reporting.Store(false)
	}
	stopBeating()
	r.await()
	return contract.DetectActivityResult{}, activity.ErrResultPending
}

// errUnwanted marks a detection whose group no longer requests it.
var errUnwanted = errors.New("this detection is no longer wanted")

func (r *attempt) detect(ctx context.Context, in contract.DetectActivityInput) (contract.DetectActivityResult, error) {
	out := newSink(r.activities.options.Pages, in, r.progress.Alive)
	handler, refusal := r.activities.detector(in.Handler)
	if refusal == nil {
		refusal = r.activities.refusesWork()
	}
	if refusal == nil && in.BatchBy != "" {
		refusal = out.readTemplate()
	}
	if refusal != nil {
		close(r.ended)
		return r.detected(out), detectionError(refusal.kind, refusal.message)
	}
	input := in.Input
	input.WorkerID, input.WorkerLabels, input.Run.ID = r.activities.options.WorkerID, r.activities.options.WorkerLabels, in.WorkflowID
	input.Liveness, input.StallTimeout = in.Liveness, in.StallTimeout
	input.Params, input.Settings = orEmpty(input.Params), orEmpty(input.Settings)
	r.start(func(ctx context.Context) error {
		err := handler.Detect(ctx, input, out)
		if err != nil && !errors.Is(err, jobtype.ErrSinkFull) {
			return err
		}
		if err != nil {
			out.more()
		}
		return out.close(ctx)
	})
	if !r.supervise(ctx) {
		if r.activities.life.Err() != nil {
			return r.detected(out), errUnwanted
		}
		kind, message := overdue(context.Cause(r.ctx), r)
		return r.detected(out), detectionError(kind, "the detection: "+message+"; the handler ignores that and still runs on worker "+input.WorkerID)
	}
	return r.detected(out), r.detectionFailure()
}

func (s *sink) readTemplate() *refusal {
	parsed, err := batch.Parse(s.in.BatchBy)
	if err != nil {
		return &refusal{contract.FailurePermanent, "batch.by: " + err.Error()}
	}
	s.batchBy = parsed
	return nil
}

func (r *attempt) detected(out *sink) contract.DetectActivityResult {
	result := out.summary()
	result.Worker = r.activities.options.WorkerID
	return result
}

func (r *attempt) detectionFailure() error {
	if r.err == nil {
		return nil
	}
	cause := r.cause
	switch {
	case errors.Is(cause, jobtype.ErrLeaseLost), errors.Is(r.err, jobtype.ErrLeaseLost):
		return errUnwanted
	case errors.Is(cause, jobtype.ErrDraining):
		return detectionError(contract.FailureDraining, r.err.Error())
	case errors.Is(cause, jobtype.ErrCanceled):
		return detectionError(contract.FailureCanceled, r.err.Error())
	case errors.Is(cause, jobtype.ErrDeadline):
		kind, message := overdue(cause, r)
		return detectionError(kind, fmt.Sprintf("%s: %v", message, r.err))
	case jobtype.IsPermanent(r.err):
		return detectionError(contract.FailurePermanent, r.err.Error())
	}
	return detectionError(failureKind(r.err), r.err.Error())
}

func detectionError(kind contract.FailureKind, message string) error {
	return temporal.NewApplicationErrorWithOptions(jobtype.ClipCause(message, maxFailureMessage), string(kind),
		temporal.ApplicationErrorOptions{NonRetryable: true})
}

func (a *Activities) report(r *attempt, result contract.DetectActivityResult, failure error) {
	wait := firstDeliveryWait
	lease, _ := r.hold.current()
	for {
		ctx, cancel := context.WithTimeout(a.life, deliveryTimeout)
		err := a.options.Server.Complete(ctx, lease.token, result, failure)
		cancel()
		var rejected *RejectedError
		if err == nil || errors.Is(err, jobtype.ErrLeaseLost) || errors.As(err, &rejected) || !pause(a.life, &wait) {
			return
		}
	}
}

func (a *Activities) detector(name string) (jobtype.Handler, *refusal) {
	handler, known := a.options.Handlers[name]
	switch {
	case !known:
		return nil, &refusal{contract.FailureUnsupported, fmt.Sprintf("worker %s has no handler %q: start a worker whose binary has it", a.options.WorkerID, name)}
	case a.descriptors[name].ExecuteOnly:
		return nil, &refusal{contract.FailureUnsupported, fmt.Sprintf("handler %q only executes", name)}
	}
	return handler, nil
}
