package config

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/suggest"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// Callers of object continue with the valid keys, so all faults are found at once.
func (r *reader) object(n *yamlread.Node, path string, allowed ...string) bool {
	if n == nil {
		return false
	}
	if n.Kind != yamlread.Object {
		r.fault(n.Place(), path, "is %s, but must be an object with the keys %s", n.Kind, strings.Join(allowed, ", "))
		return false
	}
	for _, f := range n.Fields {
		if !slices.Contains(allowed, f.Key) {
			r.fault(f.At, join(path, f.Key), "unknown key%s", suggest.Clause(f.Key, allowed))
		}
	}
	return true
}

// noDAG refuses a DAG file with one fault, in place of one for each of its keys.
func (r *reader) noDAG(root *yamlread.Node) bool {
	tasks := root.Field("tasks")
	if tasks == nil || root.Get("job_types") != nil {
		return true
	}
	r.fault(tasks.At, "tasks", "this is a DAG file: name it with `dag:` in a job type, check it with `roundsman validate FILE`")
	return false
}

func (r *reader) named(n *yamlread.Node, path, things string) []yamlread.Field {
	return r.namedBy(n, path, things, jobtype.ValidateName)
}

func (r *reader) namedBy(n *yamlread.Node, path, things string, check func(name string) error) []yamlread.Field {
	if n == nil {
		return nil
	}
	if n.Kind != yamlread.Object {
		r.fault(n.Place(), path, "is %s, but must be an object of %s by name", n.Kind, things)
		return nil
	}
	for _, f := range n.Fields {
		if err := check(f.Key); err != nil {
			r.fault(f.At, join(path, f.Key), "%s", err)
		}
	}
	return n.Fields
}

func (r *reader) text(n *yamlread.Node, path string, into *string) {
	if n == nil {
		return
	}
	if n.Kind != yamlread.Text {
		r.fault(n.Place(), path, "is %s, but must be text%s", n.Kind, quoteHint(n.Kind))
		return
	}
	*into = n.Literal
}

func quoteHint(k yamlread.Kind) string {
	switch k {
	case yamlread.Integer, yamlread.Number, yamlread.Bool:
		return ": put it in quotes"
	case yamlread.Null, yamlread.Text, yamlread.List, yamlread.Object:
	}
	return ""
}

func (r *reader) flag(n *yamlread.Node, path string, into *bool) {
	if n == nil {
		return
	}
	if n.Kind != yamlread.Bool {
		r.fault(n.Place(), path, "is %s, but must be true or false", n.Kind)
		return
	}
	*into = n.True()
}

func (r *reader) integer(n *yamlread.Node, path string, into *int) {
	if n == nil {
		return
	}
	value, ok := n.Int()
	if !ok || value < math.MinInt32 || value > math.MaxInt32 {
		r.fault(n.Place(), path, "is %s, but must be an integer up to %d", n.Kind, math.MaxInt32)
		return
	}
	*into = int(value)
}

func (r *reader) duration(n *yamlread.Node, path string, into *jobtype.Duration) {
	if n == nil {
		return
	}
	if value, ok := n.Int(); ok {
		if value == 0 {
			*into = 0
			return
		}
		r.fault(n.Place(), path, "%d has no unit: write it like %ds, %dm or %dh", value, value, value, value)
		return
	}
	if n.Kind != yamlread.Text {
		r.fault(n.Place(), path, "is %s, but must be a duration like 45s, 30m, 2h30m or 7d", n.Kind)
		return
	}
	parsed, err := jobtype.ParseDuration(n.Literal)
	if err != nil {
		r.fault(n.Place(), path, "%s", err)
		return
	}
	*into = parsed
}

func (r *reader) texts(n *yamlread.Node, path string) []*yamlread.Node {
	if n == nil {
		return nil
	}
	if n.Kind == yamlread.Text {
		return []*yamlread.Node{n}
	}
	if n.Kind != yamlread.List {
		r.fault(n.Place(), path, "is %s, but must be a list of texts", n.Kind)
		return nil
	}
	var items []*yamlread.Node
	for _, item := range n.Items {
		if item.Kind != yamlread.Text {
			r.fault(item.Place(), path, "holds %s, but must be a list of texts%s", item.Kind, quoteHint(item.Kind))
			continue
		}
		items = append(items, item)
	}
	return items
}

// raw reads a free object as canonical JSON; nil if it was not written.
func (r *reader) raw(n *yamlread.Node, path string) json.RawMessage {
	if n == nil {
		return nil
	}
	if n.Kind != yamlread.Object {
		r.fault(n.Place(), path, "is %s, but must be an object", n.Kind)
		return nil
	}
	encoded, err := canonicalJSON(n.Plain())
	if err != nil {
		r.fault(n.Place(), path, "%s", err)
	}
	return encoded
}
