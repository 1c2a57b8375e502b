package contract

import (
	"fmt"

	"github.com/roundsman/roundsman/jobtype"
)

// FieldChange is one setting that differs between what is in force and what is
// wanted.
type FieldChange struct {
	// Path is like policy.retry_limit. The settings of a Schedule itself have one-word
	// paths: times, overlap, catchup_window, workflow, …
	Path string `json:"path"`
	// Before is what is in force, After what is wanted.
	Before string `json:"before"`
	After  string `json:"after"`
	// Drift means that `apply` did not make the change: somebody edited the Schedule by
	// hand.
	Drift bool `json:"drift,omitempty"`
}

// maxShown bounds a value in the text of a change.
const maxShown = 120

// String renders "policy.retry_limit: 0 → 3".
func (f FieldChange) String() string {
	text := fmt.Sprintf("%s: %s → %s", f.Path, shown(f.Before), shown(f.After))
	if f.Drift {
		text += " (changed by hand)"
	}
	return text
}

// Sides renders the setting as it was and as it is: "policy.retry_limit: 0".
func (f FieldChange) Sides() (before, after string) {
	return f.Path + ": " + shown(f.Before), f.Path + ": " + shown(f.After)
}

func shown(value string) string {
	if value == "" {
		return "(none)"
	}
	return jobtype.Clip(value, maxShown)
}
