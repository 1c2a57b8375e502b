package yamlread

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

type parser struct {
	file      *string
	options   Options
	faults    []Fault
	repeating int        // aliases being expanded
	outermost *yaml.Node // the outermost of them
	repeated  int
	text      int
	exhausted bool
	anchored  bool // an anchor or an alias was seen
	// active holds the anchors being expanded, since an anchor inside itself is endless.
	active map[*yaml.Node]bool
}

type trail struct {
	up    *trail
	key   string
	index int
}

func (t *trail) path() string {
	switch {
	case t == nil:
		return ""
	case t.index >= 0:
		return fmt.Sprintf("%s[%d]", t.up.path(), t.index)
	}
	if above := t.up.path(); above != "" {
		return above + "." + t.key
	}
	return t.key
}

func (p *parser) fault(from *yaml.Node, at *trail, format string, args ...any) {
	p.faults = append(p.faults, Fault{
		Line: max(from.Line, 1), Column: max(from.Column, 1), Path: at.path(), Message: fmt.Sprintf(format, args...),
	})
}

// exhaust reports once that a bound was exceeded and ends the conversion.
func (p *parser) exhaust(from *yaml.Node, at *trail, format string, args ...any) {
	if !p.exhausted {
		p.exhausted = true
		if p.repeating > 0 {
			from = p.outermost
		}
		p.fault(from, at, format, args...)
	}
}

func (p *parser) convert(from *yaml.Node, at *trail, depth int) *Node {
	n := &Node{file: p.file, line: int32(max(from.Line, 1)), column: int32(max(from.Column, 1))}
	p.charge(from, len(from.Value), at)
	p.anchored = p.anchored || from.Anchor != "" || from.Kind == yaml.AliasNode
	switch {
	case p.exhausted:
		return n
	case depth > maxDepth:
		p.exhaust(from, at, "nested more than %d levels deep", maxDepth)
		return n
	}
	switch from.Kind {
	case yaml.AliasNode:
		return p.alias(from, at, depth)
	case yaml.MappingNode:
		n.Kind = Object
		p.tagged(from, at, "!!map")
		p.mapping(n, from, at, depth)
	case yaml.SequenceNode:
		n.Kind = List
		p.tagged(from, at, "!!seq")
		n.Items = make([]*Node, 0, len(from.Content))
		for i, item := range from.Content {
			n.Items = append(n.Items, p.convert(item, &trail{at, "", i}, depth+1))
		}
	case yaml.ScalarNode:
		p.scalar(n, from, at)
	case yaml.DocumentNode:
	}
	return n
}

// charge counts a value repeated by an alias.
func (p *parser) charge(from *yaml.Node, text int, at *trail) {
	if p.repeating == 0 {
		return
	}
	p.repeated++
	if p.text += text; p.repeated > maxRepeated || p.text > maxRepeatedText {
		p.exhaust(from, at, "aliases repeat more than %d values or %d bytes: are there aliases of aliases?", maxRepeated, maxRepeatedText)
	}
}

func (p *parser) tagged(from *yaml.Node, at *trail, tag string) {
	if from.ShortTag() != tag {
		p.fault(from, at, "the tag %s is not supported", from.ShortTag())
	}
}

func (p *parser) alias(from *yaml.Node, at *trail, depth int) *Node {
	target := from.Alias
	if p.active[target] {
		p.exhaust(from, at, "the anchor %q contains itself", target.Anchor)
		return &Node{file: p.file, line: int32(from.Line), column: int32(from.Column)}
	}
	if p.repeating == 0 {
		p.outermost = from
	}
	p.active[target] = true
	p.repeating++
	defer func() { delete(p.active, target); p.repeating-- }()
	return p.convert(target, at, depth+1)
}

func (p *parser) mapping(into *Node, from *yaml.Node, at *trail, depth int) {
	if from.Anchor != "" {
		p.active[from] = true
		defer delete(p.active, from)
	}
	var merged []*Node
	into.Fields = make([]Field, 0, len(from.Content)/2)
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		if key.Tag == "!!merge" {
			merged = append(merged, p.merge(key, value, at, depth)...)
			continue
		}
		name, ok := p.key(key, at)
		if !ok {
			continue
		}
		below := &trail{at, name, -1}
		if first := into.Field(name); first != nil {
			p.fault(key, below, "the key is written twice, first at line %d", first.At.Line)
			continue
		}
		into.Add(Field{
			Key: name, At: Place{File: *p.file, Line: max(key.Line, 1), Column: max(key.Column, 1)},
			Value: p.convert(value, below, depth+1),
		})
	}
	for _, source := range merged {
		for _, f := range source.Fields {
			if into.Field(f.Key) == nil {
				into.Add(f)
			}
		}
	}
}

// merge resolves `<<: *anchor` and `<<: [*a, *b]`.
func (p *parser) merge(key, value *yaml.Node, at *trail, depth int) []*Node {
	if !p.options.MergeKeys {
		p.fault(key, at, "merge keys (<<) are not part of the language; write the keys out or alias single values")
		return nil
	}
	converted := p.convert(value, at, depth+1)
	sources := []*Node{converted}
	if converted.Kind == List {
		sources = converted.Items
	}
	for _, source := range sources {
		if source.Kind != Object && !p.exhausted {
			p.fault(value, at, "<< merges keys and values, not %s", source.Kind)
			return nil
		}
	}
	return sources
}

func (p *parser) key(from *yaml.Node, at *trail) (string, bool) {
	target := from
	p.anchored = p.anchored || from.Anchor != "" || from.Kind == yaml.AliasNode
	if from.Kind == yaml.AliasNode {
		target = from.Alias
	}
	if target.Kind != yaml.ScalarNode || target.ShortTag() == "!!null" {
		p.fault(from, at, "a key must be plain text")
		return "", false
	}
	p.charge(from, len(target.Value), at)
	return target.Value, true
}

func (p *parser) scalar(into *Node, from *yaml.Node, at *trail) {
	into.Literal = from.Value
	into.Block = from.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	switch tag := from.ShortTag(); tag {
	case "!!null":
		into.Kind = Null
	case "!!str", "!!timestamp", "!!merge": // << as a value
		into.Kind = Text
	case "!!bool":
		into.Kind = Bool
	case "!!int":
		into.Kind = Integer
	case "!!float":
		into.Kind = Number
	case "!!binary":
		into.Kind = Text
		p.fault(from, at, "binary data has no place here; write it as base64 text, without the tag")
	default:
		p.fault(from, at, "the tag %s is not supported", tag)
	}
	var value any
	switch {
	case from.Style&yaml.TaggedStyle != 0 && into.Kind != Text && from.Decode(&value) != nil:
		p.fault(from, at, "%.40q is no value of the tag %s: leave the tag out", from.Value, from.ShortTag())
		return
	case into.Kind != Integer && into.Kind != Number:
		return
	}
	if _, ok := into.number(); !ok {
		p.fault(from, at, "%q: JSON has no such number: quote it to make it text", strings.TrimSpace(from.Value))
	}
}
