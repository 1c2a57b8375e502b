package pages

import (
	"context"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// ProposalReader reads proposals of a run. After a page that takes too long only command lines are missing.
func ProposalReader(ctx context.Context, get func(ctx context.Context, run, page string) ([]byte, error), run string, most time.Duration) func(contract.ProposalRef) (jobtype.Proposal, error) {
	var page string
	var list []jobtype.Proposal
	var late error
	return func(ref contract.ProposalRef) (jobtype.Proposal, error) {
		if ref.Page != page {
			if late != nil {
				return jobtype.Proposal{}, late
			}
			limited, cancel := context.WithTimeout(ctx, most)
			defer cancel()
			data, err := get(limited, run, ref.Page)
			if limited.Err() != nil {
				late = err
			}
			if err != nil {
				return jobtype.Proposal{}, err
			}
			if list, err = OpenProposals(data); err != nil {
				return jobtype.Proposal{}, err
			}
			page = ref.Page
		}
		if ref.Position < 0 || ref.Position >= len(list) {
			return jobtype.Proposal{}, fmt.Errorf("page %s of %s has no proposal %d: %w", ref.Page, run, ref.Position, ErrLost)
		}
		return list[ref.Position], nil
	}
}
