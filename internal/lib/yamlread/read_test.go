package yamlread_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

func options() yamlread.Options {
	return yamlread.Options{Bytes: 1 << 20, JSON: true, Lists: true, TooLarge: "too large", Empty: "write something"}
}

// YAML and JSON give the same values, without loss.
func TestValues(t *testing.T) {
	t.Parallel()
	want := `{"a":[1,-2,1.5,100000000.5,1e+21,12345678901234567890],"b":{"c":null,"d":true,"e":"007","f":""}}`
	for _, text := range []string{
		"a: [1, -2, 1.50, 100000000.5, 1e21, 12345678901234567890]\nb: {c: ~, d: true, e: '007', f: \"\"}\n",
		`{"a": [1, -2, 1.50, 100000000.5, 1e21, 12345678901234567890], "b": {"c": null, "d": true, "e": "007", "f": ""}}`,
		"\ufeffa:\n- 0x1\n- -2\n- 1.5\n- 1_00000000.5\n- 1e21\n- 12345678901234567890\nb:\n  c:\n  d: true\n  e: \"007\"\n  f: ''\n",
	} {
		n, faults := yamlread.Read("f", []byte(text), options())
		require.Empty(t, faults, text)
		encoded, err := json.Marshal(n.Plain())
		require.NoError(t, err)
		assert.JSONEq(t, want, string(encoded))
		assert.Contains(t, string(encoded), "12345678901234567890", "integers lose nothing")
	}
}

// YAML itself takes integers above 64 bits for floats.
func TestLargeIntegersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a: 123456789012345678901\nb: -123456789012345678901\n", `{"a": 123456789012345678901, "b": -123456789012345678901}`} {
		n, faults := yamlread.Read("f", []byte(text), options())
		require.Empty(t, faults, text)
		encoded, err := json.Marshal(n.Plain())
		require.NoError(t, err)
		assert.Equal(t, `{"a":123456789012345678901,"b":-123456789012345678901}`, string(encoded))
	}
}

// All faults have their positions in both formats.
func TestAllFaultsWithTheirPlaces(t *testing.T) {
	t.Parallel()
	said := func(text string, o yamlread.Options) []string {
		_, faults := yamlread.Read("f", []byte(text), o)
		lines := make([]string, len(faults))
		for i, f := range faults {
			lines[i] = fmt.Sprintf("%d:%d: %s: %s", f.Line, f.Column, f.Path, f.Message)
		}
		return lines
	}
	assert.Equal(t, []string{
		"2:1: a: the key is written twice, first at line 1",
		"3:12: b[1].c: the tag !x is not supported",
		`4:4: d: ".inf": JSON has no such number: quote it to make it text`,
		"5:3: : a key must be plain text",
		"7:1: : merge keys (<<) are not part of the language; write the keys out or alias single values",
		"8:4: e: binary data has no place here; write it as base64 text, without the tag",
		"9:4: g: the tag !y is not supported",
	}, said("a: 1\na: 2\nb: [1, {c: !x 2}]\nd: .inf\n? [x]\n: 1\n<<: {z: 1}\ne: !!binary eA==\ng: !y {}\n", options()))
	assert.Equal(t, []string{
		"2:2: a: the key is written twice, first at line 1",
		"3:8: b[0]: the number is out of range: quote it to make it text",
	}, said("{\"a\": 1,\n \"a\": 2,\n \"b\": [1e999, 1e999]}", options())[:2])
	assert.Equal(t, []string{"1:6: a: not valid JSON: the end is missing"}, said(`{"a":`, options()))
	assert.Equal(t, []string{"1:1: : the file is empty: write something"}, said("# nothing\n", options()))
	merging := options()
	merging.MergeKeys = true
	assert.Equal(t, []string{"2:9: c: << merges keys and values, not text"}, said("a: &a x\nc: {<<: *a}\n", merging))
}

