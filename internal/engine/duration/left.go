package duration

import "time"

// Basis is the source of an estimate.
type Basis string

// The bases, the best one first.
const (
	ByProgress Basis = "progress"
	ByEstimate Basis = "estimated_runtime"
	ByPast     Basis = "past attempts"
	// Unknown means that there is no estimate.
	Unknown Basis = ""
)

// minPercent is the least progress from which a speed is computed: the first steps of an
// attempt, opening and listing, are not typical.
const minPercent = 5

// Attempt is a running attempt.
type Attempt struct {
	Elapsed time.Duration
	// Percent is its progress, negative where it reports none.
	Percent float64
	// Estimated is the proposal's estimated_runtime; 0: none.
	Estimated time.Duration
	// Past are the run times of completed attempts of its job type.
	Past []time.Duration
}

// Left estimates how long an attempt still takes. One that has run for longer than
// its estimate, and than every attempt before it, is unknown.
func Left(a Attempt) (time.Duration, Basis) {
	switch {
	case a.Percent >= minPercent && a.Elapsed > 0:
		return time.Duration(float64(a.Elapsed) * max(100-a.Percent, 0) / a.Percent), ByProgress
	case a.Estimated > a.Elapsed:
		return a.Estimated - a.Elapsed, ByEstimate
	}
	// Of the attempts before it, those that took longer than it has run are alike.
	var longer []time.Duration
	for _, took := range a.Past {
		if took > a.Elapsed {
			longer = append(longer, took)
		}
	}
	if len(longer) == 0 {
		return 0, Unknown
	}
	return median(longer) - a.Elapsed, ByPast
}
