package contract

import "github.com/roundsman/roundsman/jobtype"

// Usual is how long the completed runs of a job type in its record took, and on how
// much work.
type Usual struct {
	// Of is how many runs are known, at most [MaxRunRecords]; 0: none, and the rest
	// is empty.
	Of int `json:"of"`
	// Took is the median of their run times, Spread the median of the distances from
	// it: one run that went wrong changes neither.
	Took   jobtype.Duration `json:"took,omitempty"`
	Spread jobtype.Duration `json:"spread,omitempty"`
	// Jobs is the median of how many jobs they had.
	Jobs int `json:"jobs,omitempty"`
}

// Pace compares a run with the usual ones of its job type.
type Pace struct {
	Verdict PaceVerdict `json:"verdict"`
	// Took is how long the run took from when it began, so far if it is open; Jobs is
	// how many it has. Time in which it waited for its window and its lane does not count.
	Took jobtype.Duration `json:"took"`
	Jobs int              `json:"jobs"`
	Open bool             `json:"open,omitempty"`
	// Usual is what it is compared with.
	Usual Usual `json:"usual"`
}

// PaceVerdict is the answer of a [Pace] in a word.
type PaceVerdict string

// The verdicts. An open run is slower as soon as it has taken longer than usual ones
// do, and usual until then.
const (
	PaceSlower  PaceVerdict = "slower"
	PaceUsual   PaceVerdict = "usual"
	PaceFaster  PaceVerdict = "faster"
	PaceUnknown PaceVerdict = "unknown" // Too few runs are known.
)
