package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Failures are stored in the group's history, in the failed activity and in the group's state.
const (
	maxFailureMessage = 1 << 10
	maxFailureOutput  = jobtype.MaxOutputBytes
)

// conclude returns the outcome. report is false if the attempt lost its job before it finished. A settled outcome stands,
// unless another attempt may already run. At the end of the worker's life it is kept for the next process.
func (r *attempt) conclude(result jobtype.Result, ended bool) (state contract.ExecuteState, report bool) {
	settled := r.progress.outcome()
	var cause error
	if ended {
		cause = r.cause // Before, the handler's goroutine may write it.
	} else {
		cause = context.Cause(r.ctx)
	}
	if settled != nil && !errors.Is(cause, jobtype.ErrLeaseLost) {
		cause = nil
	}
	switch {
	case ended:
		return r.classify(result, r.err, cause)
	case settled != nil:
		return r.classify(settled.result, settled.err, cause)
	case r.activities.life.Err() != nil:
		return r.state(), false
	}
	state = r.state()
	state.Failure, state.Message = overdue(cause, r)
	state.Message += "; the handler ignores that it was canceled and still runs on worker " + state.Worker
	return state, true
}

// classify judges an error by cause. Without a cause the work has ended by itself. With ErrAtCapacity it did not begin, for
// any cause.
func (r *attempt) classify(result jobtype.Result, err, cause error) (state contract.ExecuteState, report bool) {
	state = r.state()
	if err == nil {
		// Finished work counts, even if it was no longer wanted.
		return succeed(state, result), true
	}
	state.Result.Output = tail(result.Output, maxFailureOutput)
	state.Message = jobtype.ClipCause(err.Error(), maxFailureMessage)
	switch {
	case jobtype.IsPermanent(err):
		state.Failure = contract.FailurePermanent
	case cause == nil && jobtype.AsDeferral(err) != nil:
		deferral := jobtype.AsDeferral(err)
		state.Failure, state.Delay = contract.FailureDeferred, deferral.After
		if deferral.Guard {
			state.Failure = contract.FailureGuard
		}
	case errors.Is(cause, jobtype.ErrLeaseLost):
		return state, false
	case cause == nil || errors.Is(err, jobtype.ErrAtCapacity):
		state.Failure = failureKind(err)
	case errors.Is(cause, jobtype.ErrDraining):
		state.Failure = contract.FailureDraining
	case errors.Is(cause, jobtype.ErrCanceled):
		state.Failure = contract.FailureCanceled
	default:
		kind, message := overdue(cause, r)
		state.Failure, state.Message = kind, jobtype.ClipCause(message+": "+err.Error(), maxFailureMessage)
	}
	return state, true
}

func failureKind(err error) contract.FailureKind {
	switch {
	case errors.Is(err, jobtype.ErrAtCapacity):
		return contract.FailureAtCapacity
	case errors.Is(err, jobtype.ErrExecutorLost):
		return contract.FailureWorkerLost
	case errors.Is(err, jobtype.ErrCannotStart):
		return contract.FailureCannotStart
	case errors.Is(err, jobtype.ErrNotInstalled):
		return contract.FailureNotInstalled
	}
	return contract.FailureFailed
}

func overdue(cause error, r *attempt) (contract.FailureKind, string) {
	switch {
	case errors.Is(cause, errStale):
		return contract.FailureStale, "no change of progress for " + jobtype.Duration(r.limits.progress).String()
	case errors.Is(cause, errQuiet):
		return contract.FailureStale, "no report, output, CPU or I/O for " + jobtype.Duration(r.limits.quiet).String() + " (stall_timeout)"
	}
	limit := r.deadline.Sub(r.what.StartedAt).Round(time.Millisecond)
	what := "execution"
	if r.what.Detection {
		what = "detection"
	}
	return contract.FailureTimeout, "over the " + what + " timeout of " + jobtype.Duration(limit).String()
}

func (r *attempt) state() contract.ExecuteState {
	beat, _, _ := r.progress.snapshot()
	return r.withOthers(contract.ExecuteState{
		Worker:     r.activities.options.WorkerID,
		Instance:   r.activities.options.Instance,
		Checkpoint: beat.Checkpoint,
		Done:       beat.Done,
		StartedAt:  r.what.StartedAt.UTC(),
		DurationMS: max(time.Since(r.what.StartedAt).Milliseconds(), 1), // 0 would be unknown
	})
}

// A result that cannot be sent is a permanent failure: the next attempt would return it again.
func succeed(state contract.ExecuteState, result jobtype.Result) contract.ExecuteState {
	state.Checkpoint, state.Done = nil, 0
	result.Output = tail(result.Output, jobtype.MaxOutputBytes)
	result.Warning = jobtype.ClipCause(result.Warning, maxFailureMessage)
	if err := checkResult(result); err != nil {
		state.Failure, state.Message = contract.FailurePermanent, head("the job was done, but "+err.Error(), maxFailureMessage)
		return state
	}
	state.Result = result
	return state
}

func checkResult(result jobtype.Result) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("its result cannot be encoded as JSON: %w", err)
	}
	if len(encoded) > jobtype.MaxResultBytes {
		return fmt.Errorf("its result has %d bytes, the limit is %d: return a reference instead of the data", len(encoded), jobtype.MaxResultBytes)
	}
	return nil
}

// FailureOf returns the activity's error for a failed state. The server never retries it, because it would offer the
// job to the same queue again; the run decides.
func FailureOf(state contract.ExecuteState) error {
	category := temporal.ApplicationErrorCategoryUnspecified
	switch state.Failure { //nolint:exhaustive // the others are about the work
	case contract.FailureNone:
		return nil
	case contract.FailureDraining, contract.FailureCanceled, contract.FailureAtCapacity, contract.FailureNotRunning,
		contract.FailureCannotStart, contract.FailureNotInstalled, contract.FailureDeferred, contract.FailureGuard:
		category = temporal.ApplicationErrorCategoryBenign
	}
	return temporal.NewApplicationErrorWithOptions(state.Message, string(state.Failure), temporal.ApplicationErrorOptions{
		NonRetryable: true,
		Details:      []any{state},
		Category:     category,
	})
}
