package jobtypes

import (
	"context"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// holdsTimeout bounds the wait of a list for holds; the list is useful without them.
const holdsTimeout = 2 * time.Second

// AddHolds adds holds to job types. In a list, job types without a retry budget cost no query.
func (c Client) AddHolds(ctx context.Context, types []JobType) error {
	asks := false
	for _, known := range types {
		asks = asks || known.Spec.RetryBudget != nil || len(types) == 1
	}
	if !asks {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, holdsTimeout)
	defer cancel()
	held, err := c.client.Admission().Holds(limited, contract.HoldsInput{Limit: maxHolds})
	if err != nil {
		return fmt.Errorf("the keys disabled by retry budgets cannot be read: %w", err)
	}
	for i := range types {
		for _, hold := range held.Holds {
			switch {
			case hold.JobType != types[i].Name:
			case hold.DedupeKey != "":
				types[i].HeldKeys++
			default:
				types[i].HeldBack = &hold
			}
		}
	}
	return nil
}

// maxHolds is above the number that admission keeps.
const maxHolds = 10_000
