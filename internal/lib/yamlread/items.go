package yamlread

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
)

// chunkBytes is large compared with a parser's own buffers, and small enough for the memory of its nodes.
const chunkBytes = 64 << 10

// placeholder replaces the list while the rest of the document is read.
const placeholder = "roundsman-items-are-read-apart"

// ReadItems reads a document whose root has a list under key, with one part of the list in memory: a whole tree takes
// fifty times the memory of the text. It calls each with every item in order.
//
// It returns nil if each returned false, after a fault, and if only [Read] can decide. The items passed to each are
// void then. Positions in items are relative, so a fault needs Read, too.
func ReadItems(file string, data []byte, options Options, key string, each func(*Node) bool) *Node {
	return readItems(file, data, options, key, chunkBytes, each)
}

func readItems(file string, data []byte, options Options, key string, size int, each func(*Node) bool) *Node {
	asJSON, fault := judge(data, options)
	switch {
	case fault != nil:
		return nil
	case asJSON:
		return readJSONItems(&file, data, key, each)
	}
	parts, ok := divide(data, key)
	if !ok {
		return nil
	}
	root, faults := readYAML(&file, parts.frame(), options)
	if root == nil || len(faults) > 0 || root.Kind != Object {
		return nil
	}
	list := root.Field(key)
	if list == nil || len(list.Value.Items) != 1 || list.Value.Items[0].Literal != placeholder {
		return nil
	}
	for chunk := range parts.chunks(size) {
		if !readChunk(&file, chunk, options, each) {
			return nil
		}
	}
	list.Value.Items = nil
	return root
}

// A chunk cut within quotes or brackets is not valid YAML: its closing characters are missing.
func readChunk(file *string, chunk []byte, options Options, each func(*Node) bool) bool {
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(chunk))
	if decoder.Decode(&document) != nil || len(document.Content) == 0 || document.Content[0].Kind != yaml.SequenceNode {
		return false
	}
	if !errors.Is(decoder.Decode(&second), io.EOF) {
		return false
	}
	p := &parser{file: file, options: options, active: map[*yaml.Node]bool{}}
	list := p.convert(document.Content[0], nil, 1)
	if len(p.faults) > 0 || p.anchored {
		return false
	}
	for _, item := range list.Items {
		if !each(item) {
			return false
		}
	}
	return true
}

func readJSONItems(file *string, data []byte, key string, each func(*Node) bool) *Node {
	p := newJSONParser(file, data)
	p.apart, p.each = key, each
	if root := p.document(); len(p.faults) == 0 && !p.stopped {
		return root
	}
	return nil
}

// before ends with the line of the list's key, after begins with the next key.
type division struct {
	before, list, after []byte
	indent              int // of the items
}

// divide finds a list whose key is alone on its line, as in generated documents.
func divide(data []byte, key string) (division, bool) {
	if bytes.Contains(data, []byte(placeholder)) || oddBreaks(data) {
		return division{}, false
	}
	for rest := data; len(rest) > 0; {
		line, after := cutLine(rest)
		if found, ok := bytes.CutPrefix(line, []byte(key+":")); ok && len(bytes.TrimLeft(found, " ")) == len("\n") {
			d := division{before: data[:len(data)-len(after)], indent: -1}
			length := d.measure(after)
			d.list, d.after = after[:length], after[length:]
			return d, d.indent >= 0
		}
		rest = after
	}
	return division{}, false
}

func (d *division) measure(text []byte) int {
	for rest := text; len(rest) > 0; {
		line, after := cutLine(rest)
		switch {
		case empty(line):
		case d.indent < 0:
			if d.indent = bytes.IndexByte(line, '-'); !d.begins(line) {
				d.indent = -1
				return 0
			}
		case line[0] != ' ' && !d.begins(line):
			return len(text) - len(rest)
		}
		rest = after
	}
	return len(text)
}

func (d *division) begins(line []byte) bool {
	if d.indent < 0 || len(line) <= d.indent || line[d.indent] != '-' || len(bytes.TrimLeft(line[:d.indent], " ")) > 0 {
		return false
	}
	return len(line) == d.indent+1 || strings.IndexByte(" \r\n", line[d.indent+1]) >= 0
}

func (d *division) chunks(size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		begin := 0
		for at := 0; at < len(d.list); {
			line, after := cutLine(d.list[at:])
			if at-begin >= size && d.begins(line) {
				if !yield(d.list[begin:at]) {
					return
				}
				begin = at
			}
			at = len(d.list) - len(after)
		}
		yield(d.list[begin:])
	}
}

// With one item for the whole list the parser is in the same state before and after it.
func (d *division) frame() []byte {
	item := strings.Repeat(" ", d.indent) + "- " + placeholder + "\n"
	return bytes.Join([][]byte{d.before, []byte(item), d.after}, nil)
}

// oddBreaks reports whether the data has line breaks of YAML that cutLine does not handle.
func oddBreaks(data []byte) bool {
	for _, other := range []string{"\u0085", "\u2028", "\u2029"} {
		if bytes.Contains(data, []byte(other)) {
			return true
		}
	}
	return bytes.Count(data, []byte("\r")) != bytes.Count(data, []byte("\r\n"))
}

func cutLine(data []byte) (line, rest []byte) {
	end := cmp.Or(bytes.IndexByte(data, '\n')+1, len(data))
	return data[:end], data[end:]
}

func empty(line []byte) bool {
	trimmed := bytes.TrimLeft(line, " ")
	return len(trimmed) == 0 || strings.IndexByte("\r\n#", trimmed[0]) >= 0
}
