package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Fault is one fault of a configuration.
type Fault struct {
	// File is the path as given, [EnvironmentFile] or [NoFile].
	File string `json:"file"`
	// Line and Column count from 1; 0 means the whole file.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Path of the setting, such as job_types.scrub.policy.retry_limit; empty for the file itself.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// String renders "file:line:column: path: message", which editors and terminals link.
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

// Faults is the error of [Load]: all faults in the order of the files.
type Faults []Fault

// Error returns one line per fault.
func (f Faults) Error() string {
	return strings.Join(lists.Map(f, Fault.String), "\n")
}

func (f Faults) sorted(rank map[string]int) Faults {
	ordered := slices.Clone(f)
	slices.SortStableFunc(ordered, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(rank[a.File], rank[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(ordered)
}

// maxFaults bounds the list. More faults mean that the file is no configuration.
const maxFaults = 500

func (f Faults) shortened() Faults {
	if len(f) <= maxFaults {
		return f
	}
	last := f[maxFaults-1]
	rest := Fault{File: last.File, Message: fmt.Sprintf("%d more faults: is this a configuration?", len(f)-maxFaults)}
	return append(slices.Clip(f[:maxFaults]), rest)
}
