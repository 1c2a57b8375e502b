package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/jobtype"
)

// reader takes values out of nodes; what does not fit becomes a fault at its
// place, and the zero value is returned.
type reader struct {
	*collector
}

// field is one key of a mapping and how to read its value.
type field struct {
	name string
	read func(*yaml.Node)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// mapping walks the keys of n: each known one once, any other is a fault.
func (r reader) mapping(n *yaml.Node, what string, fields []field) {
	r.entries(n, what, func(key, value *yaml.Node) {
		for _, f := range fields {
			if f.name == key.Value {
				f.read(value)
				return
			}
		}
		known := make([]string, len(fields))
		for k, f := range fields {
			known[k] = f.name
		}
		r.at(key, "%s has no key %q; %s", what, key.Value, suggestion(key.Value, known))
	})
}

// watched is mapping that also reports whether a key is unknown or one of the
// given keys is faulty: then what the rest refers to may be missing because of that.
func (r reader) watched(n *yaml.Node, what string, keys []string, fields []field) (doubtful bool) {
	start, inside := r.count(), 0
	for k, f := range fields {
		fields[k].read = func(value *yaml.Node) {
			before := r.count()
			f.read(value)
			inside += r.count() - before
			doubtful = doubtful || r.count() > before && slices.Contains(keys, f.name)
		}
	}
	r.mapping(n, what, fields)
	return doubtful || r.count()-start > inside
}

// entries walks any mapping, refusing keys that are repeated or not text.
func (r reader) entries(n *yaml.Node, what string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.at(n, "%s must be a mapping of keys to values, not %s", what, kindOf(n))
		return
	}
	seen := make(map[string]int, len(n.Content)/2)
	for k := 0; k+1 < len(n.Content); k += 2 {
		key, value := n.Content[k], n.Content[k+1]
		switch first, repeated := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.at(key, "a key of %s must be text, not %s", what, kindOf(key))
		case key.Tag == "!!merge":
			r.at(key, "merge keys (<<) are not part of the language; write the keys out or alias single values")
		case repeated:
			r.at(key, "key %q is already given in line %d; keep one of them", key.Value, first)
		default:
			seen[key.Value] = key.Line
			each(key, value)
		}
	}
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if isNull(n) {
			return "nothing"
		}
		return fmt.Sprintf("%.40q", n.Value)
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return "something else"
}

// text reads a scalar as it is written, so that 1.10 stays 1.10.
func (r reader) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		r.at(n, "%s must be text, not %s", what, kindOf(n))
		return ""
	}
	return n.Value
}

func (r reader) truth(n *yaml.Node, what string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		r.at(n, "%s must be true or false, not %s", what, kindOf(n))
		return false
	}
	v, err := strconv.ParseBool(n.Value)
	return err == nil && v
}

func (r reader) number(n *yaml.Node, what string, low, high int) int {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil {
		r.at(n, "%s must be a whole number, not %s", what, kindOf(n))
		return 0
	}
	if v < low || v > high {
		r.at(n, "%s must be between %d and %d, not %d", what, low, high, v)
		return 0
	}
	return v
}

// duration reads a length of time of at least low.
func (r reader) duration(n *yaml.Node, what string, low jobtype.Duration) jobtype.Duration {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!int" || n.Tag == "!!float" || isNull(n) {
		r.at(n, "%s must be a duration with a unit, like 30s, 5m or 2h30m, not %s", what, kindOf(n))
		return 0
	}
	d, err := jobtype.ParseDuration(n.Value)
	if err != nil {
		r.at(n, "%s: %v", what, err)
		return 0
	}
	if d < low {
		r.at(n, "%s must be at least %s, not %s", what, low, d)
		return 0
	}
	return d
}

// list reads a sequence; a single scalar stands for a list of one when lone is set.
func (r reader) list(n *yaml.Node, what string, lone bool) []*yaml.Node {
	switch {
	case n.Kind == yaml.SequenceNode:
		return n.Content
	case lone && n.Kind == yaml.ScalarNode && !isNull(n):
		return []*yaml.Node{n}
	}
	r.at(n, "%s must be a list, not %s", what, kindOf(n))
	return nil
}

func (r reader) texts(n *yaml.Node, what string, lone bool) []string {
	items := r.list(n, what, lone)
	out := make([]string, 0, len(items))
	for _, item := range items {
		out = append(out, r.text(item, "an entry of "+what))
	}
	return out
}

func (r reader) textMap(n *yaml.Node, what string) map[string]string {
	out := map[string]string{}
	r.entries(n, what, func(key, value *yaml.Node) {
		out[key.Value] = r.text(value, what+"."+key.Value)
	})
	return out
}

func (r reader) object(n *yaml.Node, what string) map[string]any {
	out := map[string]any{}
	r.entries(n, what, func(key, value *yaml.Node) {
		out[key.Value] = r.value(value, what+"."+key.Value)
	})
	return out
}

// value reads anything JSON can say. Whole numbers that fit are kept exactly.
func (r reader) value(n *yaml.Node, what string) any {
	switch n.Kind {
	case yaml.MappingNode:
		return r.object(n, what)
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for k, item := range n.Content {
			out[k] = r.value(item, what)
		}
		return out
	case yaml.ScalarNode:
		return r.scalar(n, what)
	case yaml.DocumentNode, yaml.AliasNode:
	}
	r.at(n, "%s cannot hold this value", what)
	return nil
}

func (r reader) scalar(n *yaml.Node, what string) any {
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return r.truth(n, what)
	case "!!int", "!!float":
		return r.jsonNumber(n, what)
	case "!!binary":
		r.at(n, "%s cannot hold binary data; write it as base64 text", what)
	}
	return n.Value
}

// jsonNumber normalizes what YAML calls a number (0x1f, 1_000, .5) to JSON's form.
func (r reader) jsonNumber(n *yaml.Node, what string) any {
	var i int64
	if n.Tag == "!!int" && n.Decode(&i) == nil {
		return json.Number(strconv.FormatInt(i, 10))
	}
	if n.Tag == "!!int" && json.Valid([]byte(n.Value)) {
		return json.Number(n.Value) // too large for a machine, not for JSON
	}
	var f float64
	if err := n.Decode(&f); err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		r.at(n, "%s: %q is not a number that JSON can hold; quote it to make it text", what, n.Value)
		return nil
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}
