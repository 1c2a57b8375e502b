package starter

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// ErrNotFound is wrapped by every [*NotFoundError].
var ErrNotFound = errors.New("not found")

// NotFoundError says that something does not exist in this namespace.
type NotFoundError struct {
	// What it is ("run", "job", "worker"), Name which one, Hint what to do.
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

// Invalidf is an [InvalidError] with a formatted text.
func Invalidf(format string, args ...any) error { return rpc.Invalidf(format, args...) }

// GivenUpError says that the caller gave up before an update was answered. The
// workflow may have it by then, or get it: it may be done all the same.
type GivenUpError struct {
	// Asked is what got no answer.
	Asked string
	// Cause is why nobody waits any more.
	Cause error
}

// Error implements error.
func (e *GivenUpError) Error() string {
	return fmt.Sprintf("%s: %v; it may be done all the same: look before you repeat it", e.Asked, e.Cause)
}

// Unwrap gives the cause.
func (e *GivenUpError) Unwrap() error { return e.Cause }

// ControlPlaneDownError means that the server is there but nobody answered for
// the workflows: no `roundsman server` (or `roundsman dev`) polls the control
// queue of the namespace, or it is overloaded.
type ControlPlaneDownError struct {
	// Asked is what got no answer.
	Asked string
	// Later says that what was asked for may still be done: the server keeps an
	// update for a while, and the next control plane takes it.
	Later bool
	Cause error
}

// Error implements error.
func (e *ControlPlaneDownError) Error() string {
	text := fmt.Sprintf("CONTROL_PLANE_DOWN: %s; start one with %s (or %s), or look at it with %s", e.What(),
		action.Code(action.StartServer, nil), action.Code(action.StartDev, nil), action.Code(action.GetDoctor, nil))
	if e.Later {
		text += "; it may still be done as soon as one runs: look before you repeat it"
	}
	return text
}

// What is the failure without the remedy.
func (e *ControlPlaneDownError) What() string {
	return e.Asked + " was not answered: no control plane serves this namespace"
}

func (*ControlPlaneDownError) unanswered() {}

// Unwrap gives the server's own error.
func (e *ControlPlaneDownError) Unwrap() error { return e.Cause }

// RegistryGoneError means that somebody ended the worker registry, and nobody has
// created it again yet.
type RegistryGoneError struct {
	// Asked is what got no answer.
	Asked string
}

// Error implements error.
func (e *RegistryGoneError) Error() string {
	return e.What() + "; try again then, or restart the control plane (" + action.Code(action.StartServer, nil) + "), which creates it at once"
}

// What is the failure without the remedy.
func (e *RegistryGoneError) What() string {
	return e.Asked + " of fleet was not answered: the worker registry was terminated or canceled; every worker registers again within a minute and so creates it again"
}

func (*RegistryGoneError) unanswered() {}

// RefusedError is the answer of a workflow that does not do what it was asked.
type RefusedError struct {
	// Asked is what was asked, Reason what the workflow said.
	Asked, Reason string
	cause         error
}

// Error implements error. Reasons of several lines, such as the faults of a file,
// have each a line of their own.
func (e *RefusedError) Error() string {
	separator := " "
	if strings.Contains(e.Reason, "\n") {
		separator = "\n"
	}
	return e.Asked + ":" + separator + e.Reason
}

// Unwrap gives the error as it came.
func (e *RefusedError) Unwrap() error { return e.cause }

// runError turns the server's error about a run into one that says what to do.
func runError(ref RunRef, err error) error {
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return &NotFoundError{
			What: "run", Name: ref.WorkflowID,
			Hint: action.See(action.ListRuns, nil) + "; runs older than the namespace's retention are gone",
		}
	}
	return fmt.Errorf("run %s: %w", ref.WorkflowID, err)
}

// unansweredError is why a workflow that exists did not answer: nobody runs
// workflows, it was paused in Temporal itself, or it is stuck. Whatever the server
// itself knows of it can still be told.
type unansweredError interface {
	error
	unanswered()
}

// Unanswered reports whether err means that a workflow exists and does not answer:
// it is a [*ControlPlaneDownError], [*PausedWorkflowError] or [*StuckWorkflowError].
func Unanswered(err error) bool {
	var silent unansweredError
	return errors.As(err, &silent)
}

// isUnanswered reports whether err means that the server found nobody to answer
// a query or an update.
func isUnanswered(err error) bool {
	var (
		deadline     *serviceerror.DeadlineExceeded
		precondition *serviceerror.FailedPrecondition
		canceled     *serviceerror.Canceled
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &deadline), errors.As(err, &canceled):
		return true
	case errors.As(err, &precondition):
		return strings.Contains(precondition.Error(), "no poller")
	}
	return false
}

// NotReady reports whether a workflow is so new that it cannot be asked yet.
func NotReady(err error) bool {
	var notReady *serviceerror.WorkflowNotReady
	refused, is := errors.AsType[*temporal.ApplicationError](err)
	return errors.As(err, &notReady) || is && refused.Type() == contract.RunNotBegunError
}
