package pastjobs

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/roundsman/roundsman/contract"
)

// Job is a job with its place.
type Job struct {
	contract.JobView

	Place Place
}

// Place is the place of a job in the list of a run. While a reader goes from page to page, jobs move from the group to
// its record. A list therefore has two parts: by number, the jobs that the group held when the reader began, and then
// those of its record at that time, which does not change.
type Place struct {
	// Pages is the length of the record at that time; the rest of a closed run counts as one more.
	Pages int `json:"pages"`
	// Job is the number of the job, or allHeld in the second part. Past counts the jobs of the second part up to this one.
	Job  int `json:"job"`
	Past int `json:"past,omitempty"`
}

// allHeld is above the number of each job.
const allHeld = math.MaxInt32

// Start is the place before all jobs for the same reader.
func (p Place) Start() Place { return Place{Pages: p.Pages} }

// Before reports whether p comes before another place of the same reader.
func (p Place) Before(o Place) bool {
	return cmp.Or(cmp.Compare(p.Past, o.Past), cmp.Compare(p.Job, o.Job)) < 0
}

func (p Place) divide(of contract.ItemRecord) (old, later contract.ItemRecord) {
	at := min(p.Pages, len(of.Pages))
	old.Pages, later.Pages = of.Pages[:at], of.Pages[at:]
	if p.Pages > len(of.Pages) {
		old.Rest = of.Rest
	} else {
		later.Rest = of.Rest
	}
	return old, later
}

// above is the number of the last job before the page, if it begins in the first part.
func (f Filter) above() int {
	if f.After == nil {
		return 0
	}
	return f.After.Job
}

// since adds the jobs that have moved to the record since the reader began to the held ones, and counts them. A page is
// read only if it may have one of the first jobs.
func (f Filter) since(ctx context.Context, run Run, of contract.ItemRecord, held []contract.JobView) (views []contract.JobView, total int, err error) {
	moved, total, err := f.listedIn(ctx, run, contract.ItemRecord{Rest: of.Rest})
	if err != nil {
		return nil, 0, err
	}
	views = f.first(slices.Concat(held, moved))
	left := slices.SortedStableFunc(slices.Values(of.Pages), func(a, b contract.RecordPage) int { return cmp.Compare(a.First, b.First) })
	for {
		n := 0
		for n < min(parallelReads, len(left)) && (len(views) < f.Limit || left[n].First < numberOf(views[f.Limit-1])) {
			n++
		}
		whole := f
		if whole.Limit = all; n == 0 {
			whole.Limit, n = 0, len(left) // They are only counted.
		}
		moved, count, err := whole.listed(ctx, run, contract.ItemRecord{Pages: left[:n]})
		if err != nil {
			return nil, 0, err
		}
		views, left, total = f.first(append(views, moved...)), left[n:], total+count
		if len(left) == 0 {
			return views, total, nil
		}
	}
}

// first returns the jobs of the first numbers.
func (f Filter) first(views []contract.JobView) []contract.JobView {
	slices.SortFunc(views, func(a, b contract.JobView) int { return cmp.Compare(numberOf(a), numberOf(b)) })
	return views[:min(f.Limit, len(views))]
}

func numberOf(view contract.JobView) int {
	n, _ := contract.JobNumber(view.JobID)
	return n
}
