package starter

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// ItemRefusedError is a run's refusal of a request about one of its items.
type ItemRefusedError struct {
	Ref     ItemRef
	Refusal contract.ItemRefusal
}

// Error implements error.
func (e *ItemRefusedError) Error() string {
	if e.Refusal.Code == contract.CodeAlreadyEnded {
		return e.Ref.what() + " " + explain.TextEnded(e.Ref.String(), e.Refusal.State) + ": there is nothing to cancel"
	}
	return "run " + e.Ref.Run.WorkflowID + ": " + explain.TextRefusal(e.Refusal)
}

// Is makes errors.Is true for [ErrAlreadyEnded] and [ErrNotFound].
func (e *ItemRefusedError) Is(target error) bool {
	return target == ErrAlreadyEnded && e.Refusal.Code == contract.CodeAlreadyEnded || target == ErrNotFound && e.Refusal.Code == contract.CodeUnknownItem
}

// CancelItem cancels one job or task of an open run. A refusal is an [*ItemRefusedError].
func (r Runs) CancelItem(ctx context.Context, ref ItemRef, reason string) error {
	return r.endItem(ctx, ref, contract.CancelItemInput{Reason: reason})
}

// ExpireItem ends one job at once; its handler is stopped and its outcome ignored. A started job ends as stale,
// another as expired.
func (r Runs) ExpireItem(ctx context.Context, ref ItemRef, reason string) error {
	return r.endItem(ctx, ref, contract.CancelItemInput{Reason: reason, Force: true})
}

func (r Runs) endItem(ctx context.Context, ref ItemRef, in contract.CancelItemInput) error {
	ref, err := r.Locate(ctx, ref)
	if err != nil {
		return err
	}
	if _, err := r.opened(ctx, ref.Run, ": there is nothing to cancel"); err != nil {
		return err
	}
	in.Item, in.By = ref.ID, r.client.operator.actor
	_, err = updateRun[contract.CancelItemResult](ctx, r.client, ref.Run, contract.UpdateCancelItem, in)
	refused, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return err
	}
	refusal, ok := contract.ItemRefusalOf(refused)
	if !ok {
		return err
	}
	return &ItemRefusedError{Ref: ref, Refusal: refusal}
}

// SingleTask is [NotFoundError.What] if an entry of a DAG is named that has several tasks.
const SingleTask = "a single task"

// missing is the error for an item that does not exist; tasks are those of the entry with its id, total is their number.
func (r ItemRef) missing(tasks []Item, total int) error {
	see := action.See(action.ListItems, action.Args{"run": r.Run.WorkflowID})
	if len(tasks) == 0 || r.Run.Kind() != KindDAG {
		return &NotFoundError{What: r.what(), Name: r.String(), Hint: see}
	}
	return &NotFoundError{What: SingleTask, Name: r.String(), Hint: fmt.Sprintf("name one of its %d, such as %s; %s", total, tasks[0].ID, see)}
}

func (r ItemRef) what() string {
	if r.Run.Kind() == KindDAG {
		return "task"
	}
	return KindJob
}
