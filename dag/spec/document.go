package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxNesting bounds how deep values nest; aliases included, so a value that
// contains itself ends there.
const maxNesting = 64

// maxAliasNodes bounds how many values all aliases of a document may repeat.
const maxAliasNodes = 100_000

// parseDocument reads one document into nodes that know their place. JSON, recognized by
// its first letter, has its own reader: not all of it is YAML.
func parseDocument(c *collector, data []byte) *yaml.Node {
	return parseBounded(c, data, false)
}

// parseAny also takes a JSON list as JSON: tasks that are added to a run are one.
func parseAny(c *collector, data []byte) *yaml.Node { return parseBounded(c, data, true) }

func parseBounded(c *collector, data []byte, list bool) *yaml.Node {
	trimmed := bytes.TrimLeft(data, " \t\r\n\ufeff")
	switch {
	case len(data) > MaxFileSize:
		c.at(nil, "the file has %d bytes; the limit is %d: split it into sub-DAGs or use for_each", len(data), MaxFileSize)
	case len(trimmed) == 0:
		c.at(nil, "the file is empty; a spec needs at least version, name and tasks")
	case !utf8.Valid(data):
		line, column := firstInvalid(data)
		c.add(Fault{File: c.file, Line: line, Column: column, Message: "this is not text in UTF-8; a spec is YAML or JSON"})
	case trimmed[0] == '{', list && trimmed[0] == '[':
		return parseJSON(c, data)
	default:
		return parseYAML(c, data)
	}
	return nil
}

func firstInvalid(data []byte) (line, column int) {
	line, column = 1, 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		data = data[size:]
	}
	return line, column
}

var yamlPlace = regexp.MustCompile(`^yaml: (?:unmarshal errors:\n\s*)?(?:line (\d+): )?`)

func parseYAML(c *collector, data []byte) *yaml.Node {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		c.add(yamlFault(c.file, err))
		return nil
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		if err != nil {
			c.add(yamlFault(c.file, err))
		} else {
			c.at(&more, "a second document begins here; a spec is one document")
		}
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		c.at(nil, "the file holds nothing but comments; a spec needs at least version, name and tasks")
		return nil
	}
	aliases := aliasBudget{c: c, left: maxAliasNodes}
	return aliases.expand(doc.Content[0], 0, false)
}

func yamlFault(file string, err error) Fault {
	text := err.Error()
	place := yamlPlace.FindStringSubmatch(text)
	f := Fault{File: file, Message: text}
	if place != nil {
		f.Message = "not valid YAML: " + strings.TrimPrefix(text, place[0])
		if strings.Contains(text, "cannot start any token") {
			f.Message += ": indent with spaces, not with tabs, and put a value that begins with @, ` or % into quotes"
		}
		if f.Line, _ = strconv.Atoi(place[1]); f.Line > 0 {
			f.Column = 1
		}
	}
	return f
}

// aliasBudget replaces aliases by what they stand for, within bounds: a few
// lines of YAML can stand for billions of values.
type aliasBudget struct {
	c      *collector
	left   int
	alias  *yaml.Node // the outermost alias being expanded: where a fault is
	failed bool
}

func (b *aliasBudget) expand(n *yaml.Node, depth int, repeated bool) *yaml.Node {
	if depth > maxNesting {
		return b.give(n, fmt.Sprintf("values nest deeper than %d levels here", maxNesting))
	}
	if repeated {
		if b.left--; b.left < 0 {
			return b.give(n, fmt.Sprintf("aliases repeat more than %d values; write the spec without them or use for_each", maxAliasNodes))
		}
	}
	if n.Kind == yaml.AliasNode {
		if b.alias == nil {
			b.alias = n
			defer func() { b.alias = nil }()
		}
		target := b.expand(n.Alias, depth+1, true)
		if target == nil {
			return nil
		}
		here := *target
		here.Line, here.Column, here.Anchor = n.Line, n.Column, ""
		return &here
	}
	if len(n.Content) == 0 {
		return n
	}
	// Values repeated by an alias are copied, so that the original is not expanded
	// once more for every alias; the budget bounds the copies.
	out := n
	if repeated {
		own := *n
		own.Content = make([]*yaml.Node, len(n.Content))
		out = &own
	}
	for k, child := range n.Content {
		e := b.expand(child, depth+1, repeated)
		if e == nil {
			return nil
		}
		out.Content[k] = e
	}
	return out
}

func (b *aliasBudget) give(n *yaml.Node, message string) *yaml.Node {
	if b.alias != nil {
		n = b.alias
	}
	if !b.failed {
		b.c.at(n, "%s", message)
		b.failed = true
	}
	return nil
}
