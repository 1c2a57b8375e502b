package starter

import (
	"context"
	"errors"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// NoAdmissionError reports that admission is not running.
type NoAdmissionError struct{ Doing string }

// Error implements error.
func (e *NoAdmissionError) Error() string {
	return e.Doing + ": admission is not running: the next group, or a start of a control plane (`roundsman server`), creates it with its former state; try again then"
}

// Is makes errors.Is(err, ErrNotFound) true.
func (*NoAdmissionError) Is(target error) bool { return target == ErrNotFound }

// Holds lists disabled job types and keys, and keys marked as done. It needs a control plane.
func (a Admission) Holds(ctx context.Context, filter contract.HoldsInput) (contract.HoldsResult, error) {
	filter.At = time.Now().UTC() // A workflow's clock stops between its events.
	all, err := query[contract.HoldsResult](ctx, a.client, admissionRef(), contract.QueryHolds, filter)
	if errors.Is(err, ErrNotFound) {
		return contract.HoldsResult{Holds: []contract.AdmissionHold{}}, nil
	}
	return all, err
}

// ReEnable lifts the hold of a key, or of the job type if key is empty, and resets its failures.
func (a Admission) ReEnable(ctx context.Context, jobType, key string) (contract.HoldResult, error) {
	return operateAdmission[contract.HoldResult](ctx, a, contract.UpdateReEnable, "re-enable "+jobType, contract.ReEnableInput{JobType: jobType, DedupeKey: key, By: a.client.operator.actor})
}

// Forgive clears the failures of a key, its disabling and its mark as done.
func (a Admission) Forgive(ctx context.Context, jobType, key string) (contract.HoldResult, error) {
	return operateAdmission[contract.HoldResult](ctx, a, contract.UpdateForgive, "forgive "+jobType, contract.ForgiveInput{JobType: jobType, DedupeKey: key, By: a.client.operator.actor})
}

// MarkDone skips proposals with this key for the given time. The job type must have been applied.
func (a Admission) MarkDone(ctx context.Context, jobType, key string, lasts time.Duration) (contract.HoldResult, error) {
	if _, err := a.client.DescribeSchedule(ctx, jobType); err != nil {
		return contract.HoldResult{}, err
	}
	return operateAdmission[contract.HoldResult](ctx, a, contract.UpdateMarkDone, "mark as done "+jobType, contract.MarkDoneInput{
		JobType: jobType, DedupeKey: key, For: jobtype.Duration(lasts), By: a.client.operator.actor,
	})
}
