package pastjobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
)

// A lost page fails only a list with the work of the jobs.
func (f Filter) propose(ctx context.Context, run Run, views []contract.JobView) error {
	table := run.Record.Proposals
	if len(table) == 0 {
		return nil
	}
	of := make([][]int, len(table))
	for i := range views {
		n, _ := contract.JobNumber(views[i].JobID)
		at, found := slices.BinarySearchFunc(table, n, func(p contract.ProposalTable, n int) int {
			switch {
			case n < p.First:
				return 1
			case n > p.Last:
				return -1
			}
			return 0
		})
		if found {
			of[at] = append(of[at], i)
		}
	}
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(parallelReads)
	for at, indexes := range of {
		if len(indexes) == 0 {
			continue
		}
		reads.Go(func() error {
			list, err := proposalsOf(ctx, run, table[at])
			switch {
			case errors.Is(err, pages.ErrLost) && !f.Work:
				return nil // The jobs are listed without their keys and summaries.
			case err != nil:
				return err
			}
			for _, i := range indexes {
				n, _ := contract.JobNumber(views[i].JobID)
				if position := n - table[at].First; position < len(list) {
					f.describe(&views[i], list[position])
				}
			}
			return nil
		})
	}
	return reads.Wait()
}

// find returns 0 without such a job. A lost page has none.
func find(ctx context.Context, run Run, table []contract.ProposalTable, key string) (int, error) {
	found := make([]int, len(table))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(parallelReads)
	for at, page := range table {
		reads.Go(func() error {
			list, err := proposalsOf(ctx, run, page)
			if errors.Is(err, pages.ErrLost) {
				return nil
			}
			if i := slices.IndexFunc(list, func(p jobtype.Proposal) bool { return p.DedupeKey == key }); i >= 0 && page.First+i <= page.Last {
				found[at] = page.First + i
			}
			return err
		})
	}
	err := reads.Wait()
	if at := slices.IndexFunc(found, func(n int) bool { return n > 0 }); at >= 0 {
		return found[at], err
	}
	return 0, err
}

func proposalsOf(ctx context.Context, run Run, page contract.ProposalTable) ([]jobtype.Proposal, error) {
	data, err := run.Pages.Get(ctx, run.ID, page.Page)
	if err != nil {
		return nil, fmt.Errorf("proposals of jobs %d to %d of %s: %w", page.First, page.Last, run.ID, err)
	}
	return pages.OpenProposals(data)
}

func (f Filter) describe(view *contract.JobView, p jobtype.Proposal) {
	view.DedupeKey, view.Summary, view.Priority, view.EstimatedRuntime = p.DedupeKey, p.Summary, p.Priority, p.EstimatedRuntime
	if f.Work && view.State != contract.JobCompleted && view.State != contract.JobWarning {
		view.Work = record.Work(p, nil, nil, "")
	}
}
