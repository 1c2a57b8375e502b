package pastjobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	// Held queries the jobs above a number that the group holds and the filter chooses, and the table of its record. A
	// control plane of an older version ignores the number.
	Held func(filter Filter, after, offset, limit int) (contract.JobsQueryResult, error)
	// Record of a closed group; nil means that Held returns the jobs.
	Record *contract.ItemRecord
}

// None is the Held of a group that has ended with a result.
func None(Filter, int, int, int) (contract.JobsQueryResult, error) {
	return contract.JobsQueryResult{}, nil
}

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

// List returns the jobs of a run that match the filter, and their total: held jobs by number, then the record's. After
// a place, the jobs that were held when the reader began are still in the first part.
func List(ctx context.Context, run Run, filter Filter) (jobs []Job, total int, err error) {
	jobs, total, table, err := filter.list(ctx, run)
	if err != nil || total > 0 || filter.Key == "" {
		return jobs, total, err
	}
	if filter.Number, err = find(ctx, run, table, filter.Key); err != nil || filter.Number == 0 {
		return nil, 0, err
	}
	filter.Key = ""
	jobs, total, _, err = filter.list(ctx, run)
	return jobs, total, err
}

func (f Filter) list(ctx context.Context, run Run) (jobs []Job, total int, table []contract.ProposalTable, err error) {
	var views []contract.JobView
	var record contract.ItemRecord
	for range tries {
		if views, total, record, err = f.held(run); !errors.Is(err, errMoved) {
			break
		}
	}
	if err != nil {
		return nil, 0, nil, err
	}
	begun := Place{Pages: len(record.Pages)}
	if run.Record != nil {
		record = *run.Record
		begun.Pages = len(record.Pages) + 1
	}
	if f.After != nil {
		begun = *f.After
	}
	old, later := begun.divide(record)
	views, n, err := f.since(ctx, run, later, views)
	if err != nil {
		return nil, 0, nil, err
	}
	total += n
	held, rest := len(views), f
	rest.Offset, rest.Limit, rest.After = max(f.Offset-total, 0)+begun.Past, f.Limit-held, nil
	past, n, err := rest.listed(ctx, run, old)
	if err != nil {
		return nil, 0, nil, err
	}
	views = append(views, past...)
	run.Record = &record
	if err := f.propose(ctx, run, views); err != nil {
		return nil, 0, nil, err
	}
	for i, view := range views {
		place := Place{Pages: begun.Pages, Job: numberOf(view)}
		if i >= held {
			place.Job, place.Past = allHeld, rest.Offset+i-held+1
		}
		jobs = append(jobs, Job{view, place})
	}
	return jobs, total + n, record.Proposals, nil
}

func (f Filter) held(run Run) (views []contract.JobView, total int, of contract.ItemRecord, err error) {
	most := heldPage
	if f.Work {
		most = workPage
	}
	after, offset, older := f.above(), f.Offset, false
	for first := true; ; first = false {
		limit := most
		if !older {
			limit = min(most, f.Limit-len(views))
		}
		page, err := run.Held(f, after, offset, limit)
		switch {
		case err != nil:
			return nil, 0, of, err
		case !first && len(page.Record) != len(of.Pages):
			return nil, 0, of, errMoved
		}
		listed := len(page.Jobs)
		jobs := slices.DeleteFunc(page.Jobs, func(view contract.JobView) bool { return numberOf(view) <= after })
		older = older || len(jobs) < listed // It ignores after, and begins with the first job.
		views, total, of = append(views, jobs...), page.Total, contract.ItemRecord{Pages: page.Record, Proposals: page.Proposals}
		switch {
		case listed < limit || len(views) >= f.Limit:
			return views, total, of, nil
		case older:
			offset += listed
		default:
			after, offset = numberOf(views[len(views)-1]), 0 // Jobs may leave the filter between two queries.
		}
	}
}
