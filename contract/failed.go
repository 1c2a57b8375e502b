package contract

import (
	"errors"

	"go.temporal.io/sdk/temporal"
)

// RunFailedError is the type of the application error that ends a run with outcome failed or timeout. Its detail is
// the result, so Temporal's own status shows the outcome.
const RunFailedError = "RunFailed"

// RunNotBegunError is the type of the error with which a run refuses updates before its first workflow task, and
// updates and queries before it has read its state. The client repeats them.
const RunNotBegunError = "RunNotBegun"

// RunFailure returns the error that fails a run with its result. message is the cause in one line.
func RunFailure(message string, result any) error {
	return temporal.NewApplicationErrorWithOptions(message, RunFailedError, temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{result}})
}

// ResultOfFailure decodes the result of a failed or canceled run; false if the run left none.
func ResultOfFailure(err error, result any) bool {
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return failed.Type() == RunFailedError && failed.HasDetails() && failed.Details(result) == nil
	}
	canceled, ok := errors.AsType[*temporal.CanceledError](err)
	return ok && canceled.HasDetails() && canceled.Details(result) == nil
}
