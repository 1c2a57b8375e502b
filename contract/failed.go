package contract

import (
	"errors"

	"go.temporal.io/sdk/temporal"
)

// RunFailedError is the type of the application error with which a group or a run
// of a DAG ends whose outcome is failed or timeout. Its detail is the result, as it
// is of the cancellation of a canceled one, so that Temporal's own status tells the
// outcome and nothing is lost.
const RunFailedError = "RunFailed"

// RunFailure is the error that fails a run with its result. message is its cause, in
// one line.
func RunFailure(message string, result any) error {
	return temporal.NewApplicationErrorWithOptions(message, RunFailedError, temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{result}})
}

// ResultOfFailure decodes the result of a failed or canceled run from the error of
// its workflow. It returns false if the run left none: it was terminated, timed out
// in Temporal, or met a bug.
func ResultOfFailure(err error, result any) bool {
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return failed.Type() == RunFailedError && failed.HasDetails() && failed.Details(result) == nil
	}
	canceled, ok := errors.AsType[*temporal.CanceledError](err)
	return ok && canceled.HasDetails() && canceled.Details(result) == nil
}
