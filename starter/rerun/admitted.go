package rerun

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
)

const (
	// keysAtOnce is how many keys one query has.
	keysAtOnce = 1000
	// holdsAtOnce is how many holds one answer has.
	holdsAtOnce = 500
)

// admitted keeps proposals back whose key another open run has, or that the retry budget or an
// operator holds back. Without a control plane the new run alone decides.
func (c Client) admitted(ctx context.Context, plan *Plan, units []unit) ([]unit, error) {
	if len(units) == 0 {
		return nil, nil
	}
	held, err := c.holds(ctx, plan.JobType)
	var claimed map[string]contract.AdmissionUse
	if err == nil {
		claimed, err = c.claimed(ctx, plan.JobType, units)
	}
	if starter.Unanswered(err) {
		plan.Unchecked = err.Error()
		return units, nil
	}
	if err != nil {
		return nil, err
	}
	var kept []unit
	for _, u := range units {
		hold, isHeld := held[u.DedupeKey]
		if ofType, all := held[""]; all {
			hold, isHeld = ofType, true
		}
		use, isClaimed := claimed[u.DedupeKey]
		switch {
		case isHeld && hold.Code == contract.HoldMarkedDone:
			plan.keep(u.Again, explain.Kept{Why: contract.KeptMarkedDone, Hold: &hold})
		case isHeld:
			plan.keep(u.Again, explain.Kept{Why: contract.KeptHeldBack, Hold: &hold})
		case isClaimed && u.DedupeKey != "":
			plan.keep(u.Again, explain.Kept{Why: contract.KeptClaimed, By: use.WorkflowID})
		default:
			kept = append(kept, u)
		}
	}
	return kept, nil
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
func (c Client) claimed(ctx context.Context, jobType string, units []unit) (map[string]contract.AdmissionUse, error) {
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
