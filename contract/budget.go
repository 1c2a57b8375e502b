package contract

import (
	"cmp"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// RetryBudget limits the failures of a job type, per dedupe key and in total.
type RetryBudget struct {
	PerKey  *RetryBudgetRule `json:"per_key,omitempty"`
	PerType *RetryBudgetRule `json:"per_type,omitempty"`
}

// RetryBudgetRule disables a key or a job type after too many failures. Count or HardTimeout is set.
type RetryBudgetRule struct {
	// Count is the number of failed attempts within Window that disables; 0: no number does.
	Count int `json:"count,omitempty"`
	// Window is the time over which failures are counted. Default 1h.
	Window jobtype.Duration `json:"window"`
	// HardTimeout disables at a failure this long after the first one of a series without a success. 0: off.
	HardTimeout jobtype.Duration `json:"hard_timeout,omitempty"`
	// DisableFor is the duration of the disablement. Default 24h.
	DisableFor jobtype.Duration `json:"disable_for"`
}

// The counts are the failures that admission remembers per key and per job type.
const (
	MaxKeyFailures  = 25
	MaxTypeFailures = 500

	DefaultBudgetWindow = jobtype.Duration(time.Hour)
	DefaultDisableFor   = jobtype.Duration(24 * time.Hour)
	MinBudgetTime       = jobtype.Duration(time.Second)
	MaxBudgetWindow     = jobtype.Duration(30 * 24 * time.Hour)
	MaxDisableFor       = jobtype.Duration(365 * 24 * time.Hour)
)

// AdmissionEndings reports the ended jobs of a group since its last report. It may be repeated.
type AdmissionEndings struct {
	// At is the time of the report. No two reports of a run have the same.
	At time.Time `json:"at"`
	// Keys of completed jobs, and of jobs that ended otherwise, as [DedupeHash]es of eight bytes each.
	Done    []byte `json:"done,omitempty"`
	Settled []byte `json:"settled,omitempty"`
	// SuccessAt is the time of the last completed job.
	SuccessAt time.Time `json:"success_at,omitzero"`
	// Failed lists attempts that count against the retry budget.
	Failed []AdmissionFailure `json:"failed,omitempty"`
	// Tasks lists the ends of attempts of tasks with a retry budget, in the order of time.
	Tasks []TaskEnding `json:"tasks,omitempty"`
}

// AdmissionFailure is one failed attempt.
type AdmissionFailure struct {
	DedupeKey string `json:"dedupe_key,omitempty"`
	// Attempt is the job's id and the number of the attempt.
	Attempt string    `json:"attempt"`
	At      time.Time `json:"at"`
	Error   string    `json:"error,omitempty"`
}

// AdmissionHold is a dedupe key or a job type that is held back.
type AdmissionHold struct {
	JobType string `json:"job_type"`
	// DedupeKey is empty for the whole job type.
	DedupeKey string           `json:"dedupe_key,omitempty"`
	Code      string           `json:"code"`
	Since     time.Time        `json:"since"`
	Until     time.Time        `json:"until"`
	Failures  int              `json:"failures,omitempty"`
	Rule      *RetryBudgetRule `json:"rule,omitempty"`
	LastError string           `json:"last_error,omitempty"`
	By        string           `json:"by,omitempty"`
	// Detail is the text that a run rendered for its own views. Callers use [AdmissionHold.String].
	Detail string `json:"detail,omitempty"`
}

func (h AdmissionHold) String() string {
	return h.text(" until " + h.Until.UTC().Format(time.RFC3339))
}

// Untimed is String without the end of the hold, for callers that show Until.
func (h AdmissionHold) Untimed() string { return h.text("") }

func (h AdmissionHold) text(until string) string {
	if h.Detail != "" {
		return h.Detail
	}
	if h.Code == HoldMarkedDone {
		return fmt.Sprintf("marked as done by %s%s", cmp.Or(h.By, "an operator"), until)
	}
	rule := RetryBudgetRule{}
	if h.Rule != nil {
		rule = *h.Rule
	}
	why := fmt.Sprintf("%d failures within %s", h.Failures, rule.Window)
	if rule.Count == 0 || h.Failures < rule.Count {
		why = fmt.Sprintf("failing for %s without a success", rule.HardTimeout)
	}
	text := fmt.Sprintf("disabled%s after %s", until, why)
	if h.LastError != "" {
		text += "; the last one: " + h.LastError
	}
	return text
}

// HoldFault is the reason to refuse an operator's message about a hold.
type HoldFault struct {
	Code      string
	JobType   string
	DedupeKey string
	// Hold is the other hold in force, if any.
	Hold *AdmissionHold
	// For is the requested duration, Limit the maximum.
	For, Limit time.Duration
}

// Codes of a [HoldFault].
const (
	NotDisabled = "NOT_DISABLED"
	NothingHeld = "NOTHING_HELD"
	BadMark     = "BAD_MARK"
)

func (f *HoldFault) Error() string {
	what := HeldName(f.JobType, f.DedupeKey)
	switch {
	case f.Code == BadMark:
		return fmt.Sprintf("marked as done for %s: use 1s to %s", f.For, f.Limit)
	case f.Code == NothingHeld:
		return fmt.Sprintf("nothing is held against %s: it has no failures that count, is not disabled and not marked as done", what)
	case f.Hold != nil:
		return fmt.Sprintf("%s is not disabled but %s: `roundsman resume` lifts that", what, f.Hold)
	}
	return fmt.Sprintf("%s is not disabled by its retry budget: `roundsman holds` lists the disabled ones", what)
}

// Codes of an [AdmissionHold].
const (
	HoldRetryBudget = "RETRY_BUDGET"
	HoldMarkedDone  = "MARKED_DONE"
)

// AdmissionHeldKey is a requested key that is held back, by its index in the item.
type AdmissionHeldKey struct {
	AdmissionHold

	Index int `json:"index"`
}

// AdmissionStop forbids a group to start jobs with a key, or any job if the key is empty.
type AdmissionStop struct{ AdmissionHold }

// Operators' messages about holds. Each is an update that returns a HoldResult or a refusal.
const (
	// UpdateReEnable takes a ReEnableInput.
	UpdateReEnable = "re-enable"
	// UpdateForgive takes a ForgiveInput.
	UpdateForgive = "forgive"
	// UpdateMarkDone takes a MarkDoneInput.
	UpdateMarkDone = "mark-done"
	// QueryHolds takes a HoldsInput and returns a HoldsResult.
	QueryHolds = "holds"
)

// ReEnableInput re-enables a key, or the whole job type if the key is empty, and forgets the failures.
type ReEnableInput struct {
	JobType   string `json:"job_type"`
	DedupeKey string `json:"key,omitempty"`
	By        string `json:"by,omitempty"`
}

// ForgiveInput clears the record of a key: failures, disablement and mark as done.
type ForgiveInput struct {
	JobType   string `json:"job_type"`
	DedupeKey string `json:"key"`
	By        string `json:"by,omitempty"`
}

// MarkDoneInput marks a key as done. Its failures are forgotten, its waiting jobs end as canceled, and its proposals
// are left out for the duration For; 0 means 24h.
type MarkDoneInput struct {
	JobType   string           `json:"job_type"`
	DedupeKey string           `json:"key"`
	For       jobtype.Duration `json:"for,omitempty"`
	By        string           `json:"by,omitempty"`
}

// DefaultMark is the default of MarkDoneInput.For.
const DefaultMark = jobtype.Duration(24 * time.Hour)

// HoldResult is the hold before and after an operator's message.
type HoldResult struct {
	JobType   string `json:"job_type"`
	DedupeKey string `json:"key,omitempty"`
	// Before is nil if the key or job type was not held back; so is After.
	Before *AdmissionHold `json:"before,omitempty"`
	After  *AdmissionHold `json:"after,omitempty"`
	// Failures is the number of forgotten failures of the key.
	Failures int `json:"failures,omitempty"`
}

// HoldsInput filters holds. A zero field matches all.
type HoldsInput struct {
	JobType   string `json:"job_type,omitempty"`
	DedupeKey string `json:"key,omitempty"`
	TypesOnly bool   `json:"types_only,omitempty"`
	// At is the time of the query: holds that have ended by then do not match.
	At time.Time `json:"at,omitzero"`
	// Offset skips matches. Limit 0 means 200.
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"`
}

// HoldsResult lists holds, job types first. Total counts all matches.
type HoldsResult struct {
	Holds []AdmissionHold `json:"holds"`
	Total int             `json:"total"`
	// Keys remembered, and keys forgotten for lack of room since the start.
	Tracked int `json:"tracked"`
	Dropped int `json:"dropped,omitempty"`
}
