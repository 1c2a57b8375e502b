package pastjobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/jobtype"
)

// parallelReads is how many pages are read at once.
const parallelReads = 8

// Pages reads the pages of a run.
type Pages interface {
	Get(ctx context.Context, run, page string) ([]byte, error)
}

// Filter chooses jobs.
type Filter struct {
	// States keeps jobs in one of these states; empty keeps all.
	States []string
	// Number keeps one job, Key those of a dedupe key.
	Number int
	Key    string
	// Worker keeps the jobs that it ran last.
	Worker string
	// First reads no more pages than Limit needs: the total may miss further jobs.
	First bool
	// Work adds the work of jobs that were not done, and the items of batches.
	Work bool
	// Offset and Limit page through the rest, or After and Limit: After is the last job before the page.
	Offset, Limit int
	After         *Place
}

// JobID is the id of the one job that the filter keeps; empty: it keeps others.
func (f Filter) JobID() string {
	if f.Number == 0 {
		return ""
	}
	return contract.JobID(f.Number)
}

func (f Filter) single() bool { return f.Number > 0 || f.Key != "" }

// known is false if the page itself must be read.
func (f Filter) count(page contract.RecordPage) (n int, known bool) {
	for state, jobs := range page.States {
		if len(f.States) == 0 || slices.Contains(f.States, state) {
			n += jobs
		}
	}
	if f.Number > 0 && (f.Number < page.First || f.Number > page.Last) {
		n = 0
	}
	return n, n == 0 || !f.single() && f.Worker == ""
}

// If the filter matches one of several jobs, j becomes that one.
func (f Filter) matches(j *record.Job) int {
	switch {
	case f.Number > 0 && (f.Number < j.N || f.Number > j.N+j.More):
		return 0
	case f.Key != "" && j.Key != f.Key && !slices.ContainsFunc(j.Items, func(i jobtype.BatchItem) bool { return i.DedupeKey == f.Key }):
		return 0
	case f.Worker != "" && j.Worker != f.Worker:
		return 0
	case len(f.States) > 0 && !slices.Contains(f.States, j.State):
		return 0
	case f.Number > 0:
		j.N, j.More = f.Number, 0
	}
	return 1 + j.More
}

// listed returns the matching jobs of the record page after page, in each by number, and their total.
func (f Filter) listed(ctx context.Context, run Run, of contract.ItemRecord) (views []contract.JobView, total int, err error) {
	for at := 0; ; at += parallelReads {
		end := min(at+parallelReads, len(of.Pages))
		some := contract.ItemRecord{Pages: of.Pages[at:end]}
		if end == len(of.Pages) {
			some.Rest = of.Rest
		}
		rest := f
		rest.Offset, rest.Limit = max(f.Offset-total, 0), f.Limit-len(views)
		more, n, err := rest.listedIn(ctx, run, some)
		if err != nil {
			return nil, 0, err
		}
		views, total = append(views, more...), total+n
		if end == len(of.Pages) || f.First && len(views) >= f.Limit {
			return views, total, nil
		}
	}
}

func (f Filter) listedIn(ctx context.Context, run Run, of contract.ItemRecord) ([]contract.JobView, int, error) {
	parts, err := f.parts(ctx, run, of)
	if err != nil {
		return nil, 0, err
	}
	var views []contract.JobView
	total := 0
	for _, part := range parts {
		if part.skipped {
			total += part.count
			continue
		}
		for i := range part.jobs {
			j := part.jobs[i]
			n := f.matches(&j)
			for skip := max(f.Offset-total, f.above()+1-j.N, 0); skip < n && len(views) < f.Limit; skip++ {
				one := j
				one.N += skip
				view := viewOf(&one, f.single() || f.Work)
				if f.Work && view.Data == nil {
					view.Work = j.Work
				}
				views = append(views, view)
			}
			total += n
		}
	}
	return views, total, nil
}

type part struct {
	jobs    []record.Job
	skipped bool
	count   int
}

func (f Filter) parts(ctx context.Context, run Run, of contract.ItemRecord) ([]part, error) {
	parts := make([]part, len(of.Pages)+1)
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(parallelReads)
	before := 0
	for i, page := range of.Pages {
		n, known := f.count(page)
		outside := before+n <= f.Offset || before-f.Offset >= f.Limit || page.Last <= f.above()
		if before += n; known && (n == 0 || outside) {
			parts[i] = part{skipped: true, count: n}
			continue
		}
		reads.Go(func() error {
			data, err := run.Pages.Get(ctx, run.ID, page.Page)
			if err != nil {
				return fmt.Errorf("jobs %d to %d of %s: %w", page.First, page.Last, run.ID, err)
			}
			parts[i].jobs, err = read(data)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	var err error
	parts[len(of.Pages)].jobs, err = read(of.Rest)
	return parts, err
}

func read(data []byte) ([]record.Job, error) {
	jobs, err := record.Read(data)
	slices.SortFunc(jobs, func(a, b record.Job) int { return cmp.Compare(a.N, b.N) })
	return jobs, err
}

func viewOf(j *record.Job, whole bool) contract.JobView {
	view := contract.JobView{
		JobID: contract.JobID(j.N), DedupeKey: j.Key, Items: len(j.Items), Summary: j.Summary, Priority: j.Priority,
		State: j.State, Worker: j.Worker, Attempt: j.Attempt, Error: j.Error, CreatedAt: j.CreatedAt, ModifiedAt: j.EndedAt, StartedAt: j.StartedAt, EndedAt: j.EndedAt,
		Data: record.Data(j.Work, j.State == contract.JobCompleted || j.State == contract.JobWarning),
	}
	if len(j.Items) > 0 {
		view.DedupeKey = cmp.Or(view.DedupeKey, j.Items[0].DedupeKey)
	}
	if whole {
		view.Batch = j.Items
	}
	return view
}
