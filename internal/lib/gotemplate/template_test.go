package gotemplate_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/gotemplate"
)

func fields() []string { return []string{"Params", "Job"} }

func data(t testing.TB, params string) map[string]any {
	t.Helper()
	plain, err := gotemplate.Plain("params", json.RawMessage(params))
	require.NoError(t, err)
	return map[string]any{"Params": plain, "Job": struct{ ID string }{"j1"}}
}

func TestTemplatesRender(t *testing.T) {
	t.Parallel()
	in := data(t, `{"n": 1000000, "big": 123456789012345678901234567890, "f": 1.5, "l": ["a", "b"], "p": "/x/y.gz", "s": "<&>"}`)
	for text, want := range map[string]string{
		"":                           "",
		"plain":                      "plain",
		"{{/* nothing */}}":          "",
		"{{.Params.n}} {{.Job.ID}}":  "1000000 j1",
		"{{.Params.big}}":            "123456789012345678901234567890",
		"{{eq .Params.f 1.5}}":       "true",
		"{{json .Params.l}}":         `["a","b"]`,
		"{{base .Params.p}}":         "y.gz",
		"{{dir .Params.p}}":          "/x",
		"{{printf `%03d|%q` 7 `a`}}": `007|"a"`,
		"{{html .Params.s}}":         "&lt;&amp;&gt;",
		"{{range $i, $v := .Params.l}}{{if $i}},{{end}}{{$v}}{{end}}": "a,b",
		"{{range .Params.l}}{{else}}none{{end}}":                      "",
		"{{with .Params.l}}{{len .}}{{end}}":                          "2",
		"{{print 1 2 `x`}}":                                           "1 2x",
	} {
		parsed, err := gotemplate.New("t", text, fields())
		require.NoError(t, err, text)
		for range 2 { // Each execution has the full bounds.
			got, err := parsed.Execute(in)
			require.NoError(t, err, text)
			assert.Equal(t, want, got, text)
		}
	}
}

func TestTemplatesAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{{.Parms.x}}":                           "there is no .Parms here; a template knows .Params, .Job",
		"{{range .Params.l}}{{$.Jbo.ID}}{{end}}": "there is no .Jbo here",
		"{{if .Params.x}}{{.A}}{{.B}}{{end}}":    "there is no .B here",
		"{{range .A}}{{else}}{{.B}}{{end}}":      "there is no .B here",
		"{{.}}":                                  "the whole of the data cannot be used",
		"{{define `a`}}{{end}}":                  "define and block are not part of the language",
		"{{template `a`}}":                       "calling templates is not part of the language",
		"{{call .Params.f}}":                     "call is not part of the language",
		"{{range 1000000000}}{{end}}":            "range works on lists and maps",
		"one\ntwo\n{{.Params.x":                  "not a valid template: line 3: unclosed action",
		"{{index .Params.x.with-dash}}":          "write a name with a dash as",
	} {
		_, err := gotemplate.New("t", text, fields())
		require.ErrorContains(t, err, want, text)
	}
}

// Every template ends with an error and little memory. Without bounds each of these took gigabytes or
// hours.
func TestTemplatesAreBounded(t *testing.T) {
	in := data(t, `{"l": [1,2,3,4,5,6,7,8,9,0], "n": 1000000000, "text": "`+strings.Repeat("x", 100_000)+`"}`)
	doubling := "{{$x := `x`}}" + strings.Repeat("{{$x = print $x $x}}", 40)
	nested := strings.Repeat("{{range $.Params.l}}", 12) + strings.Repeat("{{end}}", 12)
	for text, want := range map[string]string{
		nested: "steps in all",
		strings.Repeat("{{range $.Params.l}}", 6) + strings.Repeat("{{if 0}}{{end}}", 10_000) + strings.Repeat("{{end}}", 6): "steps in all",
		"{{range .Params.l}}{{range $.Params.l}}{{$.Params.text}}{{end}}{{end}}":                                             "more than 262144 bytes",
		"{{range .Params.n}}{{end}}": "range works on lists",
		doubling:                     "may produce",
		strings.ReplaceAll(doubling, "print", "html"):                              "may produce",
		strings.ReplaceAll(doubling, "print", "printf `%s%s`"):                     "may produce",
		"{{printf `" + strings.Repeat("%900000d", 1000) + "` 1}}":                  "may produce",
		"{{printf `" + strings.Repeat("%[1]s", 1000) + "` .Params.text}}":          "neither * nor [",
		"{{$a := print" + strings.Repeat(" .Params.text", 1000) + "}}":             "may produce",
		"{{range .Params.l}}{{$x := json $.Params}}{{$y := json $.Params}}{{end}}": "may produce",
	} {
		parsed, err := gotemplate.New("t", text, fields())
		require.NoError(t, err, text[:min(len(text), 80)])
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = parsed.Execute(in)
		runtime.ReadMemStats(&after)
		require.ErrorContains(t, err, want, text[:min(len(text), 80)])
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200<<20), text[:min(len(text), 80)])
	}
}

// FuzzExecute: any text is refused, or executed within the bounds.
func FuzzExecute(f *testing.F) {
	for _, seed := range []string{"{{.Params.n}}", "{{range .Params.l}}{{.}}{{end}}", "{{printf `%9d` 1}}", "{{with $x := .Params}}{{$x}}{{end}}", "{{slice .Params.s 1}}"} {
		f.Add(seed)
	}
	in := data(f, `{"l": [1,2,3], "n": 7, "s": "text"}`)
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := gotemplate.New("t", text, fields())
		if err != nil {
			return
		}
		if out, err := parsed.Execute(in); err == nil {
			assert.LessOrEqual(t, len(out), gotemplate.MaxOutput)
		}
	})
}

// TestLinesOfReferences: the lines before each reference were counted from the beginning, minutes for 4 MB.
func TestLinesOfReferences(t *testing.T) {
	t.Parallel()
	const n = 50_000
	refs, faults := gotemplate.Scan(strings.Repeat("{{.Params.p}}{{index .Params \"k\" .Job.ID}}\n", n), fields())
	require.Empty(t, faults)
	require.Len(t, refs, 3*n)
	for k := 0; k < len(refs); k += 1000 {
		require.Equal(t, k/3, refs[k].Line)
	}
	pieces, err := gotemplate.Pieces(strings.Repeat("a\n{{.Params.p}}\n", n))
	require.NoError(t, err)
	assert.Equal(t, 2*n-1, pieces[len(pieces)-2].Line)
}
