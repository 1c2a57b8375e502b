package yamlread

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"unicode/utf8"
)

func readJSON(file *string, data []byte) (*Node, []Fault) {
	p := newJSONParser(file, data)
	return p.document(), p.faults
}

func newJSONParser(file *string, data []byte) *jsonParser {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	p := &jsonParser{file: file, data: data, decoder: json.NewDecoder(bytes.NewReader(data)), column: 1}
	p.decoder.UseNumber()
	for at, b := range data {
		if b == '\n' {
			p.lines = append(p.lines, at+1)
		}
	}
	return p
}

// document reads the single value of a document; nil if it is unusable.
func (p *jsonParser) document() *Node {
	n := p.value(nil, 0)
	if n == nil {
		return nil
	}
	if _, err := p.decoder.Token(); !errors.Is(err, io.EOF) {
		p.fail(p.decoder.InputOffset(), nil, "something follows the document, which is one value")
		return nil
	}
	return n
}

type jsonParser struct {
	file    *string
	data    []byte
	decoder *json.Decoder
	lines   []int // offsets at which lines 2, 3, … begin
	faults  []Fault
	// begin is the start of the line of the last place, reached its offset. Columns are counted from there, because a line may
	// be the whole document.
	begin, reached, column int
	// each receives the items of the list under apart. stopped means that it returned false.
	apart   string
	each    func(*Node) bool
	stopped bool
}

func (p *jsonParser) place(offset int64) (line, column int) {
	at := min(int(offset), len(p.data))
	before := sort.SearchInts(p.lines, at+1)
	start := 0
	if before > 0 {
		start = p.lines[before-1]
	}
	if start != p.begin || at < p.reached {
		p.begin, p.reached, p.column = start, start, 1
	}
	p.column += utf8.RuneCount(p.data[p.reached:at])
	p.reached = at
	return before + 1, p.column
}

func (p *jsonParser) fail(offset int64, at *trail, message string) {
	line, column := p.place(offset)
	p.faults = append(p.faults, Fault{Line: line, Column: column, Path: at.path(), Message: message})
}

func (p *jsonParser) next(at *trail) (json.Token, *Node) {
	start := p.decoder.InputOffset()
	for int(start) < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[start]) >= 0 {
		start++
	}
	token, err := p.decoder.Token()
	if err != nil {
		offset := p.decoder.InputOffset()
		if _, ok := errors.AsType[*json.SyntaxError](err); ok {
			offset += p.within(offset, err)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the end is missing")
		}
		p.fail(offset, at, "not valid JSON: "+err.Error())
		return nil, nil
	}
	line, column := p.place(start)
	return token, &Node{file: p.file, line: int32(line), column: int32(column)}
}

// within returns the distance of a syntax error from the start of its value. The decoder's own offset leaves out the text
// between values.
func (p *jsonParser) within(start int64, err error) int64 {
	again, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(p.data[start:], new(json.RawMessage)))
	if !ok || again.Error() != err.Error() {
		return 0 // The value itself is in a wrong place.
	}
	return max(again.Offset-1, 0)
}

func (p *jsonParser) value(at *trail, depth int) *Node {
	token, n := p.next(at)
	if n == nil {
		return nil
	}
	if depth > maxDepth {
		p.faults = append(p.faults, Fault{Line: int(n.line), Column: int(n.column), Path: at.path(), Message: "nested more than 64 levels deep"})
		return nil
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return p.object(n, at, depth)
		}
		return p.list(n, at, depth)
	case string:
		n.Kind, n.Literal = Text, v
	case json.Number:
		n.Kind, n.Literal = Integer, v.String()
		if bytes.ContainsAny([]byte(n.Literal), ".eE") {
			n.Kind = Number
		}
		if _, ok := n.number(); !ok {
			p.faults = append(p.faults, Fault{Line: int(n.line), Column: int(n.column), Path: at.path(), Message: "the number is out of range: quote it to make it text"})
		}
	case bool:
		n.Kind, n.Literal = Bool, "false"
		if v {
			n.Literal = "true"
		}
	default:
		n.Kind, n.Literal = Null, "null"
	}
	return n
}

func (p *jsonParser) list(n *Node, at *trail, depth int) *Node {
	n.Kind = List
	for p.decoder.More() {
		item := p.value(&trail{at, "", len(n.Items)}, depth+1)
		if item == nil {
			return nil
		}
		if p.each == nil || depth != 1 || at.key != p.apart {
			n.Items = append(n.Items, item)
		} else if !p.each(item) {
			p.stopped = true
			return nil
		}
	}
	if _, end := p.next(at); end == nil {
		return nil
	}
	return n
}

func (p *jsonParser) object(n *Node, at *trail, depth int) *Node {
	n.Kind = Object
	for p.decoder.More() {
		token, key := p.next(at)
		if key == nil {
			return nil
		}
		name, ok := token.(string)
		if !ok {
			p.faults = append(p.faults, Fault{Line: int(key.line), Column: int(key.column), Path: at.path(), Message: "a key must be text"})
			return nil
		}
		below := &trail{at, name, -1}
		value := p.value(below, depth+1)
		if value == nil {
			return nil
		}
		if first := n.Field(name); first != nil {
			p.faults = append(p.faults, Fault{
				Line: int(key.line), Column: int(key.column), Path: below.path(),
				Message: fmt.Sprintf("the key is written twice, first at line %d", first.At.Line),
			})
			continue
		}
		n.Add(Field{Key: name, At: key.Place(), Value: value})
	}
	if _, end := p.next(at); end == nil {
		return nil
	}
	return n
}
