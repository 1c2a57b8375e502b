package starter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// answerTimeout is how long a workflow may take to answer a query or an update.
// A living control plane answers in milliseconds; one that has to load a long
// history first, in a few seconds.
const answerTimeout = 10 * time.Second

// query asks a workflow, open or closed, and decodes the answer.
func query[T any](ctx context.Context, c *Client, ref RunRef, name string, args ...any) (T, error) {
	return queryUnless[T](ctx, c, rejectCondition(ref), ref, name, args...)
}

// queryUnless does not ask a workflow in such a state.
func queryUnless[T any](ctx context.Context, c *Client, reject enumspb.QueryRejectCondition, ref RunRef, name string, args ...any) (answer T, err error) {
	err = c.presence.Request(func() error {
		answer, err = queryOnce[T](ctx, c, reject, ref, name, args...)
		return err
	})
	return answer, err
}

func queryOnce[T any](ctx context.Context, c *Client, reject enumspb.QueryRejectCondition, ref RunRef, name string, args ...any) (answer T, err error) {
	limited, cancel := c.patient(ctx, ref)
	defer cancel()
	response, err := c.temporal.QueryWorkflowWithOptions(limited, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID:           ref.WorkflowID,
		RunID:                ref.RunID,
		QueryType:            name,
		Args:                 args,
		QueryRejectCondition: reject,
	})
	if err != nil {
		return answer, c.askError(ctx, ref, "query "+name, err)
	}
	if response.QueryRejected != nil {
		return answer, c.rejected(ctx, ref, response.QueryRejected.GetStatus())
	}
	if err := response.QueryResult.Get(&answer); err != nil {
		return answer, fmt.Errorf("answer of query %s of %s: %w", name, ref.WorkflowID, err)
	}
	return answer, nil
}

// rejectCondition keeps a worker registry that was terminated from answering: the
// server would ask its history, which knows nothing of today. Runs answer when they
// have ended, too.
func rejectCondition(ref RunRef) enumspb.QueryRejectCondition {
	if ref == fleetRef() {
		return enumspb.QUERY_REJECT_CONDITION_NOT_OPEN
	}
	return enumspb.QUERY_REJECT_CONDITION_NONE
}

// updatePause is the pause before an update is sent again that the server dropped.
const updatePause = 50 * time.Millisecond

// update sends an update and waits for its answer. The server drops an update whose
// workflow task it did not accept, as when a signal came while the workflow was
// continuing as new: nothing of it was done, and it is sent again.
func update[T any](ctx context.Context, c *Client, ref RunRef, name string, argument any) (answer T, err error) {
	err = c.presence.Request(func() error {
		answer, err = updateOnce[T](ctx, c, ref, name, argument)
		return err
	})
	return answer, err
}

func updateOnce[T any](ctx context.Context, c *Client, ref RunRef, name string, argument any) (answer T, err error) {
	limited, cancel := c.patient(ctx, ref)
	defer cancel()
	options := client.UpdateWorkflowOptions{
		UpdateID:     updateID(ctx, name),
		WorkflowID:   ref.WorkflowID,
		RunID:        ref.RunID,
		UpdateName:   name,
		Args:         []any{argument},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	}
	for {
		handle, err := c.temporal.UpdateWorkflow(limited, options)
		if err == nil {
			err = handle.Get(limited, &answer)
		}
		if err == nil {
			return answer, nil
		}
		if !NotReady(err) || rpc.Wait(limited, updatePause) != nil {
			return answer, c.askError(ctx, ref, askedUpdate+name, err)
		}
	}
}

// askedUpdate begins what askError is told of an update.
const askedUpdate = "update "

// askError tells apart who is at fault: the caller who gave up, a missing
// workflow, a missing control plane, or the workflow that refused.
func (c *Client) askError(ctx context.Context, ref RunRef, asked string, err error) error {
	var missing *serviceerror.NotFound
	switch {
	case ctx.Err() != nil && strings.HasPrefix(asked, askedUpdate):
		return &GivenUpError{Asked: asked + " of " + ref.WorkflowID, Cause: context.Cause(ctx)}
	case ctx.Err() != nil:
		return fmt.Errorf("%s of %s: %w", asked, ref.WorkflowID, context.Cause(ctx))
	case errors.As(err, &missing) && ref == fleetRef():
		limited, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		if _, unknown := c.temporal.DescribeWorkflowExecution(limited, ref.WorkflowID, ""); unknown == nil {
			return &RegistryGoneError{Asked: asked} // It is there, and not for updates: it has ended.
		}
		return &ControlPlaneDownError{Asked: asked + " of the worker registry, which does not exist yet,", Cause: err}
	case errors.As(err, &missing):
		return runError(ref, err)
	}
	if silent := c.silence(ctx, ref, err); silent != nil {
		return silent
	}
	if isUnanswered(err) {
		return &ControlPlaneDownError{Asked: asked + " of " + ref.WorkflowID, Later: strings.HasPrefix(asked, askedUpdate), Cause: err}
	}
	if refused, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return &RefusedError{Asked: asked + " of " + ref.WorkflowID, Reason: refused.Message(), cause: err}
	}
	return fmt.Errorf("%s of %s: %w", asked, ref.WorkflowID, err)
}

// rejected says why the server did not even ask: because of a pause, or because the
// workflow was ended and only a running one may answer.
func (c *Client) rejected(ctx context.Context, ref RunRef, status enumspb.WorkflowExecutionStatus) error {
	if silent := c.pausedOrStuck(ctx, ref); silent != nil {
		return silent
	}
	if ref == fleetRef() {
		return &RegistryGoneError{Asked: "a query"}
	}
	if status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && status != enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED {
		return &endedError{ref: ref, status: status}
	}
	return fmt.Errorf("workflow %s was not asked: it was %s; try again", ref.WorkflowID, status)
}

// endedError says that a workflow has ended that was asked as a running one.
type endedError struct {
	ref    RunRef
	status enumspb.WorkflowExecutionStatus
}

// Error implements error.
func (e *endedError) Error() string {
	return fmt.Sprintf("workflow %s was not asked: it has ended (%s)", e.ref.WorkflowID, e.status)
}

// Is makes errors.Is(err, ErrNotFound) true: there is no running one.
func (*endedError) Is(target error) bool { return target == ErrNotFound }
