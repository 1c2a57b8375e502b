package pastjobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/roundsman/roundsman/contract"
)

const (
	// A view has well under 1 KiB, far from the 2 MiB of a payload.
	heldPage = 200
	// workPage is the same with the work of each job, up to 256 KiB.
	workPage = 6
	tries    = 5
)

var errMoved = errors.New("the group stores many jobs that have ended; try again in a moment")

// Run is a group with its jobs.
type Run struct {
	ID    string
	Pages Pages
	// Held queries the jobs that the group holds and the filter chooses, and the table of its record.
	Held func(filter Filter, offset, limit int) (contract.JobsQueryResult, error)
	// Record of a closed group; nil means that Held returns the jobs.
	Record *contract.ItemRecord
}

// None is the Held of a group that has ended with a result.
func None(Filter, int, int) (contract.JobsQueryResult, error) { return contract.JobsQueryResult{}, nil }

// Choose makes a filter.
func Choose(states []string, id, key string, offset, limit int) (Filter, error) {
	filter := Filter{States: states, Key: key, Offset: offset, Limit: limit}
	if id != "" {
		number, ok := contract.JobNumber(id)
		if !ok {
			return Filter{}, fmt.Errorf("job id %q: write it like %s", id, contract.JobID(1))
		}
		filter.Number = number
	}
	return filter, nil
}

// List returns the jobs of a run that match the filter, and their total: held jobs by number, then the record's.
func List(ctx context.Context, run Run, filter Filter) (views []contract.JobView, total int, err error) {
	views, total, table, err := filter.list(ctx, run)
	if err != nil || total > 0 || filter.Key == "" {
		return views, total, err
	}
	if filter.Number, err = find(ctx, run, table, filter.Key); err != nil || filter.Number == 0 {
		return nil, 0, err
	}
	filter.Key = ""
	views, total, _, err = filter.list(ctx, run)
	return views, total, err
}

func (f Filter) list(ctx context.Context, run Run) (views []contract.JobView, total int, table []contract.ProposalTable, err error) {
	for range tries {
		var held contract.ItemRecord
		if views, total, held, err = f.held(run); !errors.Is(err, errMoved) {
			if run.Record == nil {
				run.Record = &held
			}
			break
		}
	}
	if err != nil {
		return nil, 0, nil, err
	}
	rest := f
	rest.Offset, rest.Limit = max(f.Offset-total, 0), f.Limit-len(views)
	past, more, err := rest.listed(ctx, run, *run.Record)
	if err != nil {
		return nil, 0, nil, err
	}
	views = append(views, past...)
	return views, total + more, run.Record.Proposals, f.propose(ctx, run, views)
}

func (f Filter) held(run Run) (views []contract.JobView, total int, of contract.ItemRecord, err error) {
	most := heldPage
	if f.Work {
		most = workPage
	}
	for first := true; ; first = false {
		page, err := run.Held(f, f.Offset+len(views), min(most, f.Limit-len(views)))
		switch {
		case err != nil:
			return nil, 0, of, err
		case !first && len(page.Record) != len(of.Pages):
			return nil, 0, of, errMoved
		}
		views, total, of = append(views, page.Jobs...), page.Total, contract.ItemRecord{Pages: page.Record, Proposals: page.Proposals}
		if len(page.Jobs) == 0 || len(views) >= min(total-f.Offset, f.Limit) {
			return views, total, of, nil
		}
	}
}
