package yamlread

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func itemOptions() Options {
	return Options{Bytes: 1 << 20, JSON: true, TooLarge: "too large", Empty: "write something"}
}

// apart reads a document both ways and compares the items. It reports whether ReadItems succeeded, which
// requires a tree without faults.
func apart(t *testing.T, text string, size int) bool {
	t.Helper()
	var items []*Node
	root := readItems("f", []byte(text), itemOptions(), "tasks", size, func(n *Node) bool {
		items = append(items, n)
		return true
	})
	if root == nil {
		return false
	}
	if len(items) > 0 {
		root.Field("tasks").Value.Items = items
	}
	whole, faults := Read("f", []byte(text), itemOptions())
	require.Empty(t, faults, "%q", text)
	require.Equal(t, form(whole), form(root), "%q", text)
	return true
}

// form returns all of a node except its position.
func form(n *Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q %t", n.Kind, n.Literal, n.Block)
	for _, item := range n.Items {
		fmt.Fprintf(&b, " [%s]", form(item))
	}
	for _, f := range n.Fields {
		fmt.Fprintf(&b, " {%q %s}", f.Key, form(f.Value))
	}
	return b.String()
}

// For any sequence of lines, the items of ReadItems are those of the whole document. A document with a fault
// gives none.
func TestItemsApart(t *testing.T) {
	t.Parallel()
	lines := []string{
		"tasks:", "tasks: ", "tasks: # none", "tasks: []", "version: 1", "more: {a: 1}", "--- ", "---", "...", "%YAML 1.1", "", "  ", "# c", "  # c",
		"- id: a", "- id: b", "-", "- ", "-\t", "- - x", "- [x, y]", "- {id: c}", "- {id: d,", "- id: e}", "- [f,", "- g]", "- h", "- 'i", "- j'", `- "k`, `- l"`, `- "m\`,
		"- |", "- |+", "- >-", "- |1", "- !!str 5", "- !x 5", "- &a n", "- *a", "- &a {id: o}", "- <<: *a", "- ? p", "- ? [q]", "- r: s: t", "- @x", "-u", "- `v`", "- {a: 1, a: 2}",
		"id: a", "needs: [x, y]", "needs:", "text: |", "text: >", "text: plain", "and more", "quoted: 'it", "it's end'", `"double`, `end"`, "? key", ": value", "*a : x", "&a key: x",
		"x: \u2028y: 1", "- z\u0085- aa", "- bb\r- cc", "- dd\r", "\ufeff- ee", placeholder,
	}
	all, read := 0, 0
	document := func(random *rand.Rand) {
		var b strings.Builder
		if random.IntN(4) > 0 {
			b.WriteString("version: 1\ntasks:\n")
		}
		base := random.IntN(3)
		for range 1 + random.IntN(7) {
			line := lines[random.IntN(len(lines))]
			indent := base
			if !strings.HasPrefix(line, "-") {
				indent = base + 2*random.IntN(3)
			}
			if random.IntN(8) == 0 {
				indent = random.IntN(5)
			}
			b.WriteString(strings.Repeat(" ", indent) + line + "\n")
		}
		if random.IntN(3) == 0 {
			b.WriteString("end: 1\n")
		}
		all++
		if apart(t, b.String(), 1+random.IntN(20)) {
			read++
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		for range 600 {
			document(random)
		}
	})
	t.Logf("%d documents, %d read apart", all, read)
	assert.Greater(t, read, all/60, "enough of the documents are read so")
}

// JSON has no lines.
func TestItemsApartOfJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"version": 1, "tasks": [{"id": "a", "tasks": [1]}, 2, null, [3]], "params": {"tasks": [4]}}`: true,
		`{"tasks": []}`:              true,
		`{"tasks": [1, 1e999]}`:      false,
		`{"tasks": [1], "tasks": 2}`: false,
		`{"tasks": [{"a": 1, "a"}]}`: false,
		`{"tasks": [1]} x`:           false,
	} {
		assert.Equal(t, want, apart(t, text, 1), text)
	}
}

// A caller that stops early gets no tree.
func TestItemsApartEnd(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"tasks:\n- 1\n- 2\n", `{"tasks": [1, 2]}`} {
		calls := 0
		assert.Nil(t, ReadItems("f", []byte(text), itemOptions(), "tasks", func(*Node) bool { calls++; return false }))
		assert.Equal(t, 1, calls)
	}
}

// FuzzItemsApart is TestItemsApart for any bytes.
func FuzzItemsApart(f *testing.F) {
	for _, seed := range []string{"tasks:\n- id: a\n- id: b\n", "tasks:\n\r-\n -", "a: 1\ntasks:\n  - 'x\n  - y'\nb: 2\n", `{"tasks": [1]}`, "--- {a: 1,\ntasks:\n- b}\n"} {
		f.Add([]byte(seed), 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, size int) { apart(t, string(data), size) })
}
