package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// Fault is one fault in a document.
type Fault struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // from 1; 0 means the whole file
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// Error renders "file:line:column: message", which editors link.
func (f Fault) Error() string {
	if f.Line == 0 {
		return f.File + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
}

const maxFaults = 200

// Faults is the error of [Load] and [Compile]: all faults in document order.
type Faults []Fault

// Error lists the faults, one per line.
func (f Faults) Error() string {
	return strings.Join(lists.Map(f, Fault.Error), "\n")
}

// Unwrap lets errors.As find a single [Fault].
func (f Faults) Unwrap() []error {
	return lists.Map(f, func(fault Fault) error { return fault })
}

type collector struct {
	file   string
	faults Faults
	// dropped counts further faults, repeated those reported before: several tasks may run the same sub-DAG.
	dropped, repeated int
	last              Task
}

func (c *collector) at(n *yamlread.Node, format string, args ...any) {
	var at yamlread.Place
	if n != nil {
		at = n.Place()
	}
	c.on(at, format, args...)
}

func (c *collector) on(at yamlread.Place, format string, args ...any) {
	c.add(Fault{File: c.file, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...)})
}

func (c *collector) add(f Fault) {
	switch {
	case slices.Contains(c.faults, f):
		c.repeated++
	case len(c.faults) >= maxFaults:
		c.dropped++
	default:
		c.faults = append(c.faults, f)
	}
}

func (c *collector) count() int { return len(c.faults) + c.dropped + c.repeated }

func (c *collector) err() error {
	if len(c.faults) == 0 {
		return nil
	}
	return c.sorted("faults")
}

func (c *collector) sorted(noun string) Faults {
	sorted, files := slices.Clone(c.faults), map[string]int{}
	for k, f := range slices.Backward(sorted) {
		files[f.File] = k // Files keep their order.
	}
	slices.SortStableFunc(sorted, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(files[a.File], files[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if c.dropped > 0 {
		sorted = append(sorted, Fault{File: c.file, Message: fmt.Sprintf("%d more %s are not shown", c.dropped, noun)})
	}
	return sorted
}
