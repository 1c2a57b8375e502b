package jobtypes

import (
	"context"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// holdsTimeout bounds how long a list of job types waits for what is held back:
// it is worth showing without.
const holdsTimeout = 2 * time.Second

// AddHolds adds to job types what is held back of them. Without a control plane
// nothing is added, and the error says so; types without a retry budget cost no
// question.
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
		return fmt.Errorf("what the retry budgets hold back is not known: %w", err)
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

// maxHolds is more than admission remembers.
const maxHolds = 10_000
