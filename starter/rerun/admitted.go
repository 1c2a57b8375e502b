package rerun

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/retry"
	"github.com/roundsman/roundsman/starter"
)

const (
	// keysAtOnce is how many keys one query has.
	keysAtOnce = 1000
	// holdsAtOnce is how many holds one answer has.
	holdsAtOnce = 500
)

// admission reads holds and claims. Without a control plane the new run alone decides.
func (c Client) admission(ctx context.Context, plan *Plan, units []retry.Unit, facts *retry.Facts) error {
	holds, err := c.holds(ctx, plan.JobType)
	var claims map[string]contract.AdmissionUse
	if err == nil {
		claims, err = c.claimed(ctx, plan.JobType, units)
	}
	if starter.Unanswered(err) {
		plan.Unchecked = err.Error()
		return nil
	}
	facts.Holds, facts.Claims = holds, claims
	return err
}

// holds lists the holds of a job type by key; the empty key is the job type itself.
func (c Client) holds(ctx context.Context, jobType string) (map[string]contract.AdmissionHold, error) {
	held := map[string]contract.AdmissionHold{}
	for offset := 0; ; {
		page, err := c.client.Admission().Holds(ctx, contract.HoldsInput{JobType: jobType, Offset: offset, Limit: holdsAtOnce})
		if err != nil {
			return nil, err
		}
		for _, hold := range page.Holds {
			held[hold.DedupeKey] = hold
		}
		if offset += holdsAtOnce; offset >= page.Total {
			return held, nil
		}
	}
}

// claimed lists the keys that jobs of open runs have.
func (c Client) claimed(ctx context.Context, jobType string, units []retry.Unit) (map[string]contract.AdmissionUse, error) {
	var keys []string
	for _, u := range units {
		if u.DedupeKey != "" {
			keys = append(keys, u.DedupeKey)
		}
	}
	claimed := map[string]contract.AdmissionUse{}
	for chunk := range slices.Chunk(keys, keysAtOnce) {
		uses, err := c.client.Admission().KeyHolders(ctx, jobType, chunk)
		if errors.Is(err, starter.ErrNotFound) {
			return nil, nil // Without admission no key is claimed.
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(claimed, uses)
	}
	return claimed, nil
}
