package contract

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/jobtype"
)

// FieldChange is one setting whose value in force differs from the wanted one.
type FieldChange struct {
	// For example policy.retry_limit. Settings of the Schedule itself have one-word paths: times, overlap, …
	Path string `json:"path"`
	// Before is the value in force, After the wanted one.
	Before string `json:"before"`
	After  string `json:"after"`
	// Drift means that the change was made by hand on the Schedule, not by `apply`.
	Drift bool `json:"drift,omitempty"`
}

const maxShown = 120

// String renders "policy.retry_limit: 0 → 3". It hides secrets: plans are printed in logs.
func (f FieldChange) String() string {
	f = f.WithoutSecrets()
	text := fmt.Sprintf("%s: %s → %s", f.Path, shown(f.Before), shown(f.After))
	if f.Drift {
		text += " (changed by hand)"
	}
	return text
}

// Sides renders both values with the path: "policy.retry_limit: 0". Both hide secrets.
func (f FieldChange) Sides() (before, after string) {
	f = f.WithoutSecrets()
	return f.Path + ": " + shown(f.Before), f.Path + ": " + shown(f.After)
}

// SettingOf is the inverse of [FieldChange.Sides] for one change. ok is false for several, and for other texts.
func SettingOf(before, after string) (path, was, is string, ok bool) {
	path, was, ok = strings.Cut(before, ": ")
	other, is, both := strings.Cut(after, ": ")
	for _, more := range []string{": ", "; "} {
		both = both && !strings.Contains(was+"\n"+is, more)
	}
	if !ok || !both || path != other || strings.Contains(path, " ") {
		return "", "", "", false
	}
	return path, was, is, true
}

// WithoutSecrets hides both values of a secret setting. An absent value stays absent.
func (f FieldChange) WithoutSecrets() FieldChange {
	for _, value := range []*string{&f.Before, &f.After} {
		switch {
		case *value == "":
		case HidesPath(f.Path):
			*value = Hidden
		case json.Valid([]byte(*value)):
			*value = string(HideEnv(json.RawMessage(*value)))
		}
	}
	return f
}

func shown(value string) string {
	if value == "" {
		return "(none)"
	}
	return jobtype.Clip(value, maxShown)
}
