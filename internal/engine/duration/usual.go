package duration

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	// MinRuns is how many runs must be known before one is judged.
	MinRuns = 3
	// A run is slower than usual if it exceeds the median by spreads spreads, by a share of the
	// median, and by a floor: a second more means nothing if all past runs took the same time.
	// Three median distances are two standard deviations of a normal distribution.
	spreads = 3
	share   = 5
	floor   = 2 * time.Second
)

// UsualOf computes the usual duration of completed runs. Runs that never began do not count.
func UsualOf(past []contract.RunSummary) contract.Usual {
	var took []time.Duration
	var jobs []int
	for _, run := range past {
		if !run.StartedAt.IsZero() && run.EndedAt.After(run.StartedAt) {
			took, jobs = append(took, run.EndedAt.Sub(run.StartedAt)), append(jobs, run.Counts.Accepted)
		}
	}
	if len(took) == 0 {
		return contract.Usual{}
	}
	middle := median(took)
	distances := lists.Map(took, func(one time.Duration) time.Duration { return (one - middle).Abs() })
	return contract.Usual{Of: len(took), Took: jobtype.Duration(middle), Spread: jobtype.Duration(median(distances)), Jobs: median(jobs)}
}

// Of judges a run that took that long, so far if it is open, with that many jobs.
func Of(took time.Duration, open bool, jobs int, usual contract.Usual) contract.Pace {
	pace := contract.Pace{Verdict: contract.PaceUsual, Took: jobtype.Duration(took), Open: open, Jobs: jobs, Usual: usual}
	margin := max(spreads*usual.Spread.Std(), usual.Took.Std()/share, floor)
	switch {
	case usual.Of < MinRuns:
		pace.Verdict = contract.PaceUnknown
	case took > usual.Took.Std()+margin:
		pace.Verdict = contract.PaceSlower
	case !open && took < usual.Took.Std()-margin:
		pace.Verdict = contract.PaceFaster
	}
	return pace
}

// median is the lower one of an even number.
func median[T int | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}
