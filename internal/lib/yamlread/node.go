package yamlread

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Kind is the kind of a value in JSON's terms, since values are sent as JSON.
type Kind uint8

// Kinds of values.
const (
	Null Kind = iota
	Text
	Integer
	Number
	Bool
	List
	Object
)

// String returns the kind for messages.
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

// SchemaKinds returns types of JSON Schema for messages.
func SchemaKinds(types ...string) string {
	kinds := map[string]Kind{"null": Null, "string": Text, "integer": Integer, "number": Number, "boolean": Bool, "array": List, "object": Object}
	return strings.Join(lists.Map(types, func(name string) string { return kinds[name].String() }), " or ")
}

// Place is a position in a file. Line and Column count from 1.
type Place struct {
	File         string
	Line, Column int
}

// String returns the place without its column, for messages about other places.
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Node is a value with its position. Values of aliases keep the position of the definition, where a fault must be repaired.
type Node struct {
	file         *string
	line, column int32
	Kind         Kind
	// Block is a text of several lines that begins on the line below its position.
	Block bool
	// Literal is a scalar as written.
	Literal string
	// Items of a list, Fields of an object in the order written.
	Items  []*Node
	Fields []Field
	index  map[string]int // for objects with many fields
}

// Field is one key of an object. Its value is never nil.
type Field struct {
	Key   string
	At    Place
	Value *Node
}

// Place returns the position of the value.
func (n *Node) Place() Place {
	return Place{File: *n.file, Line: int(n.line), Column: int(n.column)}
}

// MoveTo changes the position of the value.
func (n *Node) MoveTo(at Place) { n.line, n.column = int32(at.Line), int32(at.Column) }

// Get returns the value under key; nil if it is missing or null.
func (n *Node) Get(key string) *Node {
	if f := n.Field(key); f != nil && f.Value.Kind != Null {
		return f.Value
	}
	return nil
}

// indexFrom is the number of fields from which an index is used: hostile files have 100,000.
const indexFrom = 16

// Field returns the field with a key; nil if it is missing.
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

// Add appends a field with a new key.
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

// Without returns a copy of an object without the given keys.
func (n *Node) Without(keys ...string) *Node {
	out := &Node{file: n.file, line: n.line, column: n.column, Kind: n.Kind}
	for _, f := range n.Fields {
		if !slices.Contains(keys, f.Key) {
			out.Add(f)
		}
	}
	return out
}

// With returns a copy of an object with another value for an existing key.
func (n *Node) With(key string, value *Node) *Node {
	out := n.Without()
	if f := out.Field(key); f != nil {
		f.Value = value
	}
	return out
}

// Empty returns an object without keys at the same position.
func (n *Node) Empty() *Node {
	return &Node{file: n.file, line: n.line, column: n.column, Kind: Object}
}

// Follow follows a path as far as it exists and returns the last node.
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

// Int returns the value of an integer, if it fits.
func (n *Node) Int() (value int64, ok bool) {
	if n.Kind != Integer {
		return 0, false
	}
	return value, scalar("!!int", n.Literal).Decode(&value) == nil
}

// True returns the value of a boolean.
func (n *Node) True() bool {
	var value bool
	return n.Kind == Bool && scalar("!!bool", n.Literal).Decode(&value) == nil && value
}

// Plain converts to types for encoding/json. Numbers are json.Number without loss.
func (n *Node) Plain() any {
	switch n.Kind {
	case List:
		return lists.Map(n.Items, (*Node).Plain)
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

// number returns a number in JSON's form (YAML also allows 0x1f, 1_000 and .5), or false if JSON has none.
func (n *Node) number() (json.Number, bool) {
	if value, ok := n.Int(); ok {
		return json.Number(strconv.FormatInt(value, 10)), true
	}
	// Too large for an int64, but valid in JSON. YAML takes integers above 64 bits for floats.
	if whole := n.Kind == Integer || !strings.ContainsAny(n.Literal, ".eE"); whole && json.Valid([]byte(n.Literal)) {
		return json.Number(n.Literal), true
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
