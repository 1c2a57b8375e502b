package yamlread

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A value that its tag does not fit would get another value silently: !!bool yes would be false.
func TestAValueFitsItsTag(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"!!int true", "!!int 1.5", "!!int x", `!!int " 12345678901234567890"`, "!!float x", "!!bool yes", "!!bool 1", "!!null x"} {
		_, faults := Read("f", []byte("a: 1\nb: "+text+"\n"), itemOptions())
		require.Len(t, faults, 1, text)
		assert.Contains(t, faults[0].Message, " is no value of the tag !!", text)
		assert.Equal(t, 2, faults[0].Line)
	}
	for text, want := range map[string]string{
		"!!int 5": "5", `!!int "5"`: "5", "!!float 5": "5", "!!float 1e3": "1000", "!!bool true": "true", "!!null ~": "null", "!!null ''": "null",
		"!!str 5": `"5"`, "!!str true": `"true"`, "<<": `"<<"`, "[x, <<]": `["x","<<"]`,
	} {
		n, faults := Read("f", []byte("a: "+text+"\n"), itemOptions())
		require.Empty(t, faults, text)
		encoded, err := json.Marshal(n.Field("a").Value.Plain())
		require.NoError(t, err, text)
		assert.Equal(t, want, strings.ReplaceAll(string(encoded), `\u003c`, "<"), text)
	}
}

// The decoder counts some lines from 0, and has none for others.
func TestFaultsOfTheSyntaxHaveTheirLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: 1\nb: 2\nc: [1,,2]\n":         "3: not valid YAML: did not find expected node content",
		"\n\n\na: 1\nb: [1,,2]\n":         "5: not valid YAML: did not find expected node content",
		"a: 'x\nb: y\n":                   "1: not valid YAML: found unexpected end of stream",
		"a: 1\nb: [\n":                    "2: not valid YAML: did not find expected node content",
		"c: [1,,2]\n":                     "1: not valid YAML: did not find expected node content",
		"a: 1\nb: [1, 2\nc: 3\nd: 4\n":    "2: not valid YAML: did not find expected ',' or ']'",
		"b: [1, 2\nc: 3\nd: 4\n":          "1: not valid YAML: did not find expected ',' or ']'",
		"a: 1\nb: {c: 1\nd: 4\n":          "2: not valid YAML: did not find expected ',' or '}'",
		"a: 1\nb: !e!y 1\n":               "2: not valid YAML: found undefined tag handle",
		"a: 1\nb: 'x\nc: y\n":             "2: not valid YAML: found unexpected end of stream",
		"a: 1\nb: c: d\n":                 "2: not valid YAML: mapping values are not allowed in this context",
		"a: &x 1\nb: 2\nc:\n  - *y\nd: 1": "4: not valid YAML: unknown anchor 'y' referenced",
		"a: 1\nb: x\x1b[0m\nc: 1\n":       "2: not valid YAML: control characters are not allowed",
		"a: 1\n---\nb: *x\n":              "3: not valid YAML: unknown anchor 'x' referenced",
	} {
		_, faults := Read("f", []byte(text), itemOptions())
		require.NotEmpty(t, faults, text)
		last := faults[len(faults)-1]
		assert.Equal(t, want, fmt.Sprintf("%d: %s", last.Line, last.Message), text)
	}
	for _, excluded := range "\x00\x1b\x7f\u0080\u009f\uffff" {
		_, faults := Read("f", []byte("a: 1\nö: x\ty\u0085\ufeff😀"+string(excluded)), itemOptions())
		require.NotEmpty(t, faults, "%U", excluded)
		assert.Equal(t, "2:10", fmt.Sprintf("%d:%d", faults[0].Line, faults[0].Column), "%U", excluded)
	}
}

