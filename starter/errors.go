package starter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// ErrNotFound is wrapped by every [*NotFoundError].
var ErrNotFound = errors.New("not found")

// NotFoundError reports that a thing does not exist in this namespace.
type NotFoundError struct {
	// What is its kind ("run", "job", "worker"), Hint the next step.
	What, Name, Hint string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("%s %s does not exist", e.What, e.Name)
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// InvalidError refuses an argument: [rpc.InvalidError].
type InvalidError = rpc.InvalidError

// Invalidf returns an [InvalidError] with a formatted text.
func Invalidf(format string, args ...any) error { return rpc.Invalidf(format, args...) }

// GivenUpError means: the caller stopped waiting. The workflow may carry the update out all the same.
type GivenUpError struct {
	// Request without an answer.
	Asked string
	// Reason for which the caller stopped waiting.
	Cause error
}

// Error implements error.
func (e *GivenUpError) Error() string {
	return fmt.Sprintf("%s: %v; it may still take effect: check before you repeat it", e.Asked, e.Cause)
}

// Unwrap returns the cause.
func (e *GivenUpError) Unwrap() error { return e.Cause }

// ControlPlaneDownError reports that the server answers but no control plane polls the control queue of the
// namespace, or it is overloaded (see [ControlPlaneDownError.Polls]).
type ControlPlaneDownError struct {
	// Request without an answer.
	Asked string
	// Duration of the request, and the last poll of a control plane in the five minutes before; zero: none, or Unlisted.
	Waited   time.Duration
	LastPoll time.Time
	// Unlisted is the failure to list the polls.
	Unlisted error
	// Later: the server keeps an update for the next control plane.
	Later bool
	// AsOf is the time of the state that is shown instead; zero: none.
	AsOf time.Time
	// Forgotten is the failure to read that state. It is nil if AsOf is set.
	Forgotten error
	Cause     error
}

// Error implements error.
func (e *ControlPlaneDownError) Error() string {
	start := "start one with "
	if e.Polls() || e.Unlisted != nil {
		start = "wait, or if it has ended start one with "
	}
	text := fmt.Sprintf("CONTROL_PLANE_DOWN: %s; %s%s (or %s), or check with %s", e.What(), start, action.Code(action.StartServer, nil), action.Code(action.StartDev, nil), action.Code(action.GetDoctor, nil))
	if e.Later {
		text += "; it may still take effect once one runs: check before you repeat it"
	}
	return text
}

// Polls reports a recent poll of a control plane. That one is slow or has just ended.
func (e *ControlPlaneDownError) Polls() bool {
	return !e.LastPoll.IsZero() && time.Since(e.LastPoll) < contract.PollPatience
}

// What returns the failure without the remedy.
func (e *ControlPlaneDownError) What() string {
	text := e.Asked + " was not answered: no control plane serves this namespace"
	switch silence := e.Asked + " has not been answered for " + explain.Span(e.Waited) + ": "; {
	case e.Unlisted != nil:
		text = silence + "whether a control plane runs is unknown, the server did not list its polls"
	case e.Polls():
		text = silence + "a control plane exists, its last poll was at " + e.LastPoll.UTC().Format(time.RFC3339) + ", and it is slow or has just ended"
	}
	if !e.AsOf.IsZero() {
		text += "; this is the state of " + e.AsOf.UTC().Format(time.RFC3339) + ", from the history"
	}
	if e.Forgotten != nil {
		text += "; the state of the run is unknown: " + e.Forgotten.Error()
	}
	return text
}

func (*ControlPlaneDownError) unanswered() {}

// Unwrap returns the server's error.
func (e *ControlPlaneDownError) Unwrap() error { return e.Cause }

// RegistryGoneError reports that the worker registry was ended and does not exist again yet.
type RegistryGoneError struct {
	// Request without an answer.
	Asked string
}

// Error implements error.
func (e *RegistryGoneError) Error() string {
	return e.What() + "; try again then, or restart the control plane (" + action.Code(action.StartServer, nil) + "), which creates it at once"
}

// What returns the failure without the remedy.
func (e *RegistryGoneError) What() string {
	return e.Asked + " of fleet was not answered: the worker registry was terminated or canceled; every worker registers again within a minute, which creates it"
}

func (*RegistryGoneError) unanswered() {}

// RefusedError is a workflow's refusal of a request.
type RefusedError struct {
	// Asked names the request; Reason is the text of the workflow.
	Asked, Reason string
	cause         error
}

// Error implements error. A reason of several lines begins on its own line.
func (e *RefusedError) Error() string {
	if strings.Contains(e.Reason, "\n") {
		return e.Asked + ":\n" + e.Reason
	}
	return e.Asked + ": " + e.Reason
}

// Unwrap returns the original error.
func (e *RefusedError) Unwrap() error { return e.cause }

func runError(ref RunRef, err error) error {
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return &NotFoundError{
			What: "run", Name: ref.WorkflowID,
			Hint: action.See(action.ListRuns, nil) + "; runs older than the namespace's retention are gone",
		}
	}
	return fmt.Errorf("run %s: %w", ref.WorkflowID, err)
}

// unansweredError is the reason why an existing workflow did not answer. The server's own data can still be shown.
type unansweredError interface {
	error
	unanswered()
}

// Unanswered reports whether err means that an existing workflow does not answer.
func Unanswered(err error) bool {
	var silent unansweredError
	return errors.As(err, &silent)
}

// isUnanswered reports whether the server found no process to answer a query or an update. It refuses queries at once if
// the last tasks of the workflow failed, or timed out because their process is frozen.
func isUnanswered(err error) bool {
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	_, canceled := errors.AsType[*serviceerror.Canceled](err)
	refused, is := errors.AsType[*serviceerror.FailedPrecondition](err)
	frozen, notReady := errors.AsType[*serviceerror.WorkflowNotReady](err)
	return late || canceled || errors.Is(err, context.DeadlineExceeded) || is && strings.Contains(refused.Error(), "no poller") ||
		notReady && strings.Contains(frozen.Error(), "Workflow Task in failed state")
}

// NotReady reports whether a workflow is too new to answer.
func NotReady(err error) bool {
	refused, is := errors.AsType[*temporal.ApplicationError](err)
	return rpc.NotReady(err) || is && refused.Type() == contract.RunNotBegunError || isContinuing(err)
}

// The server passes only the text of the error.
func isContinuing(err error) bool {
	failed, is := errors.AsType[*serviceerror.QueryFailed](err)
	return is && strings.Contains(failed.Error(), "(type: "+contract.RunNotBegunError)
}
