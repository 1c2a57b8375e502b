package starter

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/contract"
)

// Admission is the client for lanes, pools, objects and holds.
type Admission struct{ client *Client }

// Admission returns the client for lanes, pools, objects and holds.
func (c *Client) Admission() Admission { return Admission{c} }

func admissionRef() RunRef { return RunRef{WorkflowID: contract.AdmissionWorkflowID} }

// View returns the holders and waiters of the lanes, pools and objects in the filter. It needs a control plane. The
// error for a terminated admission, with stale state, is a [NoAdmissionError].
func (a Admission) View(ctx context.Context, filter contract.AdmissionFilter) (contract.AdmissionView, error) {
	view, err := queryUnless[contract.AdmissionView](ctx, a.client, enumspb.QUERY_REJECT_CONDITION_NOT_OPEN, admissionRef(), contract.QueryAdmission, filter)
	return view, noAdmission(err, "list the holders")
}

// PastGrants lists the released grants that admission still keeps, the latest first. It needs a control plane.
func (a Admission) PastGrants(ctx context.Context, filter contract.PastGrantsFilter) (contract.PastGrants, error) {
	past, err := queryUnless[contract.PastGrants](ctx, a.client, enumspb.QUERY_REJECT_CONDITION_NOT_OPEN, admissionRef(), contract.QueryPastGrants, filter)
	return past, noAdmission(err, "list earlier holders")
}

// Usage returns the used and requested amount of each resource. It needs a control plane.
func (a Admission) Usage(ctx context.Context) (contract.AdmissionUsage, error) {
	return queryUnless[contract.AdmissionUsage](ctx, a.client, enumspb.QUERY_REJECT_CONDITION_NOT_OPEN, admissionRef(), contract.QueryAdmissionUsage)
}

// KeyHolder returns the holder of a dedupe key, or nil for a free key.
func (a Admission) KeyHolder(ctx context.Context, jobType, key string) (*contract.AdmissionUse, error) {
	answer, err := query[contract.KeyHolderResult](ctx, a.client, admissionRef(), contract.QueryKeyHolder, contract.KeyHolderInput{JobType: jobType, DedupeKey: key})
	return answer.By, err
}

// KeyHolders returns the holders of dedupe keys, without the free keys.
func (a Admission) KeyHolders(ctx context.Context, jobType string, keys []string) (map[string]contract.AdmissionUse, error) {
	answer, err := query[contract.KeyHolderResult](ctx, a.client, admissionRef(), contract.QueryKeyHolder, contract.KeyHolderInput{JobType: jobType, Keys: keys})
	return answer.ByKey, err
}

// ResizePool sets the size of a pool until the next resize. Size 0 restores the configured size.
func (a Admission) ResizePool(ctx context.Context, pool string, size int, by string) (contract.AdmissionPool, error) {
	return operateAdmission[contract.AdmissionPool](ctx, a, contract.UpdateResizePool, "resize pool "+pool, contract.ResizePoolInput{Pool: pool, Size: size, By: by})
}

// The error begins with doing.
func operateAdmission[T any](ctx context.Context, a Admission, name, doing string, input any) (T, error) {
	result, err := update[T](ctx, a.client, admissionRef(), name, input)
	if err != nil && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%s: %w", doing, err)
	}
	return result, noAdmission(err, doing)
}

// noAdmission turns ErrNotFound into a [NoAdmissionError].
func noAdmission(err error, doing string) error {
	if errors.Is(err, ErrNotFound) {
		return &NoAdmissionError{Doing: doing}
	}
	return err
}
