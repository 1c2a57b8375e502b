package gateway

import (
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Code is the cause of an [Error].
type Code string

// The codes.
const (
	CodeInvalid = Code(contract.CodeInvalid)
	// CodeBadToken: the token, lease or cursor is not from this namespace's gateways.
	CodeBadToken Code = "BAD_TOKEN"
	// CodeNotYours: the lease or cursor belongs to another worker.
	CodeNotYours Code = "NOT_YOURS"
	// CodeUnknownWorker: the process is not registered; it must register again.
	CodeUnknownWorker Code = "UNKNOWN_WORKER"
	// CodeIDInUse: another live process has the id; see Holder.
	CodeIDInUse = Code(contract.CodeIDInUse)
	// CodeLeaseLost: the attempt is over, or another worker has the job.
	CodeLeaseLost Code = "LEASE_LOST"
	// CodeUnavailable: the server or the registry does not answer; repeat the call.
	CodeUnavailable = Code(contract.CodeUnavailable)
)

// Error is an unsuccessful answer to a worker.
type Error struct {
	Code Code
	// Message is the cause, Remedy the advice for the client.
	Message, Remedy string
	// Holder of the id, for CodeIDInUse, and the time until its heartbeat is stale.
	Holder     *contract.RegisteredOther
	RetryAfter time.Duration
	// Delivered: the run has received the outcome of a lost lease, which counts if the job is not done.
	Delivered bool
	Cause     error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Remedy == "" {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", e.Code, e.Message, e.Remedy)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func invalid(err error) *Error {
	return &Error{Code: CodeInvalid, Message: err.Error(), Remedy: "correct the request; a repeat gets the same answer", Cause: err}
}

func unavailable(what string, err error) *Error {
	return &Error{Code: CodeUnavailable, Message: what + ": " + err.Error(), Remedy: "repeat the request", Cause: err}
}

func badToken(what string) *Error {
	return &Error{Code: CodeBadToken, Message: "this " + what + " is not valid here", Remedy: "register again"}
}

func notYours(what string) *Error {
	return &Error{Code: CodeNotYours, Message: "this " + what + " was given to another worker", Remedy: "use those that you were given"}
}

func unknownWorker(who contract.Incarnation) *Error {
	return &Error{
		Code: CodeUnknownWorker, Message: fmt.Sprintf("the registry has no such process of worker %s", who.ID), Remedy: "register again",
	}
}

func leaseLost(delivered bool) *Error {
	remedy := "stop this job and poll for another"
	if delivered {
		remedy = "nothing: the outcome counts if the job was not done yet"
	}
	return &Error{Code: CodeLeaseLost, Message: "the attempt is over, or another worker has the job", Remedy: remedy, Delivered: delivered}
}

func answered(what string, err error) error {
	var rejected *jobs.RejectedError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jobtype.ErrLeaseLost):
		return leaseLost(false)
	case errors.As(err, &rejected):
		return invalid(err)
	}
	return unavailable(what, err)
}
