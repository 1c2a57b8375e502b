// Package hook supports the hooks of a program: the outcome in their environment, a mark before each line of their
// output, and a file of owed hooks.
package hook

import (
	"errors"
	"strconv"

	"github.com/roundsman/roundsman/jobtype"
)

// Outcomes of an attempt.
const (
	Success  = "success"
	Warning  = "warning"
	Failure  = "failure"
	Timeout  = "timeout"
	Canceled = "canceled"
	// Deferred is an exit code of exit_codes.defer.
	Deferred = "deferred"
	// Stopped is the end by the worker: it drains, or the attempt was taken from it.
	Stopped = "stopped"
	// Lost is the death of the worker before it had another outcome.
	Lost = "lost"
)

// Outcome is how an attempt ended.
type Outcome struct {
	Kind string `json:"kind"`
	// Code is the exit code; negative if the program did not exit by itself.
	Code int `json:"code"`
}

// Failed reports whether hooks on_failure run.
func (o Outcome) Failed() bool { return o.Kind == Failure || o.Kind == Timeout || o.Kind == Lost }

// Environment returns the variables of a closing hook.
func (o Outcome) Environment() []string {
	code := ""
	if o.Code >= 0 {
		code = strconv.Itoa(o.Code)
	}
	return []string{"ROUNDSMAN_OUTCOME=" + o.Kind, "ROUNDSMAN_EXIT_CODE=" + code}
}

// Of returns the outcome of an attempt whose handler returns a result and an error.
func Of(result jobtype.Result, err error) Outcome {
	outcome := Outcome{Kind: Success, Code: -1}
	if code, ok := result.Data["exit_code"].(int); ok {
		outcome.Code = code
	}
	switch {
	case err == nil && result.Warning != "":
		outcome.Kind = Warning
	case err == nil:
	case errors.Is(err, jobtype.ErrCanceled):
		outcome.Kind = Canceled
	case errors.Is(err, jobtype.ErrDeadline):
		outcome.Kind = Timeout
	case errors.Is(err, jobtype.ErrDraining), errors.Is(err, jobtype.ErrLeaseLost):
		outcome.Kind = Stopped
	case jobtype.AsDeferral(err) != nil:
		outcome.Kind = Deferred
	default:
		outcome.Kind = Failure
	}
	return outcome
}