// The first line of a document may have the version of the standard.
func TestTheVersionOfTheStandard(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"%YAML 1.2\n---\n", "%YAML 1.1\n---\n", "\ufeff# c\r\n\r\n%YAML  1.2 # c\r\n---\r\n", "%YAML 1.2\n%TAG !e! tag:example.org,2026:\n---\n"} {
		text := head + "tasks:\n- id: a\n- id: a\n  id: b\n"
		n, faults := Read("f", []byte(text), itemOptions())
		require.Len(t, faults, 1, head)
		assert.Equal(t, strings.Count(head, "\n")+4, faults[0].Line, head)
		require.Len(t, n.Field("tasks").Value.Items, 2, head)
		assert.True(t, apart(t, head+"tasks:\n- id: a\n- id: b\n", 1), head)
	}
	for _, text := range []string{"%YAML 2.0\n---\na: 1\n", "a: 1\n%YAML 1.2\n---\nb: 1\n"} {
		_, faults := Read("f", []byte(text), itemOptions())
		assert.NotEmpty(t, faults, text)
	}
}

// Editors write line ends of Windows, a byte order mark, or no last line end. The values and their lines are the same.
func TestFormsOfEditors(t *testing.T) {
	t.Parallel()
	text := "# c\na: 'x\n\n  y'\nb: |\n  one\n  two\n\nc: >-\n  one\n  two\nd: \"p\\\n  q\"\ne: &e {f: [1,\n 2]}\ng: *e\ntasks:\n- id: a\n  text: |+\n    x\n\n\n- id: b"
	want, faults := Read("f", []byte(text), itemOptions())
	require.Empty(t, faults)
	for name, other := range map[string]string{
		"Windows": strings.ReplaceAll(text, "\n", "\r\n"), "mark": "\ufeff" + text, "last line": text + "\n", "Mac": strings.ReplaceAll(text, "\n", "\r"),
		"Notepad": "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n") + "\r\n",
	} {
		got, faults := Read("f", []byte(other), itemOptions())
		require.Empty(t, faults, name)
		assert.Equal(t, form(want), form(got), name)
		for k := range want.Fields {
			assert.Equal(t, want.Fields[k].At.Line, got.Fields[k].At.Line, name)
		}
	}
}

// Columns count characters in both formats.
func TestColumnsAreCharacters(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{\"ä\": \"日本\",\n \"ö\": [\"ß\", 1e999], \"a\": {}, \"a\": 2}", "ä: '日本'\n\"öx\": ['ß', .inf,   ]\n",
	} {
		_, faults := Read("f", []byte(text), itemOptions())
		require.NotEmpty(t, faults, text)
		assert.Equal(t, "2:13", fmt.Sprintf("%d:%d", faults[0].Line, faults[0].Column), text)
	}
}

// The decoder of JSON leaves out the text between values when it counts.
func TestFaultsOfJSONHaveTheirPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"ä": 1, "ö": tru}`:                                  "1:18: invalid character '}' in literal true (expecting 'e')",
		"{\n  \"a\": {\n    \"b\": 1,\n    \"c\": 01\n  }\n}": "4:11: invalid character '1' after object key:value pair",
		"{\n  \"a\": [\n    {},\n    \"x\n  ]\n}":             "4:7: invalid character '\\n' in string literal",
		"[\n  1,\n  2,\n]":                                    "4:1: invalid character ']' looking for beginning of value",
		"{\n  \"a\": 1\n  \"b\": 2\n}":                        "3:3: invalid character '\"' after object key:value pair",
		"{\n  // a comment\n  \"a\": 1\n}":                    "2:3: invalid character '/'",
		"{\n  a: 1\n}":                                        "2:3: invalid character 'a'",
	} {
		options := itemOptions()
		options.Lists = true
		_, faults := Read("f", []byte(text), options)
		require.NotEmpty(t, faults, text)
		said := fmt.Sprintf("%d:%d: %s", faults[0].Line, faults[0].Column, strings.TrimPrefix(faults[0].Message, "not valid JSON: "))
		assert.True(t, strings.HasPrefix(said, want), "%s: %s", text, said)
	}
}
