package graph

import "github.com/roundsman/roundsman/dag/internal/wire"

// Index is a task's dense number: its place in declaration order, tasks added
// at run time following those of the graph.
type Index int32

// None is the Index that stands for "no task".
const None Index = -1

// Rule says when a task may start, given how its dependencies ended.
// The zero value is AllSuccess.
type Rule uint8

// The trigger rules; see the package documentation.
const (
	AllSuccess Rule = iota
	AllDone
	OneFailed
	Always

	ruleCount
)

var ruleNames = [ruleCount]string{"all_success", "all_done", "one_failed", "always"} //nolint:gochecknoglobals // constant table

// String returns the rule's name as it is written in a spec.
func (r Rule) String() string { return wire.NameOf(ruleNames[:], int(r), "Rule") }

// MarshalText makes a rule travel as its name.
func (r Rule) MarshalText() ([]byte, error) {
	return wire.MarshalName(ruleNames[:], int(r), "trigger rule")
}

// UnmarshalText is the inverse of MarshalText.
func (r *Rule) UnmarshalText(text []byte) error {
	n, err := wire.ParseName(ruleNames[:], string(text), "trigger rule")
	*r = Rule(n)
	return err
}
