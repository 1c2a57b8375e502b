package yamlread

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Kind is what a value is, in JSON's terms, since values travel as JSON.
type Kind uint8

// The kinds of value.
const (
	Null Kind = iota
	Text
	Integer
	Number
	Bool
	List
	Object
)

// String names the kind as a message does.
func (k Kind) String() string {
	switch k {
	case Null:
		return "nothing"
	case Text:
		return "text"
	case Integer:
		return "an integer"
	case Number:
		return "a number"
	case Bool:
		return "true or false"
	case List:
		return "a list"
	case Object:
		return "an object"
	}
	return "unknown"
}

// Place is where something was written. Line and Column count from 1.
type Place struct {
	File         string
	Line, Column int
}

// String renders the place without its column, for messages about another one.
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Node is a value together with its place. Aliases and merge keys have been
// resolved; their values keep the place of their definition, because that is where
// a fault must be repaired.
type Node struct {
	file         *string
	line, column int32
	Kind         Kind
	// Block: a text of several lines, which begins on the line below its place.
	Block bool
	// Literal is a scalar as it was written, before its type was guessed.
	Literal string
	// Items are those of a list, Fields those of an object in the order written.
	Items  []*Node
	Fields []Field
	index  map[string]int // of objects with many fields
}

// Field is one key of an object. Its value is never nil.
type Field struct {
	Key   string
	At    Place
	Value *Node
}

// Place is where the value was written.
func (n *Node) Place() Place {
	return Place{File: *n.file, Line: int(n.line), Column: int(n.column)}
}

// MoveTo gives the value another place.
func (n *Node) MoveTo(at Place) { n.line, n.column = int32(at.Line), int32(at.Column) }

// Get returns the value under key, nil if it was not written. An explicit null is
// as good as not written.
func (n *Node) Get(key string) *Node {
	if f := n.Field(key); f != nil && f.Value.Kind != Null {
		return f.Value
	}
	return nil
}

// indexFrom is the number of fields from which on an index pays: hostile files
// hold 100,000 of them.
const indexFrom = 16

// Field finds a key; nil if it was not written.
func (n *Node) Field(key string) *Field {
	if n == nil {
		return nil
	}
	if n.index != nil {
		if at, found := n.index[key]; found {
			return &n.Fields[at]
		}
		return nil
	}
	for k := range n.Fields {
		if n.Fields[k].Key == key {
			return &n.Fields[k]
		}
	}
	return nil
}

// Add appends a field whose key is not there yet.
func (n *Node) Add(f Field) {
	n.Fields = append(n.Fields, f)
	switch {
	case n.index != nil:
		n.index[f.Key] = len(n.Fields) - 1
	case len(n.Fields) >= indexFrom:
		n.index = make(map[string]int, 2*indexFrom)
		for k := range n.Fields {
			n.index[n.Fields[k].Key] = k
		}
	}
}

// Without returns a copy of an object that lacks the given keys.
func (n *Node) Without(keys ...string) *Node {
	out := &Node{file: n.file, line: n.line, column: n.column, Kind: n.Kind}
	for _, f := range n.Fields {
		if !slices.Contains(keys, f.Key) {
			out.Add(f)
		}
	}
	return out
}

// With returns a copy of an object in which a key that is there has another value.
func (n *Node) With(key string, value *Node) *Node {
	out := n.Without()
	if f := out.Field(key); f != nil {
		f.Value = value
	}
	return out
}

// Empty returns an object without keys at the same place.
func (n *Node) Empty() *Node {
	return &Node{file: n.file, line: n.line, column: n.column, Kind: Object}
}

// Follow walks down as far as the path exists and returns where it got to.
func (n *Node) Follow(path []string) *Node {
	for _, step := range path {
		next := n.step(step)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

func (n *Node) step(step string) *Node {
	if n.Kind == List {
		if k, err := strconv.Atoi(step); err == nil && k >= 0 && k < len(n.Items) {
			return n.Items[k]
		}
		return nil
	}
	if f := n.Field(step); f != nil {
		return f.Value
	}
	return nil
}

// Int is the value of an integer, if it fits.
func (n *Node) Int() (value int64, ok bool) {
	if n.Kind != Integer {
		return 0, false
	}
	return value, scalar("!!int", n.Literal).Decode(&value) == nil
}

// True is the value of a truth value.
func (n *Node) True() bool {
	var value bool
	return n.Kind == Bool && scalar("!!bool", n.Literal).Decode(&value) == nil && value
}

// Plain converts to what encoding/json and JSON Schema work on. Numbers are
// json.Number, in JSON's form and without loss.
func (n *Node) Plain() any {
	switch n.Kind {
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Plain()
		}
		return list
	case Object:
		object := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			object[f.Key] = f.Value.Plain()
		}
		return object
	case Bool:
		return n.True()
	case Integer, Number:
		number, _ := n.number()
		return number
	case Text:
		return n.Literal
	case Null:
	}
	return nil
}

// number is a number as JSON writes it (YAML also knows 0x1f, 1_000 and .5);
// false if JSON cannot.
func (n *Node) number() (json.Number, bool) {
	if value, ok := n.Int(); ok {
		return json.Number(strconv.FormatInt(value, 10)), true
	}
	if n.Kind == Integer && json.Valid([]byte(n.Literal)) {
		return json.Number(n.Literal), true // too large for a machine, not for JSON
	}
	var value float64
	if scalar("!!float", n.Literal).Decode(&value) != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return "0", false
	}
	encoded, err := json.Marshal(value)
	return json.Number(encoded), err == nil
}

func scalar(tag, literal string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: literal}
}
