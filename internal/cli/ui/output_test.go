package ui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestYAMLIsTheJSON: the same fields in the same order, and strings stay strings.
func TestYAMLIsTheJSON(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &Program{Env: Env{Stdout: &out}}
	require.NoError(t, c.answer(OutputYAML, struct {
		Zone  string         `json:"zone"`
		At    string         `json:"at"`
		Text  string         `json:"text"`
		Big   int64          `json:"big"`
		Ratio float64        `json:"ratio"`
		None  *int           `json:"none"`
		List  []any          `json:"list"`
		Empty []string       `json:"empty"`
		Map   map[string]any `json:"map"`
	}{
		"yes", "2026-11-20T09:00:00Z", "one\ntwo\n", 9007199254740993, 0.5, nil,
		[]any{true, "12", map[string]int{"a": 1}},
		[]string{},
		map[string]any{"1": "x"},
	}, "", "", nil))
	assert.Equal(t, `zone: "yes"
at: "2026-11-20T09:00:00Z"
text: |
  one
  two
big: 9007199254740993
ratio: 0.5
none: null
list:
  - true
  - "12"
  - a: 1
empty: []
map:
  "1": x
`, out.String())
}

// TestTables: on a terminal the last column gives way, in a pipe nothing does.
func TestTables(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 40)
	printed := func(c Program) (string, string) {
		var out, complaints strings.Builder
		c.Env.Stdout, c.Env.Stderr = &out, &complaints
		listed := NewTable("ID", "+MORE", "WHY")
		listed.Add(Text("group/scrub-1"), Text("details"), Text(long))
		c.PrintTable(listed, "nothing")
		c.PrintTable(NewTable("ID"), "nothing")
		return out.String(), complaints.String()
	}
	long = strings.TrimSpace(long)
	piped, _ := printed(Program{})
	assert.Equal(t, "ID             WHY\ngroup/scrub-1  "+long+"\nnothing\n", piped)
	shown, _ := printed(Program{Env: Env{Terminal: true, Width: 30, Environ: []string{"NO_COLOR=1"}}})
	assert.Equal(t, "ID             WHY\ngroup/scrub-1  long long long…\nnothing\n", shown)
	narrow, _ := printed(Program{Env: Env{Terminal: true, Width: 10, Environ: []string{"NO_COLOR=1"}}})
	assert.Contains(t, narrow, "group/scrub-1  long lo…\n", "ids stay whole")
	wide, _ := printed(Program{Wide: true})
	assert.Equal(t, "ID             MORE     WHY\ngroup/scrub-1  details  "+long+"\nnothing\n", wide)
	bare, said := printed(Program{NoHeaders: true})
	assert.Equal(t, "group/scrub-1  "+long+"\n", bare)
	assert.Equal(t, "nothing\n", said)
}

// The cause of an error is its end, so a list cuts the middle.
func TestTablesKeepTheCause(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		0:  "KEY  ERROR\na    sh exited with status 3: line one no space left\n",
		50: "KEY  ERROR\na    sh exited with status 3: …e one no space left\n",
		30: "KEY  ERROR\na    …: line one no space left\n",
	} {
		listed := NewTable("KEY", "ERROR")
		listed.Add(Text("a"), Cause("sh exited with status 3: line one\nno space left"))
		var out strings.Builder
		listed.Write(&out, false, false, width)
		assert.Equal(t, want, out.String())
	}
}
