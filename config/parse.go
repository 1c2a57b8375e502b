package config

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of one file. A configuration is written by people: whoever meets one
// of these has the wrong file, or one that was made to hurt.
const (
	maxFileBytes = 1 << 20
	// maxNodes and maxTextBytes count after aliases have been expanded, which
	// is what a "YAML bomb" multiplies.
	maxNodes     = 100_000
	maxTextBytes = 4 << 20
	maxDepth     = 64
)

// parse turns one file into a tree. It returns nil when nothing of the file can
// be used; the faults say why.
func parse(file string, data []byte) (*node, Faults) {
	whole := place{file: file, line: 1, column: 1}
	if fault := unreadable(file, data); fault != nil {
		return nil, Faults{*fault}
	}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, Faults{whole.fault("", "the file is empty: it begins with `version: 1`, see docs/configuration.md")}
		}
		return nil, Faults{syntaxFault(file, err)}
	}
	p := &parser{file: file, active: map[*yaml.Node]bool{}}
	root := p.convert(document.Content[0], "", 0)
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		p.faults = append(p.faults, syntaxFault(file, err))
	default:
		p.fault(&second, "", "a second document begins here: keep one per file and pass several files instead")
	}
	if p.exhausted {
		return nil, p.faults
	}
	if root.kind != kindObject {
		return nil, append(p.faults, root.fault("", fmt.Sprintf("the file holds %s, not keys and values: it begins with `version: 1`", root.kind)))
	}
	return root, p.faults
}

// unreadable checks what the YAML library would report badly.
func unreadable(file string, data []byte) *Fault {
	at := place{file: file, line: 1, column: 1}
	var message string
	switch {
	case len(data) > maxFileBytes:
		message = fmt.Sprintf("the file has more than %d bytes: is this a configuration?", maxFileBytes)
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		message = "the file is UTF-16: save it as UTF-8"
	case !utf8.Valid(data):
		at = positionOf(file, data, firstInvalid(data))
		message = "the file is not UTF-8 from here on: save it as UTF-8"
	default:
		return nil
	}
	fault := at.fault("", message)
	return &fault
}

func firstInvalid(data []byte) int {
	for offset := 0; offset < len(data); {
		r, size := utf8.DecodeRune(data[offset:])
		if r == utf8.RuneError && size <= 1 {
			return offset
		}
		offset += size
	}
	return len(data)
}

func positionOf(file string, data []byte, offset int) place {
	before := data[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return place{file: file, line: line, column: column}
}

var yamlMessage = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

func syntaxFault(file string, err error) Fault {
	at, message := place{file: file, line: 1, column: 1}, err.Error()
	if found := yamlMessage.FindStringSubmatch(message); found != nil {
		message = found[2]
		if line, err := strconv.Atoi(found[1]); err == nil {
			at.line = line
		}
	}
	if strings.Contains(message, "cannot start any token") {
		message += ": indent with spaces, not with tabs, and put a value that begins with @, ` or % into quotes"
	}
	return at.fault("", "not valid YAML: "+message)
}

func (p place) fault(path, message string) Fault {
	return Fault{File: p.file, Line: p.line, Column: p.column, Path: path, Message: message}
}

// parser converts the library's nodes and counts what they expand to.
type parser struct {
	file      string
	faults    Faults
	nodes     int
	bytes     int
	exhausted bool
	// active holds the anchors being expanded: one inside itself is endless.
	active map[*yaml.Node]bool
}

func (p *parser) place(from *yaml.Node) place {
	return place{file: p.file, line: max(from.Line, 1), column: max(from.Column, 1)}
}

func (p *parser) fault(from *yaml.Node, path, format string, args ...any) {
	p.faults = append(p.faults, p.place(from).fault(path, fmt.Sprintf(format, args...)))
}

// exhaust reports once that a bound was passed and ends the conversion.
func (p *parser) exhaust(from *yaml.Node, path, message string) {
	if !p.exhausted {
		p.exhausted = true
		p.fault(from, path, "%s", message)
	}
}

func (p *parser) convert(from *yaml.Node, path string, depth int) *node {
	converted := &node{place: p.place(from)}
	p.nodes++
	p.bytes += len(from.Value)
	switch {
	case p.exhausted:
		return converted
	case depth > maxDepth:
		p.exhaust(from, path, fmt.Sprintf("nested more than %d levels deep", maxDepth))
		return converted
	case p.nodes > maxNodes || p.bytes > maxTextBytes:
		p.exhaust(from, path, fmt.Sprintf("the file expands to more than %d values or %d bytes: are there aliases of aliases?", maxNodes, maxTextBytes))
		return converted
	}
	switch from.Kind {
	case yaml.AliasNode:
		return p.alias(from, path, depth)
	case yaml.MappingNode:
		converted.kind = kindObject
		p.mapping(converted, from, path, depth)
	case yaml.SequenceNode:
		converted.kind = kindList
		for i, item := range from.Content {
			converted.items = append(converted.items, p.convert(item, fmt.Sprintf("%s[%d]", path, i), depth+1))
		}
	case yaml.ScalarNode:
		p.scalar(converted, from, path)
	case yaml.DocumentNode:
	}
	return converted
}

func (p *parser) alias(from *yaml.Node, path string, depth int) *node {
	target := from.Alias
	if p.active[target] {
		p.exhaust(from, path, fmt.Sprintf("the anchor %q contains itself", target.Anchor))
		return &node{place: p.place(from)}
	}
	p.active[target] = true
	defer delete(p.active, target)
	return p.convert(target, path, depth+1)
}

func (p *parser) mapping(into *node, from *yaml.Node, path string, depth int) {
	if from.Anchor != "" {
		p.active[from] = true
		defer delete(p.active, from)
	}
	var merged []*node
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		if key.Tag == "!!merge" {
			merged = append(merged, p.merge(value, path, depth)...)
			continue
		}
		name, ok := p.key(key, path)
		if !ok {
			continue
		}
		if first := into.field(name); first != nil {
			p.fault(key, join(path, name), "the key is written twice, first at line %d", first.at.line)
			continue
		}
		into.add(field{key: name, at: p.place(key), value: p.convert(value, join(path, name), depth+1)})
	}
	for _, source := range merged {
		for _, f := range source.fields {
			if into.field(f.key) == nil {
				into.add(f)
			}
		}
	}
}

