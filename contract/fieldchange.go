package contract

import (
	"fmt"

	"github.com/roundsman/roundsman/jobtype"
)

// FieldChange is one setting whose value in force differs from the wanted one.
type FieldChange struct {
	// Path is, for example, policy.retry_limit. Settings of the Schedule itself have one-word paths:
	// times, overlap, catchup_window, workflow, …
	Path string `json:"path"`
	// Before is the value in force, After the wanted one.
	Before string `json:"before"`
	After  string `json:"after"`
	// Drift means that the change was made by hand on the Schedule, not by `apply`.
	Drift bool `json:"drift,omitempty"`
}

// maxShown bounds a displayed value, in characters.
const maxShown = 120

// String renders "policy.retry_limit: 0 → 3".
func (f FieldChange) String() string {
	text := fmt.Sprintf("%s: %s → %s", f.Path, shown(f.Before), shown(f.After))
	if f.Drift {
		text += " (changed by hand)"
	}
	return text
}

// Sides renders both values with the path: "policy.retry_limit: 0".
func (f FieldChange) Sides() (before, after string) {
	return f.Path + ": " + shown(f.Before), f.Path + ": " + shown(f.After)
}

func shown(value string) string {
	if value == "" {
		return "(none)"
	}
	return jobtype.Clip(value, maxShown)
}
