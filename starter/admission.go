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
// filter asks for it. It needs a control plane. What one that was ended would say is not true any more:
// then the error is a [NoAdmissionError].
func (a Admission) View(ctx context.Context, filter contract.AdmissionFilter) (contract.AdmissionView, error) {
	var view contract.AdmissionView
	err := a.client.queryUnless(ctx, enumspb.QUERY_REJECT_CONDITION_NOT_OPEN, admissionRef(), contract.QueryAdmission, &view, filter)
	if errors.Is(err, ErrNotFound) {
		return view, &NoAdmissionError{Doing: "see who holds what"}
	}
	return view, err
}

// PastGrants shows what was released, the last release first, as far as admission
// remembers it and the filter asks for it. It needs a control plane.
func (a Admission) PastGrants(ctx context.Context, filter contract.PastGrantsFilter) (contract.PastGrants, error) {
	var past contract.PastGrants
	err := a.client.queryUnless(ctx, enumspb.QUERY_REJECT_CONDITION_NOT_OPEN, admissionRef(), contract.QueryPastGrants, &past, filter)
	if errors.Is(err, ErrNotFound) {
		return past, &NoAdmissionError{Doing: "see who held what"}
	}
	return past, err
}

// Usage says how much of everything is used and waited for. It needs a control plane.
func (a Admission) Usage(ctx context.Context) (contract.AdmissionUsage, error) {
	var usage contract.AdmissionUsage
	err := a.client.queryUnless(ctx, enumspb.QUERY_REJECT_CONDITION_NOT_OPEN, admissionRef(), contract.QueryAdmissionUsage, &usage)
	return usage, err
}

// KeyHolder says who is at the work with a dedupe key; nil: nobody.
func (a Admission) KeyHolder(ctx context.Context, jobType, key string) (*contract.AdmissionUse, error) {
	var answer contract.KeyHolderResult
	err := a.client.query(ctx, admissionRef(), contract.QueryKeyHolder, &answer, contract.KeyHolderInput{JobType: jobType, DedupeKey: key})
	return answer.By, err
}

// ResizePool gives a pool another size, at once and until it is resized again;
// 0 goes back to what the configuration declares.
func (a Admission) ResizePool(ctx context.Context, pool string, size int, by string) (contract.AdmissionPool, error) {
	var after contract.AdmissionPool
	err := a.client.update(ctx, admissionRef(), contract.UpdateResizePool, &after, contract.ResizePoolInput{Pool: pool, Size: size, By: by})
	if errors.Is(err, ErrNotFound) {
		return after, &NoAdmissionError{Doing: "resize pool " + pool}
	}
	if err != nil {
		return after, fmt.Errorf("resize pool %s: %w", pool, err)
	}
	return after, nil
}
