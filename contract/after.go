package contract

import (
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// AfterRule is the success of another job type that a run awaits before it begins.
type AfterRule struct {
	// SucceededWithin is the maximum age of the other's last completed run.
	SucceededWithin jobtype.Duration `json:"succeeded_within"`
}

const (
	// SuccessesActivity takes a SuccessesInput and returns the last successes of job types as a SuccessesResult.
	SuccessesActivity = "roundsman.Successes"
	// SucceededActivity takes a SucceededInput, from a completed run for the runs that wait for its job type.
	SucceededActivity = "roundsman.Succeeded"
	// SignalSucceeded takes a SucceededSignal. Only SucceededActivity sends it.
	SignalSucceeded = "succeeded"
)

// SuccessesInput lists job types.
type SuccessesInput struct {
	JobTypes []string `json:"job_types"`
}

// SuccessesResult holds the end of the last completed run by job type. A job type without one is missing.
type SuccessesResult struct {
	Last map[string]time.Time `json:"last,omitempty"`
}

// SucceededInput reports a success of a job type to the open runs of others.
type SucceededInput struct {
	SucceededSignal

	AwaitedBy []string `json:"awaited_by"`
	// Before is the success before. Runs that were started earlier had it.
	Before time.Time `json:"before,omitzero"`
}

// SucceededSignal is a success of a job type.
type SucceededSignal struct {
	JobType string `json:"job_type"`
	// At is the end of the completed run.
	At time.Time `json:"at"`
}
