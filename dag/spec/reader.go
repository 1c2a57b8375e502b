package spec

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// For a value of the wrong form reader reports a fault and returns the zero value.
type reader struct {
	*collector
}

func newReader(file string) reader { return reader{&collector{file: file}} }

type field struct {
	name string
	read func(*yamlread.Node)
}

func isScalar(n *yamlread.Node) bool {
	return n.Kind != yamlread.Object && n.Kind != yamlread.List && n.Kind != yamlread.Null
}

func (r reader) mapping(n *yamlread.Node, what string, fields []field) {
	for _, f := range r.entries(n, what) {
		k := slices.IndexFunc(fields, func(known field) bool { return known.name == f.Key })
		if k >= 0 {
			fields[k].read(f.Value)
			continue
		}
		hint := suggestion(f.Key, lists.Map(fields, func(f field) string { return f.name }))
		if spelled := ofPolicy(f.Key); spelled != "" && what == "a task" {
			hint = "in a DAG it is written " + spelled
		}
		r.on(f.At, "%s has no key %q; %s", what, f.Key, hint)
	}
}

func ofPolicy(key string) string {
	switch key {
	case "retry_limit":
		return "retries: {limit: 2}"
	case "retry_backoff":
		return "retries: {limit: 2, backoff: 10s}"
	case "execution_timeout":
		return "timeout"
	case "policy":
		return "without policy: timeout, heartbeat_timeout and retries are keys of the task"
	}
	return ""
}

// watched reports a fault in one of the given keys: references may then be missing because of it.
func (r reader) watched(n *yamlread.Node, what string, keys []string, fields []field) (doubtful bool) {
	start, inside := r.count(), 0
	for k, f := range fields {
		fields[k].read = func(value *yamlread.Node) {
			before := r.count()
			f.read(value)
			inside += r.count() - before
			doubtful = doubtful || r.count() > before && slices.Contains(keys, f.name)
		}
	}
	r.mapping(n, what, fields)
	return doubtful || r.count()-start > inside
}

func (r reader) entries(n *yamlread.Node, what string) []yamlread.Field {
	if n.Kind != yamlread.Object {
		r.at(n, "%s must be a mapping of keys to values, not %s", what, kindOf(n))
	}
	return n.Fields
}

func kindOf(n *yamlread.Node) string {
	switch n.Kind {
	case yamlread.Object:
		return "a mapping"
	case yamlread.List, yamlread.Null:
		return n.Kind.String()
	case yamlread.Text, yamlread.Integer, yamlread.Number, yamlread.Bool:
	}
	return fmt.Sprintf("%.40q", n.Literal)
}

// text reads a scalar in its spelling, so that 1.10 stays 1.10.
func (r reader) text(n *yamlread.Node, what string) string {
	if !isScalar(n) {
		r.at(n, "%s must be text, not %s", what, kindOf(n))
		return ""
	}
	return n.Literal
}

func (r reader) truth(n *yamlread.Node, what string) bool {
	if n.Kind != yamlread.Bool {
		r.at(n, "%s must be true or false, not %s", what, kindOf(n))
	}
	return n.True()
}

func (r reader) number(n *yamlread.Node, what string, low, high int) int {
	v, ok := n.Int()
	if !ok {
		r.at(n, "%s must be a whole number, not %s", what, kindOf(n))
		return 0
	}
	if v < int64(low) || v > int64(high) {
		r.at(n, "%s must be between %d and %d, not %d", what, low, high, v)
		return 0
	}
	return int(v)
}

func (r reader) duration(n *yamlread.Node, what string, low jobtype.Duration) jobtype.Duration {
	if n.Kind != yamlread.Text {
		r.at(n, "%s must be a duration with a unit, like 30s, 5m or 2h30m, not %s", what, kindOf(n))
		return 0
	}
	d, err := jobtype.ParseDuration(n.Literal)
	if err != nil {
		r.at(n, "%s: %v", what, err)
		return 0
	}
	switch {
	case d < low:
		r.at(n, "%s must be at least %s, not %s", what, low, d)
		return 0
	case d > MaxDuration:
		r.at(n, "%s must be at most 36500d, not %s", what, n.Literal)
		return 0
	}
	return d
}

func (r reader) instant(n *yamlread.Node, what string) time.Time {
	at, err := time.Parse(time.RFC3339, r.text(n, what))
	if year := at.UTC().Year(); (err != nil || year < 1 || year > 9999) && isScalar(n) { // JSON has no other years.
		r.at(n, "%s must be a time with its zone, like 2026-12-01T22:00:00+01:00, not %.40q", what, n.Literal)
	}
	return at.UTC()
}

func (r reader) list(n *yamlread.Node, what string, lone bool) []*yamlread.Node {
	switch {
	case n.Kind == yamlread.List:
		return n.Items
	case lone && isScalar(n):
		return []*yamlread.Node{n}
	}
	r.at(n, "%s must be a list, not %s", what, kindOf(n))
	return nil
}

func (r reader) texts(n *yamlread.Node, what string, lone bool) []string {
	items := r.list(n, what, lone)
	return lists.Map(items, func(item *yamlread.Node) string { return r.text(item, "an entry of "+what) })
}

func (r reader) textMap(n *yamlread.Node, what string) map[string]string {
	out := map[string]string{}
	for _, f := range r.entries(n, what) {
		out[f.Key] = r.text(f.Value, what+"."+f.Key)
	}
	return out
}

func (r reader) object(n *yamlread.Node, what string) map[string]any {
	r.entries(n, what)
	out, _ := n.Plain().(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	return out
}

func child(n *yamlread.Node, key string) *yamlread.Node {
	if f := n.Field(key); f != nil {
		return f.Value
	}
	return nil
}

func entryNode(n *yamlread.Node, key string, k int) *yamlread.Node {
	at := child(n, key)
	if at != nil && at.Kind == yamlread.List && k < len(at.Items) {
		return at.Items[k]
	}
	return cmp.Or(at, n)
}
