package contract

import (
	"cmp"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// RetryBudget is how much of a job type may fail, for each dedupe key and in
// all. A rule that is nil sets no bound.
type RetryBudget struct {
	PerKey  *RetryBudgetRule `json:"per_key,omitempty"`
	PerType *RetryBudgetRule `json:"per_type,omitempty"`
}

// RetryBudgetRule disables what fails too much. Count or HardTimeout is set.
type RetryBudgetRule struct {
	// Count: that many failed attempts within Window disable. 0: no number does.
	Count int `json:"count,omitempty"`
	// Window is the time over which failures are counted. Default 1h.
	Window jobtype.Duration `json:"window"`
	// HardTimeout: a failure that comes this long or longer after the first one of
	// a series that no success has broken disables, whatever their number. 0: off.
	HardTimeout jobtype.Duration `json:"hard_timeout,omitempty"`
	// DisableFor is for how long. Default 24h.
	DisableFor jobtype.Duration `json:"disable_for"`
}

// Bounds and defaults of a [RetryBudgetRule]. The counts are what admission can
// remember of each key and of each job type.
const (
	MaxKeyFailures  = 25
	MaxTypeFailures = 500

	DefaultBudgetWindow = jobtype.Duration(time.Hour)
	DefaultDisableFor   = jobtype.Duration(24 * time.Hour)
	MinBudgetTime       = jobtype.Duration(time.Second)
	MaxBudgetWindow     = jobtype.Duration(30 * 24 * time.Hour)
	MaxDisableFor       = jobtype.Duration(365 * 24 * time.Hour)
)

// AdmissionEndings is how jobs of a group ended since it last said so. All of it
// may be repeated.
type AdmissionEndings struct {
	// At is when it was written down.
	At time.Time `json:"at"`
	// Done are the keys of jobs that completed, Settled of those that ended in
	// another way, as [DedupeHash]es of eight bytes each. They are free for others.
	Done    []byte `json:"done,omitempty"`
	Settled []byte `json:"settled,omitempty"`
	// SuccessAt is when a job completed last.
	SuccessAt time.Time `json:"success_at,omitzero"`
	// Failed are attempts that count against the retry budget.
	Failed []AdmissionFailure `json:"failed,omitempty"`
}

// AdmissionFailure is one failed attempt.
type AdmissionFailure struct {
	// DedupeKey is empty for a job without one.
	DedupeKey string `json:"dedupe_key,omitempty"`
	// Attempt is the job's id and the number of the attempt.
	Attempt string    `json:"attempt"`
	At      time.Time `json:"at"`
	Error   string    `json:"error,omitempty"`
}

// AdmissionHold says that a dedupe key, or a job type, is held back.
type AdmissionHold struct {
	JobType string `json:"job_type"`
	// DedupeKey is empty for the job type as a whole.
	DedupeKey string `json:"dedupe_key,omitempty"`
	// Code is RETRY_BUDGET or MARKED_DONE.
	Code  string    `json:"code"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Failures led to it, Rule is what they broke, LastError the last one's message.
	Failures  int              `json:"failures,omitempty"`
	Rule      *RetryBudgetRule `json:"rule,omitempty"`
	LastError string           `json:"last_error,omitempty"`
	// By is who marked it as done.
	By string `json:"by,omitempty"`
	// Detail is the hold as a run has rendered it, in the views of that run; use
	// [AdmissionHold.String].
	Detail string `json:"detail,omitempty"`
}

// String is the hold for operators.
func (h AdmissionHold) String() string {
	if h.Detail != "" {
		return h.Detail
	}
	until := h.Until.UTC().Format(time.RFC3339)
	if h.Code == HoldMarkedDone {
		return fmt.Sprintf("marked as done by %s until %s", cmp.Or(h.By, "an operator"), until)
	}
	rule := RetryBudgetRule{}
	if h.Rule != nil {
		rule = *h.Rule
	}
	why := fmt.Sprintf("%d failures within %s", h.Failures, rule.Window)
	if rule.Count == 0 || h.Failures < rule.Count {
		why = fmt.Sprintf("failing for %s without a success", rule.HardTimeout)
	}
	text := fmt.Sprintf("disabled until %s after %s", until, why)
	if h.LastError != "" {
		text += "; the last one: " + h.LastError
	}
	return text
}

// HoldFault says why an operator's message about something that is held back is
// refused.
type HoldFault struct {
	// Code is one of those below.
	Code      string
	JobType   string
	DedupeKey string
	// Hold is what holds it back instead.
	Hold *AdmissionHold
	// For was asked for, Limit is the most.
	For, Limit time.Duration
}

// Codes of a [HoldFault].
const (
	NotDisabled = "NOT_DISABLED"
	NothingHeld = "NOTHING_HELD"
	BadMark     = "BAD_MARK"
)

// Error implements error.
func (f *HoldFault) Error() string {
	what := "job type " + f.JobType
	if f.DedupeKey != "" {
		what = fmt.Sprintf("key %q of %s", f.DedupeKey, what)
	}
	switch {
	case f.Code == BadMark:
		return fmt.Sprintf("marked as done for %s: use 1s to %s", f.For, f.Limit)
	case f.Code == NothingHeld:
		return fmt.Sprintf("nothing is held against key %q of job type %s: it has no failures that count, is not disabled and not marked as done", f.DedupeKey, f.JobType)
	case f.Hold != nil:
		return fmt.Sprintf("%s is not disabled but %s: `roundsman jobs forgive` lifts that", what, f.Hold)
	}
	return fmt.Sprintf("%s is not disabled by its retry budget: `roundsman jobs disabled` lists what is", what)
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

// AdmissionStop tells a group what it must not start any more: jobs with a key,
// or, without one, any.
type AdmissionStop struct{ AdmissionHold }

// Messages of operators about what is held back. Each is an update that answers a
// HoldResult, or refuses.
const (
	// UpdateReEnable takes a ReEnableInput.
	UpdateReEnable = "re-enable"
	// UpdateForgive takes a ForgiveInput.
	UpdateForgive = "forgive"
	// UpdateMarkDone takes a MarkDoneInput.
	UpdateMarkDone = "mark-done"
	// QueryHolds takes a HoldsInput and answers a HoldsResult.
	QueryHolds = "holds"
)

// ReEnableInput lifts what the retry budget has disabled: a key, or without one
// the job type. The failures that led to it are forgotten.
type ReEnableInput struct {
	JobType   string `json:"job_type"`
	DedupeKey string `json:"key,omitempty"`
	By        string `json:"by,omitempty"`
}

// ForgiveInput forgets all that is held against a key: failures, that it is
// disabled, that it was marked as done.
type ForgiveInput struct {
	JobType   string `json:"job_type"`
	DedupeKey string `json:"key"`
	By        string `json:"by,omitempty"`
}

// MarkDoneInput says that what the key stands for is done. Its failures are
// forgotten, what waits for it in a running group ends as canceled, and
// proposals with the key are left out for that long; 0: 24h.
type MarkDoneInput struct {
	JobType   string           `json:"job_type"`
	DedupeKey string           `json:"key"`
	For       jobtype.Duration `json:"for,omitempty"`
	By        string           `json:"by,omitempty"`
}

// DefaultMark is for how long a key is marked as done if nobody says it.
const DefaultMark = jobtype.Duration(24 * time.Hour)

// HoldResult is what is in force after an operator's message.
type HoldResult struct {
	JobType   string `json:"job_type"`
	DedupeKey string `json:"key,omitempty"`
	// Before is what held it back, nil: nothing did; After is what does now.
	Before *AdmissionHold `json:"before,omitempty"`
	After  *AdmissionHold `json:"after,omitempty"`
	// Failures were counted against the key and are forgotten.
	Failures int `json:"failures,omitempty"`
}

// HoldsInput filters what is held back; a zero field keeps all.
type HoldsInput struct {
	JobType   string `json:"job_type,omitempty"`
	DedupeKey string `json:"key,omitempty"`
	// TypesOnly leaves keys out.
	TypesOnly bool `json:"types_only,omitempty"`
	// Offset leaves out the first ones, Limit is 200 if it is 0.
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"`
}

// HoldsResult is what is held back, job types first; Total counts all that match.
type HoldsResult struct {
	Holds []AdmissionHold `json:"holds"`
	Total int             `json:"total"`
	// Tracked is how many keys are remembered, with failures or held back,
	// Dropped how many had to be forgotten since the beginning.
	Tracked int `json:"tracked"`
	Dropped int `json:"dropped,omitempty"`
}
