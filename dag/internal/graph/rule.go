package graph

import "github.com/roundsman/roundsman/dag/internal/wire"

// Index is a task's position in declaration order. Tasks added at run time follow those of the graph.
type Index int32

// None is the Index of no task.
const None Index = -1

// Rule is the condition on its dependencies under which a task starts. The zero value is AllSuccess.
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

// String returns the rule's name in a spec.
func (r Rule) String() string { return wire.NameOf(ruleNames[:], int(r), "Rule") }

// MarshalText encodes a rule as its name.
func (r Rule) MarshalText() ([]byte, error) {
	return wire.MarshalName(ruleNames[:], int(r), "trigger rule")
}

// UnmarshalText is the inverse of MarshalText.
func (r *Rule) UnmarshalText(text []byte) error {
	n, err := wire.ParseName(ruleNames[:], string(text), "trigger rule")
	*r = Rule(n)
	return err
}
