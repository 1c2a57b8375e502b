package starter

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/contract"
)

// Admission is the part of the client about lanes, pools, objects and what is held back.
type Admission struct{ client *Client }

// Admission gives the part of the client about lanes, pools, objects and what is held back.
func (c *Client) Admission() Admission { return Admission{c} }

func admissionRef() RunRef { return RunRef{WorkflowID: contract.AdmissionWorkflowID} }

// View shows lanes, pools and objects: who holds them and who waits, as far as the
// filter asks for it. It needs a control plane. The answer of one that was ended would not be true any more:
// then the error is a [NoAdmissionError].
func (a Admission) View(ctx context.Context, filter contract.AdmissionFilter) (contract.AdmissionView, error) {
	view, err := queryUnless[contract.AdmissionView](ctx, a.client, enumspb.QUERY_REJECT_CONDITION_NOT_OPEN, admissionRef(), contract.QueryAdmission, filter)
	return view, noAdmission(err, "see who holds what")
}

// PastGrants shows what was released, the last release first, as far as admission
// remembers it and the filter asks for it. It needs a control plane.
func (a Admission) PastGrants(ctx context.Context, filter contract.PastGrantsFilter) (contract.PastGrants, error) {
	past, err := queryUnless[contract.PastGrants](ctx, a.client, enumspb.QUERY_REJECT_CONDITION_NOT_OPEN, admissionRef(), contract.QueryPastGrants, filter)
	return past, noAdmission(err, "see who held what")
}

// Usage says how much of everything is used and waited for. It needs a control plane.
func (a Admission) Usage(ctx context.Context) (contract.AdmissionUsage, error) {
	return queryUnless[contract.AdmissionUsage](ctx, a.client, enumspb.QUERY_REJECT_CONDITION_NOT_OPEN, admissionRef(), contract.QueryAdmissionUsage)
}

// KeyHolder says who is at the work with a dedupe key; nil: nobody.
func (a Admission) KeyHolder(ctx context.Context, jobType, key string) (*contract.AdmissionUse, error) {
	answer, err := query[contract.KeyHolderResult](ctx, a.client, admissionRef(), contract.QueryKeyHolder, contract.KeyHolderInput{JobType: jobType, DedupeKey: key})
	return answer.By, err
}

// KeyHolders returns the holders of dedupe keys, without the free keys.
func (a Admission) KeyHolders(ctx context.Context, jobType string, keys []string) (map[string]contract.AdmissionUse, error) {
	answer, err := query[contract.KeyHolderResult](ctx, a.client, admissionRef(), contract.QueryKeyHolder, contract.KeyHolderInput{JobType: jobType, Keys: keys})
	return answer.ByKey, err
}

// ResizePool gives a pool another size, at once and until it is resized again;
// 0 goes back to what the configuration declares.
func (a Admission) ResizePool(ctx context.Context, pool string, size int, by string) (contract.AdmissionPool, error) {
	return operateAdmission[contract.AdmissionPool](ctx, a, contract.UpdateResizePool, "resize pool "+pool, contract.ResizePoolInput{Pool: pool, Size: size, By: by})
}

// operateAdmission sends an update. doing begins the error.
func operateAdmission[T any](ctx context.Context, a Admission, name, doing string, input any) (T, error) {
	result, err := update[T](ctx, a.client, admissionRef(), name, input)
	if err != nil && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%s: %w", doing, err)
	}
	return result, noAdmission(err, doing)
}

// noAdmission is err, or that there is no admission.
func noAdmission(err error, doing string) error {
	if errors.Is(err, ErrNotFound) {
		return &NoAdmissionError{Doing: doing}
	}
	return err
}
