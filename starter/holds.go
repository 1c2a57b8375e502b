package starter

import (
	"context"
	"errors"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// NoAdmissionError says that there is nobody who could hold anything back.
type NoAdmissionError struct{ Doing string }

// Error implements error.
func (e *NoAdmissionError) Error() string {
	return e.Doing + ": admission is not running: the next group, or a control plane that starts (`roundsman server`), makes it, with what the one before knew; try again then"
}

// Is makes errors.Is(err, ErrNotFound) true.
func (*NoAdmissionError) Is(target error) bool { return target == ErrNotFound }

// Holds lists what is held back now: job types and keys that the retry budget has
// disabled, and keys that were marked as done. It needs a control plane; without
// an admission nothing is held back.
func (a Admission) Holds(ctx context.Context, filter contract.HoldsInput) (contract.HoldsResult, error) {
	all, err := query[contract.HoldsResult](ctx, a.client, admissionRef(), contract.QueryHolds, filter)
	if errors.Is(err, ErrNotFound) {
		return contract.HoldsResult{Holds: []contract.AdmissionHold{}}, nil
	}
	if err != nil {
		return all, err
	}
	// A workflow's clock stands while nothing happens.
	now, kept := time.Now(), []contract.AdmissionHold{}
	for _, hold := range all.Holds {
		if hold.Until.After(now) {
			kept = append(kept, hold)
		}
	}
	all.Total -= len(all.Holds) - len(kept)
	all.Holds = kept
	return all, nil
}

// ReEnable lifts what the retry budget has disabled: a key, or, with an empty one,
// the job type. Its failures are forgotten.
func (a Admission) ReEnable(ctx context.Context, jobType, key string) (contract.HoldResult, error) {
	return operateAdmission[contract.HoldResult](ctx, a, contract.UpdateReEnable, "re-enable "+jobType, contract.ReEnableInput{JobType: jobType, DedupeKey: key, By: a.client.operator.actor})
}

// Forgive forgets all that is held against a key: failures, that it is disabled,
// that it was marked as done.
func (a Admission) Forgive(ctx context.Context, jobType, key string) (contract.HoldResult, error) {
	return operateAdmission[contract.HoldResult](ctx, a, contract.UpdateForgive, "forgive "+jobType, contract.ForgiveInput{JobType: jobType, DedupeKey: key, By: a.client.operator.actor})
}

// MarkDone leaves proposals with a key out for that long: what it stands for is
// done. The job type must have been applied, so that a mark is never about
// nothing.
func (a Admission) MarkDone(ctx context.Context, jobType, key string, lasts time.Duration) (contract.HoldResult, error) {
	if _, err := a.client.DescribeSchedule(ctx, jobType); err != nil {
		return contract.HoldResult{}, err
	}
	return operateAdmission[contract.HoldResult](ctx, a, contract.UpdateMarkDone, "mark as done "+jobType, contract.MarkDoneInput{
		JobType: jobType, DedupeKey: key, For: jobtype.Duration(lasts), By: a.client.operator.actor,
	})
}
