package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sort"

	"go.yaml.in/yaml/v3"
)

// parseJSON reads a JSON document into the nodes that parseYAML makes.
func parseJSON(c *collector, data []byte) *yaml.Node {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	p := jsonParser{c: c, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	for at, b := range data {
		if b == '\n' {
			p.lines = append(p.lines, at+1)
		}
	}
	n := p.value(0)
	if n == nil {
		return nil
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		p.fail(p.dec.InputOffset(), "something follows the document; a spec is one value")
		return nil
	}
	return n
}

type jsonParser struct {
	c     *collector
	data  []byte
	dec   *json.Decoder
	lines []int // offsets at which lines 2, 3, … begin
}

func (p *jsonParser) place(offset int64) (line, column int) {
	at := int(offset)
	before := sort.SearchInts(p.lines, at+1)
	start := 0
	if before > 0 {
		start = p.lines[before-1]
	}
	return before + 1, at - start + 1
}

func (p *jsonParser) fail(offset int64, message string) {
	line, column := p.place(offset)
	p.c.add(Fault{File: p.c.file, Line: line, Column: column, Message: message})
}

// next returns a token and the node that marks its place.
func (p *jsonParser) next() (json.Token, *yaml.Node) {
	start := p.dec.InputOffset()
	for int(start) < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[start]) >= 0 {
		start++
	}
	token, err := p.dec.Token()
	if err != nil {
		at := p.dec.InputOffset()
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = max(syntax.Offset-1, 0)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the end is missing")
		}
		p.fail(at, "not valid JSON: "+err.Error())
		return nil, nil
	}
	n := &yaml.Node{}
	n.Line, n.Column = p.place(start)
	return token, n
}

func (p *jsonParser) value(depth int) *yaml.Node {
	token, n := p.next()
	if n == nil {
		return nil
	}
	if depth > maxNesting {
		p.c.at(n, "values nest deeper than %d levels here", maxNesting)
		return nil
	}
	n.Kind = yaml.ScalarNode
	switch v := token.(type) {
	case json.Delim:
		return p.container(n, v, depth)
	case string:
		n.Tag, n.Value, n.Style = "!!str", v, yaml.DoubleQuotedStyle
	case json.Number:
		n.Tag, n.Value = "!!int", v.String()
		if bytes.ContainsAny([]byte(n.Value), ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", "false"
		if v {
			n.Value = "true"
		}
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n
}

func (p *jsonParser) container(n *yaml.Node, open json.Delim, depth int) *yaml.Node {
	n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
	if open == '{' {
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
	}
	for p.dec.More() {
		child := p.value(depth + 1)
		if child == nil {
			return nil
		}
		n.Content = append(n.Content, child)
	}
	if _, end := p.next(); end == nil {
		return nil
	}
	return n
}