// merge resolves `<<: *anchor` and `<<: [*a, *b]`.
func (p *parser) merge(value *yaml.Node, path string, depth int) []*node {
	converted := p.convert(value, path, depth+1)
	sources := []*node{converted}
	if converted.kind == kindList {
		sources = converted.items
	}
	for _, source := range sources {
		if source.kind != kindObject && !p.exhausted {
			p.fault(value, path, "<< merges keys and values, not %s", source.kind)
			return nil
		}
	}
	return sources
}

func (p *parser) key(from *yaml.Node, path string) (string, bool) {
	target := from
	if from.Kind == yaml.AliasNode {
		target = from.Alias
	}
	if target.Kind != yaml.ScalarNode || target.ShortTag() == "!!null" {
		p.fault(from, path, "a key must be plain text")
		return "", false
	}
	p.bytes += len(target.Value)
	return target.Value, true
}

func (p *parser) scalar(into *node, from *yaml.Node, path string) {
	var err error
	into.literal = from.Value
	switch tag := from.ShortTag(); tag {
	case "!!null":
		into.kind = kindNull
	case "!!str", "!!timestamp":
		into.kind, into.value = kindText, from.Value
	case "!!bool":
		into.kind = kindBool
		err = decodeInto[bool](into, from)
	case "!!int":
		into.kind = kindInteger
		err = decodeInto[int64](into, from)
	case "!!float":
		into.kind = kindNumber
		err = decodeFloat(into, from)
	case "!!binary":
		into.kind = kindText
		if _, bad := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(from.Value), "")); bad != nil {
			err = bad
		}
		into.value = from.Value
	default:
		into.kind = kindNull
		p.fault(from, path, "the tag %s is not supported", tag)
	}
	if err != nil {
		p.fault(from, path, "%q: %s", from.Value, strings.TrimPrefix(err.Error(), "yaml: "))
	}
}

func decodeInto[T any](into *node, from *yaml.Node) error {
	var value T
	into.value = value
	if err := from.Decode(&value); err != nil {
		return errors.New("the value is out of range: quote it to make it text")
	}
	into.value = value
	return nil
}

func decodeFloat(into *node, from *yaml.Node) error {
	if err := decodeInto[float64](into, from); err != nil {
		return err
	}
	if value, ok := into.value.(float64); ok && (math.IsNaN(value) || math.IsInf(value, 0)) {
		into.value = 0.0
		return errors.New("JSON has no such number: quote it to make it text")
	}
	return nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
