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

// A control plane answers in milliseconds, or in a few seconds if it loads a long history first.
const answerTimeout = 10 * time.Second

// With [WithMemory] query needs no control plane.
func query[T any](ctx context.Context, c *Client, ref RunRef, name string, args ...any) (answer T, err error) {
	memory := c.memoryOf(ctx, ref)
	if !memory.absent() {
		answer, err = queryUnless[T](ctx, c, rejectCondition(ref), ref, name, args...)
		if !memory.absentNow(err) {
			return answer, err
		}
	}
	return remember[T](ctx, c, memory, ref, name, args...)
}

// queryUnless is query, except that the server rejects workflows in the given state.
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
	request := &client.QueryWorkflowWithOptionsRequest{
		WorkflowID:           ref.WorkflowID,
		RunID:                ref.RunID,
		QueryType:            name,
		Args:                 args,
		QueryRejectCondition: reject,
	}
	began := time.Now()
	response, err := c.temporal.QueryWorkflowWithOptions(limited, request)
	for isContinuing(err) && time.Since(began) < continuesWithin && c.unread(limited, ref) == nil && rpc.Wait(limited, updatePause) == nil {
		response, err = c.temporal.QueryWorkflowWithOptions(limited, request)
	}
	if err != nil {
		return answer, c.askError(ctx, ref, "query "+name, began, err)
	}
	if response.QueryRejected != nil {
		return answer, c.rejected(ctx, ref, response.QueryRejected.GetStatus())
	}
	if err := response.QueryResult.Get(&answer); err != nil {
		return answer, fmt.Errorf("answer of query %s of %s: %w", name, ref.WorkflowID, err)
	}
	return answer, nil
}

// An ended worker registry would answer from its old history. Closed runs may be queried.
func rejectCondition(ref RunRef) enumspb.QueryRejectCondition {
	if ref == fleetRef() {
		return enumspb.QUERY_REJECT_CONDITION_NOT_OPEN
	}
	return enumspb.QUERY_REJECT_CONDITION_NONE
}

const (
	// updatePause is the pause before a dropped update, or a query to a run that reads its state, is sent again.
	updatePause = 50 * time.Millisecond
	// continuesWithin bounds the repetitions of a query.
	continuesWithin = answerTimeout / 2
)

// update repeats an update that the server drops, for example during a continue-as-new: nothing was done then.
func update[T any](ctx context.Context, c *Client, ref RunRef, name string, argument any) (answer T, err error) {
	err = c.presence.Request(func() error {
		answer, err = updateOnce[T](ctx, c, ref, name, argument)
		return err
	})
	return answer, err
}

// updateRun is update for a run that was open a moment ago. It follows a continue-as-new.
func updateRun[T any](ctx context.Context, c *Client, ref RunRef, name string, argument any) (T, error) {
	answer, err := update[T](ctx, c, RunRef{WorkflowID: ref.WorkflowID}, name, argument)
	if errors.Is(err, ErrNotFound) {
		err = runEndedMeanwhile(ref, err)
	}
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
	began := time.Now()
	for {
		handle, err := c.temporal.UpdateWorkflow(limited, options)
		if err == nil {
			err = handle.Get(limited, &answer)
		}
		if err == nil {
			return answer, nil
		}
		if !NotReady(err) && !c.continued(limited, ref, err) || rpc.Wait(limited, updatePause) != nil {
			return answer, c.askError(ctx, ref, askedUpdate+name, began, err)
		}
	}
}

// continued reports whether a run has continued as new: the update goes to its next workflow run.
func (c *Client) continued(ctx context.Context, ref RunRef, err error) bool {
	if _, missing := errors.AsType[*serviceerror.NotFound](err); !missing || ref.RunID != "" || ref == fleetRef() {
		return false
	}
	described, err := c.temporal.DescribeWorkflowExecution(ctx, ref.WorkflowID, "")
	return err == nil && described.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// askedUpdate is the prefix of the request that askError gets for an update.
const askedUpdate = "update "

// askError distinguishes a caller that gave up, a missing workflow or control plane, and a refusal.
func (c *Client) askError(ctx context.Context, ref RunRef, asked string, began time.Time, err error) error {
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
			return &RegistryGoneError{Asked: asked} // It exists but takes no updates, so it has ended.
		}
		return c.down(ctx, asked+" of the worker registry, which does not exist yet,", began, err)
	case errors.As(err, &missing):
		return runError(ref, err)
	}
	if silent := c.silence(ctx, ref, err); silent != nil {
		return silent
	}
	if isUnanswered(err) {
		down := c.down(ctx, asked+" of "+ref.WorkflowID, began, err)
		down.Later = strings.HasPrefix(asked, askedUpdate)
		return down
	}
	if refused, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return &RefusedError{Asked: ref.WorkflowID, Reason: refused.Message(), cause: err}
	}
	return fmt.Errorf("%s of %s: %w", asked, ref.WorkflowID, err)
}

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
	return fmt.Errorf("workflow %s was not queried: it was %s; try again", ref.WorkflowID, status)
}

type endedError struct {
	ref    RunRef
	status enumspb.WorkflowExecutionStatus
}

func (e *endedError) Error() string {
	return fmt.Sprintf("workflow %s was not queried: it has ended (%s)", e.ref.WorkflowID, e.status)
}

// Is makes errors.Is(err, ErrNotFound) true: no open workflow exists.
func (*endedError) Is(target error) bool { return target == ErrNotFound }
