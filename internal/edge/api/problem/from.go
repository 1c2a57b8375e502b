package problem

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// From converts an error to a problem. An unexpected one gets the code INTERNAL and keeps its text for the log.
func From(err error) *Problem {
	if known, ok := errors.AsType[*Problem](err); ok {
		return known
	}
	for _, translate := range []func(error) *Problem{ofInput, ofState, ofAnswer, ofServer} {
		if found := translate(err); found != nil {
			return found
		}
	}
	return New(http.StatusInternalServerError, CodeInternal, rpc.Advise(err))
}

func ofInput(err error) *Problem {
	if faults, ok := errors.AsType[config.Faults](err); ok {
		p := New(http.StatusUnprocessableEntity, CodeInvalid, "the configuration has faults")
		for _, fault := range faults {
			p.Errors = append(p.Errors, Fault{Message: fault.Message, Location: fault.Path, File: fault.File, Line: fault.Line, Column: fault.Column})
		}
		return p
	}
	if faults, ok := errors.AsType[spec.Faults](err); ok {
		p := New(http.StatusUnprocessableEntity, CodeInvalid, "the spec has faults")
		for _, fault := range faults {
			p.Errors = append(p.Errors, Fault{Message: fault.Message, File: fault.File, Line: fault.Line, Column: fault.Column})
		}
		return p
	}
	if submission, ok := errors.AsType[*jobtypes.SubmissionError](err); ok {
		p := Newf(http.StatusUnprocessableEntity, CodeInvalid, "the submission to %s has faults; nothing was started", submission.JobType)
		for _, fault := range submission.Faults {
			p.Errors = append(p.Errors, Fault{Message: fault.Error()})
		}
		return p
	}
	if invalid, ok := errors.AsType[*starter.InvalidError](err); ok {
		return New(http.StatusUnprocessableEntity, CodeInvalid, invalid.Error())
	}
	if large, ok := errors.AsType[*starter.DAGTooLargeError](err); ok {
		return New(http.StatusRequestEntityTooLarge, CodeTooLarge, large.Error())
	}
	if diff, ok := errors.AsType[*dag.DiffError](err); ok {
		return New(http.StatusConflict, "DAG_DIFFERS", diff.Error()).With("send accept_diff to run the changed tasks with all their dependants")
	}
	return nil
}

func ofState(err error) *Problem {
	if errors.Is(err, starter.ErrNotFound) {
		p := New(http.StatusNotFound, CodeNotFound, err.Error())
		if missing, ok := errors.AsType[*starter.NotFoundError](err); ok {
			p.Detail, p.Remedy = missing.What+" "+missing.Name+" does not exist", missing.Hint
		}
		return p
	}
	if refused, ok := errors.AsType[*starter.ItemRefusedError](err); ok {
		return New(http.StatusConflict, string(refused.Refusal.Code), err.Error())
	}
	if errors.Is(err, starter.ErrAlreadyEnded) {
		return New(http.StatusConflict, string(contract.CodeAlreadyEnded), err.Error())
	}
	if running, ok := errors.AsType[*jobtypes.AlreadyRunningError](err); ok {
		return New(http.StatusConflict, "ALREADY_RUNNING", running.Error())
	}
	if exists, ok := errors.AsType[*starter.DAGExistsError](err); ok {
		return New(http.StatusConflict, "ALREADY_EXISTS", exists.Error())
	}
	if refused, ok := errors.AsType[*starter.RefusedError](err); ok {
		return New(http.StatusConflict, CodeRefused, refused.Error())
	}
	if failed, ok := errors.AsType[*starter.RunFailedError](err); ok {
		return New(http.StatusConflict, "RUN_FAILED", failed.Error())
	}
	if partly, ok := errors.AsType[*jobtypes.ApplyError](err); ok {
		p := Newf(http.StatusConflict, "PARTLY_APPLIED", "%d changes applied, %d failed, %d not attempted",
			len(partly.Result.Applied), len(partly.Result.Failed), len(partly.Result.NotAttempted)).With("plan again: the next plan has only the changes not applied")
		for _, failed := range partly.Result.Failed {
			p.Errors = append(p.Errors, Fault{Message: failed.Error, Location: "job_types." + failed.JobType})
		}
		return p
	}
	return nil
}

func ofAnswer(err error) *Problem {
	if given, ok := errors.AsType[*starter.GivenUpError](err); ok {
		return New(http.StatusGatewayTimeout, "NOT_ANSWERED", given.Error()).With("look before you repeat it, or repeat it with the same Idempotency-Key")
	}
	if silent, ok := errors.AsType[*starter.SilentWorkerError](err); ok {
		return New(http.StatusGatewayTimeout, "WORKER_SILENT", silent.Error())
	}
	if stuck, ok := errors.AsType[*starter.StuckWorkflowError](err); ok {
		return New(http.StatusServiceUnavailable, string(contract.CodeWorkflowStuck), strings.TrimSuffix(err.Error(), "; "+stuck.Remedy())).With(stuck.Remedy())
	}
	var code string
	switch {
	case is[*starter.ControlPlaneDownError](err):
		code = string(contract.CodeControlPlaneDown)
	case is[*starter.RegistryGoneError](err):
		code = codeRegistryGone
	case is[*starter.PausedWorkflowError](err):
		code = "WORKFLOW_PAUSED"
	case is[*starter.UnreachableError](err):
		code = CodeServerUnreachable
	default:
		return nil
	}
	detail, remedy := split(err.Error())
	return New(http.StatusServiceUnavailable, code, detail).With(remedy)
}

func ofServer(err error) *Problem {
	switch {
	case is[*serviceerror.ResourceExhausted](err):
		return New(http.StatusTooManyRequests, CodeRateLimited, "the Temporal server limits requests: "+err.Error()).With("wait a second and repeat it")
	case is[*serviceerror.InvalidArgument](err):
		return New(http.StatusBadRequest, CodeInvalid, err.Error())
	case is[*serviceerror.NotFound](err):
		return New(http.StatusNotFound, CodeNotFound, err.Error())
	case is[*serviceerror.PermissionDenied](err):
		return New(http.StatusBadGateway, "SERVER_DENIED", "the Temporal server denies it to this control plane: "+err.Error())
	case is[*serviceerror.Unavailable](err):
		return New(http.StatusServiceUnavailable, CodeServerUnreachable, "the Temporal server does not answer: "+err.Error())
	case rpc.NotReady(err):
		return New(http.StatusServiceUnavailable, CodeUnavailable, "the Temporal server is busy: "+err.Error()).With("wait some seconds and repeat it")
	case is[*serviceerror.DeadlineExceeded](err), errors.Is(err, context.DeadlineExceeded):
		return New(http.StatusGatewayTimeout, CodeTimeout, "no answer in time")
	case errors.Is(err, context.Canceled):
		return New(http.StatusServiceUnavailable, CodeUnavailable, "the request was given up, or this server stops")
	}
	return nil
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
