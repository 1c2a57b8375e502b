package window

import (
	"slices"
	"time"
)

// Figures about the run times of a job type's jobs.
const (
	// MaxKnown is the number of stored run times, MinKnown the number needed for an estimate.
	MaxKnown = 100
	MinKnown = 20
)

// Learn adds a run time and drops the oldest beyond MaxKnown.
func Learn(took []time.Duration, one time.Duration) []time.Duration {
	took = append(took, max(one, 0))
	return took[max(0, len(took)-MaxKnown):]
}

// P95 is by nearest rank; false until MinKnown run times are known.
func P95(took []time.Duration) (time.Duration, bool) {
	if len(took) < MinKnown {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(took))
	rank := (len(sorted)*95 + 99) / 100
	return sorted[rank-1], true
}
