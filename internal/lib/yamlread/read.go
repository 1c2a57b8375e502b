package yamlread

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of the values repeated by aliases: a few lines can stand for billions of values.
const (
	maxRepeated     = 100_000
	maxRepeatedText = 4 << 20
	maxDepth        = 64
)

// Options limit the form of a document.
type Options struct {
	Bytes int
	// MergeKeys allows `<<`.
	MergeKeys bool
	// JSON reads a document that begins with { as JSON, since not all JSON is YAML. Lists extends this to [.
	JSON, Lists bool
	// TooLarge and Empty complete the messages about such documents.
	TooLarge, Empty string
}

// Fault is one fault of a document. Line 0 means the whole document.
type Fault struct {
	Line, Column int
	// Path in the document, like tasks[2].id; empty for the document.
	Path    string
	Message string
}

// Read converts a document to a tree. It returns nil if nothing is usable; the faults have the reasons.
func Read(file string, data []byte, options Options) (*Node, []Fault) {
	asJSON, fault := judge(data, options)
	switch {
	case fault != nil:
		return nil, []Fault{*fault}
	case asJSON:
		return readJSON(&file, data)
	}
	return readYAML(&file, data, options)
}

// judge detects the format of a document, or returns the reason why it cannot be read.
func judge(data []byte, options Options) (asJSON bool, fault *Fault) {
	trimmed := bytes.TrimLeft(data, " \t\r\n\ufeff")
	start := Fault{Line: 1, Column: 1}
	switch {
	case len(data) > options.Bytes:
		start.Message = fmt.Sprintf("the file has more than %d bytes: %s", options.Bytes, options.TooLarge)
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		start.Message = "the file is UTF-16: save it as UTF-8"
	case !utf8.Valid(data):
		start.Line, start.Column = position(data, firstInvalid(data))
		start.Message = "the file is not UTF-8 from here on: save it as UTF-8"
	case len(trimmed) == 0:
		start.Message = "the file is empty: " + options.Empty
	default:
		return options.JSON && trimmed[0] == '{' || options.Lists && trimmed[0] == '[', nil
	}
	return false, &start
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

func position(data []byte, offset int) (line, column int) {
	before := data[:offset]
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

func readYAML(file *string, data []byte, options Options) (*Node, []Fault) {
	var document, second yaml.Node
	data = withoutVersion(data)
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) || err == nil && len(document.Content) == 0 {
		return nil, []Fault{{Line: 1, Column: 1, Message: "the file is empty: " + options.Empty}}
	} else if err != nil {
		return nil, []Fault{syntax(data)}
	}
	p := &parser{file: file, options: options, active: map[*yaml.Node]bool{}}
	root := p.convert(document.Content[0], nil, 0)
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		p.faults = append(p.faults, syntax(data))
	default:
		p.fault(&second, nil, "a second document begins here: keep one per file")
	}
	if p.exhausted {
		return nil, p.faults
	}
	return root, p.faults
}

// versionDirective is the standard's own first line, which the decoder refuses for every version except 1.1.
var versionDirective = regexp.MustCompile(`^(?:\x{feff}?(?:[ \t]*(?:#[^\r\n]*)?\r?\n)*)(%YAML[ \t]+1\.[02-9]+)[ \t]*(?:#[^\r\n]*)?\r?\n`)

// withoutVersion returns the data with a comment in place of the directive, of the same length.
func withoutVersion(data []byte) []byte {
	found := versionDirective.FindSubmatchIndex(data)
	if found == nil {
		return data
	}
	data = bytes.Clone(data)
	data[found[2]] = '#'
	return data
}

var (
	yamlMessage = regexp.MustCompile(`(?s)^yaml: (?:unmarshal errors:\n\s*)?(?:line (\d+): )?(.*)$`)
	// parserMessage begins the messages whose lines the decoder counts from 0.
	parserMessage = regexp.MustCompile(`^(?:did not find expected (?:<|node content$|',')|found (?:undefined tag handle|duplicate %|incompatible YAML))`)
	// lineless begins the messages that have no line, or the line of the block around the fault.
	lineless = regexp.MustCompile(`^(?:did not find expected (?:key|'-' indicator)$|unknown anchor )`)
)

// syntax describes the first error of the decoder. It does not name the line in which a bracket or a quote was opened if that is
// the first one, so an empty line is before it here.
func syntax(data []byte) Fault {
	f := Fault{Line: 1, Column: 1, Message: failure(append([]byte("\n"), bytes.TrimPrefix(data, []byte("\ufeff"))...)).Error()}
	if found := yamlMessage.FindStringSubmatch(f.Message); found != nil {
		f.Message = found[2]
		if line, err := strconv.Atoi(found[1]); err == nil {
			f.Line = line - 1
			if parserMessage.MatchString(f.Message) {
				f.Line = min(f.Line+1, 1+bytes.Count(bytes.TrimRight(data, " \t\r\n"), []byte("\n")))
			}
			f.Line = max(f.Line, 1)
		}
	}
	if lineless.MatchString(f.Message) {
		f.Line, f.Column = firstWith(f.Message, data)
	}
	switch {
	case strings.Contains(f.Message, "cannot start any token"):
		f.Message += ": indent with spaces, not with tabs, and put a value that begins with @, ` or % into quotes"
	case f.Message == "control characters are not allowed":
		f.Line, f.Column = position(data, max(bytes.IndexFunc(data, control), 0))
	case f.Message == "did not find expected key", f.Message == "did not find expected '-' indicator":
		f.Message += ": check the indentation and the quotes of this line"
	}
	f.Message = "not valid YAML: " + f.Message
	return f
}

// control reports whether YAML excludes a character from its texts.
func control(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r > '~' && r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff
}

// failure returns the first error of the decoder; io.EOF at the end of the text.
func failure(data []byte) (err error) {
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); err == nil; {
		err = decoder.Decode(new(yaml.Node))
	}
	return err
}

// firstWith returns the first line with which the decoder fails so.
func firstWith(message string, data []byte) (line, column int) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	before := sort.Search(len(lines)-1, func(n int) bool {
		return strings.HasSuffix(failure(bytes.Join(lines[:n+1], nil)).Error(), message)
	})
	found := lines[before]
	return before + 1, len(found) - len(bytes.TrimLeft(found, " ")) + 1
}
