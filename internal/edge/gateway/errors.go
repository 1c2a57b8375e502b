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
	// CodeInvalid: the request cannot be taken as it is.
	CodeInvalid Code = "INVALID"
	// CodeBadToken: a token, lease or cursor is none of this namespace's gateways.
	CodeBadToken Code = "BAD_TOKEN"
	// CodeNotYours: the lease or cursor was given to another worker.
	CodeNotYours Code = "NOT_YOURS"
	// CodeUnknownWorker: the registry does not know this process; it registers again.
	CodeUnknownWorker Code = "UNKNOWN_WORKER"
	// CodeIDInUse: another live process has the id; Holder says which.
	CodeIDInUse Code = "ID_IN_USE"
	// CodeLeaseLost: the attempt is over, or another worker has the job.
	CodeLeaseLost Code = "LEASE_LOST"
	// CodeUnavailable: the server or the registry does not answer; repeat.
	CodeUnavailable Code = "UNAVAILABLE"
)

// Error is an answer that is not what the worker asked for.
type Error struct {
	Code Code
	// Message is the cause, Remedy what the client does about it.
	Message, Remedy string
	// Holder has the id, for CodeIDInUse; RetryAfter is when its heartbeat will be
	// stale unless it beats again.
	Holder     *contract.RegisteredOther
	RetryAfter time.Duration
	// Delivered: of a lost lease, the run was told the outcome nevertheless. It counts
	// if the job is not done.
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

// Unwrap gives the cause.
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
		Code: CodeUnknownWorker, Message: fmt.Sprintf("the registry does not know this process of worker %s", who.ID), Remedy: "register again",
	}
}

func leaseLost(delivered bool) *Error {
	remedy := "stop this job and poll for another"
	if delivered {
		remedy = "nothing: the outcome counts if the job was not done yet"
	}
	return &Error{Code: CodeLeaseLost, Message: "the attempt is over, or another worker has the job", Remedy: remedy, Delivered: delivered}
}

// answered translates an error of the server about a lease.
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
