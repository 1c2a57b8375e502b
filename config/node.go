package config

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// kind is what a value is, in JSON's terms, since params travel as JSON.
type kind int

const (
	kindNull kind = iota
	kindText
	kindInteger
	kindNumber
	kindBool
	kindList
	kindObject
)

// String names the kind as a message does.
func (k kind) String() string {
	switch k {
	case kindNull:
		return "nothing"
	case kindText:
		return "text"
	case kindInteger:
		return "an integer"
	case kindNumber:
		return "a number"
	case kindBool:
		return "true or false"
	case kindList:
		return "a list"
	case kindObject:
		return "an object"
	}
	return "unknown"
}

// place is where something was written.
type place struct {
	file         string
	line, column int
}

// String renders the place without its column, for messages about another one.
func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// node is a value of the file together with its place. Aliases and merge keys
// have been resolved; their values keep the place of their definition, because
// that is where a fault must be repaired.
type node struct {
	place
	kind kind
	// value of a scalar: string, int64, float64 or bool.
	value any
	// literal is a scalar as it was written, before its type was guessed.
	literal string
	items   []*node
	fields  []field
	// index finds a field by its key: hostile files hold 100,000 of them.
	index map[string]int
}

// field is one key of an object.
type field struct {
	key   string
	at    place
	value *node
}

// get returns the value under key, or nil if it was not written. An explicit
// null is as good as not written.
func (n *node) get(key string) *node {
	if f := n.field(key); f != nil && f.value.kind != kindNull {
		return f.value
	}
	return nil
}

func (n *node) field(key string) *field {
	if n == nil {
		return nil
	}
	if at, found := n.index[key]; found {
		return &n.fields[at]
	}
	return nil
}

// add appends a field whose key is not there yet.
func (n *node) add(f field) {
	if n.index == nil {
		n.index = map[string]int{}
	}
	n.index[f.key] = len(n.fields)
	n.fields = append(n.fields, f)
}

// follow walks down as far as the path exists and returns where it got to.
func (n *node) follow(path []string) *node {
	current := n
	for _, step := range path {
		next := current.child(step)
		if next == nil {
			break
		}
		current = next
	}
	return current
}

func (n *node) child(step string) *node {
	if n.kind == kindList {
		for i, item := range n.items {
			if fmt.Sprint(i) == step {
				return item
			}
		}
		return nil
	}
	if f := n.field(step); f != nil {
		return f.value
	}
	return nil
}

// plain converts to what encoding/json and JSON Schema work on.
func (n *node) plain() any {
	switch n.kind {
	case kindList:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = item.plain()
		}
		return list
	case kindObject:
		object := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			object[f.key] = f.value.plain()
		}
		return object
	case kindNull:
		return nil
	case kindText, kindInteger, kindNumber, kindBool:
	}
	return n.value
}

// canonicalJSON encodes with sorted keys and without HTML escaping, so that
// equal values give equal bytes.
func canonicalJSON(value any) (json.RawMessage, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode as JSON: %w", err)
	}
	return bytes.TrimRight(buffer.Bytes(), "\n"), nil
}
