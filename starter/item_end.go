package starter

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/contract"
)

// CancelItem sends a run the request to cancel one item. A run can refuse for a task. A
// group cannot refuse, so the job is looked up first. Without a control plane the request is
// still sent and takes effect later; the error reports that.
func (r Runs) CancelItem(ctx context.Context, ref ItemRef, reason string) error {
	ref, err := r.Locate(ctx, ref)
	if err != nil {
		return err
	}
	if ref.Run.Kind() == KindDAG {
		_, err := r.client.DAGs().change(ctx, ref.Run, contract.UpdateCancelTask, contract.TaskInput{Task: ref.ID, By: r.client.operator.actor, Reason: reason})
		return err
	}
	return r.endJob(ctx, ref, "cancel", contract.SignalCancelJob, reason)
}

// ExpireItem ends one job at once without waiting for its handler, which is stopped and
// whose outcome is ignored. A started job ends as stale, another job as expired. All else is
// as in CancelItem.
func (r Runs) ExpireItem(ctx context.Context, ref ItemRef, reason string) error {
	if ref.Run.Kind() == KindDAG {
		return fmt.Errorf("%s is a task of a DAG, which cannot expire: cancel it with `roundsman cancel %s`", ref, ref)
	}
	return r.endJob(ctx, ref, "expire", contract.SignalExpireJob, reason)
}

func (r Runs) endJob(ctx context.Context, ref ItemRef, verb, signal, reason string) error {
	described, err := r.opened(ctx, ref.Run, ": there is nothing to "+verb)
	if err != nil {
		return err
	}
	job, lookupErr := r.Item(ctx, ref)
	switch {
	case lookupErr != nil && !Unanswered(lookupErr) && !unreadable(ref, lookupErr):
		return lookupErr
	case lookupErr == nil && job.Ended():
		return fmt.Errorf("job %s has %w (%s): there is nothing to %s", ref, ErrAlreadyEnded, job.State, verb)
	}
	err = r.client.temporal.SignalWorkflow(ctx, described.WorkflowID, "", signal, contract.CancelJobInput{JobID: ref.ID, Reason: reason, By: r.client.operator.actor})
	if err != nil {
		return runEndedMeanwhile(ref.Run, err)
	}
	if _, down := errors.AsType[*ControlPlaneDownError](lookupErr); !down { // Otherwise no process can react.
		if err := r.reacted(ctx, ref.Run); err != nil {
			return err
		}
	}
	if lookupErr != nil {
		return fmt.Errorf("the request was sent and will be acted on later: %w", lookupErr)
	}
	return nil
}

// unreadable reports whether the lookup of a well-formed job id failed because the run's code
// failed. The run's reaction to the request then shows the cause.
func unreadable(ref ItemRef, err error) bool {
	_, wellFormed := contract.JobNumber(ref.ID)
	_, failed := errors.AsType[*serviceerror.QueryFailed](err)
	return wellFormed && failed
}

func (r ItemRef) what() string {
	if r.Run.Kind() == KindDAG {
		return "task"
	}
	return KindJob
}
