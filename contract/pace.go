package contract

import "github.com/roundsman/roundsman/jobtype"

// Usual is the usual duration of a job type: the completed runs in its record.
type Usual struct {
	// Of is the number of known runs, at most [MaxRunRecords]. If 0, all other fields are zero.
	Of int `json:"of"`
	// Median of their run times, and the median distance from it.
	Took   jobtype.Duration `json:"took,omitempty"`
	Spread jobtype.Duration `json:"spread,omitempty"`
	// Jobs is the median of their job counts.
	Jobs int `json:"jobs,omitempty"`
}

// Pace compares a run with the usual duration of its job type.
type Pace struct {
	Verdict PaceVerdict `json:"verdict"`
	// Run time without the waits for the window and the lane, and the number of jobs.
	Took  jobtype.Duration `json:"took"`
	Jobs  int              `json:"jobs"`
	Open  bool             `json:"open,omitempty"`
	Usual Usual            `json:"usual"`
}

// PaceVerdict is the result of the comparison in one word.
type PaceVerdict string

// The verdicts. An open run is slower once it exceeds the usual duration, and usual before.
const (
	PaceSlower  PaceVerdict = "slower"
	PaceUsual   PaceVerdict = "usual"
	PaceFaster  PaceVerdict = "faster"
	PaceUnknown PaceVerdict = "unknown" // too few known runs
)
