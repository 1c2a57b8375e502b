package contract

import (
	"fmt"
	"strings"
)

// Count is one number of [GroupCounts].
type Count struct {
	// Code is the JSON key, Name the label for operators.
	Code, Name string
	N          int
	// Final marks a count of jobs in a final state.
	Final bool
}

// List returns the counts in display order: detection, proposals without a job, ends of jobs, repeats.
func (c GroupCounts) List() []Count {
	return []Count{
		{Code: "detected", Name: "found", N: c.Detected},
		{Code: "accepted", Name: "accepted", N: c.Accepted},
		{Code: "duplicates", Name: "duplicate", N: c.Duplicates},
		{Code: "batched", Name: "batched with others", N: c.Batched},
		{Code: "already_active", Name: "already active", N: c.AlreadyActive},
		{Code: "disabled", Name: "held back", N: c.Disabled},
		{Code: "surplus", Name: "over the limit", N: c.Surplus},
		{Code: "invalid", Name: "invalid", N: c.Invalid},
		{Code: "completed", Name: "completed", N: c.Completed, Final: true},
		{Code: JobWarning, Name: "with a warning", N: c.Warning, Final: true},
		{Code: "failed", Name: "failed", N: c.Failed, Final: true},
		{Code: "stale", Name: "stale", N: c.Stale, Final: true},
		{Code: "canceled", Name: "canceled", N: c.Canceled, Final: true},
		{Code: "expired", Name: "expired", N: c.Expired, Final: true},
		{Code: "not_started", Name: "not started", N: c.NotStarted, Final: true},
		{Code: "retries", Name: "retried", N: c.Retries},
		{Code: "replacements", Name: "re-placed", N: c.Replacements},
		{Code: "missed_workers", Name: "workers missed", N: c.MissedWorkers},
	}
}

// Done counts the jobs that were done, with a warning or without.
func (c GroupCounts) Done() int { return c.Completed + c.Warning }

// Ended counts the jobs in a final state.
func (c GroupCounts) Ended() int {
	ended := 0
	for _, count := range c.List() {
		if count.Final {
			ended += count.N
		}
	}
	return ended
}

// String renders the detected count, then the other non-zero counts except Accepted, which follows from them.
func (c GroupCounts) String() string {
	found := fmt.Sprintf("%d found", c.Detected)
	if c.DetectedMore {
		found = "more than " + found
	}
	c.Accepted = 0
	return strings.TrimSuffix(found+", "+nonZero(c.List()[1:]), ", ")
}

// Undone renders the counts of unfinished work. For a detection, jobs active elsewhere are no failure, but held-back
// keys are. For a submission all left-out proposals count.
func (c GroupCounts) Undone(submitted bool) string {
	undone := GroupCounts{
		Failed: c.Failed, Stale: c.Stale, Canceled: c.Canceled, Expired: c.Expired, NotStarted: c.NotStarted, Invalid: c.Invalid, Disabled: c.HeldBack,
	}
	if submitted {
		undone.AlreadyActive, undone.Disabled, undone.Surplus = c.AlreadyActive, c.Disabled, c.Surplus
	}
	return nonZero(undone.List())
}

func nonZero(counts []Count) string {
	var parts []string
	for _, count := range counts {
		if count.N > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count.N, count.Name))
		}
	}
	return strings.Join(parts, ", ")
}