// The work for any expansion is bounded.
func TestBombs(t *testing.T) {
	bomb := "a: &a [0, 1, 2, 3, 4, 5, 6, 7, 8]\n"
	for i := range 12 {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", 'b'+i, 'b'+i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", 'a'+i), 9), ", "))
	}
	for text, want := range map[string]string{
		bomb: "aliases repeat more than 100000 values",
		"a: &a " + strings.Repeat("x", 400_000) + "\nb: [" + strings.Repeat("*a, ", 100_000) + "*a]\n": "4194304 bytes",
		"a: &a {b: *a}\n": `the anchor "a" contains itself`,
		"a: " + strings.Repeat("[", 500) + strings.Repeat("]", 500): "nested more than 64 levels deep",
		strings.Repeat(`{"a":`, 500):                                "nested more than 64 levels deep",
		strings.Repeat("[", 500):                                    "nested more than 64 levels deep",
	} {
		var n *yamlread.Node
		var faults []yamlread.Fault
		allocations := testing.AllocsPerRun(1, func() { n, faults = yamlread.Read("f", []byte(text), options()) })
		assert.Nil(t, n)
		require.NotEmpty(t, faults)
		assert.Contains(t, faults[len(faults)-1].Message, want)
		assert.Less(t, allocations, 2e6, want)
	}
}

func TestNodesAreFound(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("list: [x, {y: null}]\n")
	for i := range 100 {
		fmt.Fprintf(&text, "k%d: %d\n", i, i)
	}
	n, faults := yamlread.Read("f", []byte(text.String()), options())
	require.Empty(t, faults)
	for i := range 100 {
		value, ok := n.Get(fmt.Sprintf("k%d", i)).Int()
		require.True(t, ok)
		assert.Equal(t, int64(i), value)
		assert.Equal(t, i+2, n.Field(fmt.Sprintf("k%d", i)).At.Line)
	}
	assert.Nil(t, n.Get("k100"))
	assert.Nil(t, n.Follow([]string{"list", "1"}).Get("y"), "null is as good as not written")
	assert.NotNil(t, n.Follow([]string{"list", "1"}).Field("y"))
	assert.Equal(t, yamlread.Place{File: "f", Line: 1, Column: 11}, n.Follow([]string{"list", "1", "nowhere"}).Place())
}

// FuzzRead: any bytes give a tree or faults, and a tree without faults is JSON.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"a: 1", "{}", "[1", "<<: *a", "a: &a [*a]", "- - -", "? [a]\n: 1", "a: !!binary x", "\xff\xfe", "a: 0x", "{\"a\":1,\"a\":2}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, faults := yamlread.Read("f", data, options())
		if n == nil {
			require.NotEmpty(t, faults)
			return
		}
		for _, fault := range faults {
			assert.NotEmpty(t, fault.Message)
			assert.Positive(t, fault.Line)
		}
		if len(faults) == 0 {
			_, err := json.Marshal(n.Plain())
			require.NoError(t, err)
		}
	})
}

// The decoder reports the line where the block begins.
func TestAMisplacedLineIsFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"version: 1\njobs:\n  a:\n    handler: x\n   schedule: y\n  b: {}\n":        "5:4",
		"version: 1\njobs:\n  a:\n    handler: x\n    schedule: \"x\" y\n  b: {}\n": "5:5",
		"version: 1\n---\njobs:\n    a: x\n   b: y":                                 "5:4",
		"jobs:\n  - a: x\n    b: y\n   c: z\n" + strings.Repeat("  - d: e\n", 1000): "4:4",
	} {
		_, faults := yamlread.Read("f", []byte(text), options())
		require.NotEmpty(t, faults, text)
		last := faults[len(faults)-1]
		assert.Equal(t, want, fmt.Sprintf("%d:%d", last.Line, last.Column))
		assert.Contains(t, last.Message, ": check the indentation and the quotes of this line")
	}
}
