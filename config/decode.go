package config

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/jobtype"
)

// object checks that n is an object and holds none but the allowed keys.
// Callers go on with what is right, so that all faults are found at once.
func (l *loader) object(n *node, path string, allowed ...string) bool {
	if n == nil {
		return false
	}
	if n.kind != kindObject {
		l.fault(n.place, path, "is %s, but must be an object with the keys %s", n.kind, strings.Join(allowed, ", "))
		return false
	}
	for _, f := range n.fields {
		if !slices.Contains(allowed, f.key) {
			l.fault(f.at, join(path, f.key), "unknown key%s", didYouMean(f.key, allowed))
		}
	}
	return true
}

// named checks that n is an object whose keys are names of things.
func (l *loader) named(n *node, path, things string) []field {
	if n == nil {
		return nil
	}
	if n.kind != kindObject {
		l.fault(n.place, path, "is %s, but must be an object of %s by name", n.kind, things)
		return nil
	}
	for _, f := range n.fields {
		if err := jobtype.ValidateName(f.key); err != nil {
			l.fault(f.at, join(path, f.key), "%s", err)
		}
	}
	return n.fields
}

func (l *loader) text(n *node, path string, into *string) {
	if n == nil {
		return
	}
	value, ok := n.value.(string)
	if n.kind != kindText || !ok {
		l.fault(n.place, path, "is %s, but must be text%s", n.kind, quoteHint(n.kind))
		return
	}
	*into = value
}

func quoteHint(k kind) string {
	switch k {
	case kindInteger, kindNumber, kindBool:
		return ": put it in quotes"
	case kindNull, kindText, kindList, kindObject:
	}
	return ""
}

func (l *loader) flag(n *node, path string, into *bool) {
	if n == nil {
		return
	}
	value, ok := n.value.(bool)
	if n.kind != kindBool || !ok {
		l.fault(n.place, path, "is %s, but must be true or false", n.kind)
		return
	}
	*into = value
}

func (l *loader) integer(n *node, path string, into *int) {
	if n == nil {
		return
	}
	value, ok := n.value.(int64)
	if n.kind != kindInteger || !ok || value < math.MinInt32 || value > math.MaxInt32 {
		l.fault(n.place, path, "is %s, but must be an integer up to %d", n.kind, math.MaxInt32)
		return
	}
	*into = int(value)
}

func (l *loader) duration(n *node, path string, into *jobtype.Duration) {
	if n == nil {
		return
	}
	if value, ok := n.value.(int64); ok && n.kind == kindInteger {
		if value == 0 {
			*into = 0
			return
		}
		l.fault(n.place, path, "%d has no unit: write it like %ds, %dm or %dh", value, value, value, value)
		return
	}
	text, ok := n.value.(string)
	if n.kind != kindText || !ok {
		l.fault(n.place, path, "is %s, but must be a duration like 45s, 30m, 2h30m or 7d", n.kind)
		return
	}
	parsed, err := jobtype.ParseDuration(text)
	if err != nil {
		l.fault(n.place, path, "%s", err)
		return
	}
	*into = parsed
}

// texts reads a list of texts; one text alone is a list of one.
func (l *loader) texts(n *node, path string) []*node {
	if n == nil {
		return nil
	}
	if n.kind == kindText {
		return []*node{n}
	}
	if n.kind != kindList {
		l.fault(n.place, path, "is %s, but must be a list of texts", n.kind)
		return nil
	}
	var items []*node
	for _, item := range n.items {
		if item.kind != kindText {
			l.fault(item.place, path, "holds %s, but must be a list of texts%s", item.kind, quoteHint(item.kind))
			continue
		}
		items = append(items, item)
	}
	return items
}

// raw reads a free object as canonical JSON; nil if it was not written.
func (l *loader) raw(n *node, path string) json.RawMessage {
	if n == nil {
		return nil
	}
	if n.kind != kindObject {
		l.fault(n.place, path, "is %s, but must be an object", n.kind)
		return nil
	}
	encoded, err := canonicalJSON(n.plain())
	if err != nil {
		l.fault(n.place, path, "%s", err)
	}
	return encoded
}
