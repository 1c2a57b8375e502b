package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong in a configuration.
type Fault struct {
	// File is the path as it was given, or "environment".
	File string `json:"file"`
	// Line and Column count from 1; 0 where the whole file is meant.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Path is where in the configuration, like
	// job_types.scrub.policy.retry_limit. Empty for the file itself.
	Path string `json:"path,omitempty"`
	// Message says what is wrong and what would be right.
	Message string `json:"message"`
}

// String renders "file:line:column: path: message", which editors and
// terminals turn into a link.
func (f Fault) String() string {
	var text strings.Builder
	text.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&text, ":%d:%d", f.Line, f.Column)
	}
	text.WriteString(": ")
	if f.Path != "" {
		text.WriteString(f.Path + ": ")
	}
	text.WriteString(f.Message)
	return text.String()
}

// Faults is the error that [Load] returns: everything that is wrong, in the
// order of the files.
type Faults []Fault

// Error implements error: one line per fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// sorted orders by place. Files keep the order in which they were given, so the
// caller passes their ranks.
func (f Faults) sorted(rank map[string]int) Faults {
	ordered := slices.Clone(f)
	slices.SortStableFunc(ordered, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(rank[a.File], rank[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(ordered)
}

// maxFaults is where the list stops being read by anybody: it comes from a file
// that is no configuration at all.
const maxFaults = 500

func (f Faults) shortened() Faults {
	if len(f) <= maxFaults {
		return f
	}
	last := f[maxFaults-1]
	rest := Fault{File: last.File, Message: fmt.Sprintf("%d more faults: is this a configuration?", len(f)-maxFaults)}
	return append(slices.Clip(f[:maxFaults]), rest)
}
