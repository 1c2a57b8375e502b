package spec_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/lib/gotemplate"
)

// chain returns n tasks, each needing the previous one.
func chain(n int) []byte {
	var b bytes.Buffer
	b.WriteString("version: 1\nname: chain\ntasks:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {id: t%06d, noop: true", i)
		if i > 0 {
			fmt.Fprintf(&b, ", needs: [t%06d]", i-1)
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

// faults loads and compiles and expects faults.
func faults(t *testing.T, data []byte) spec.Faults {
	t.Helper()
	s, err := spec.Load("in.yaml", data)
	if err == nil {
		_, err = spec.Compile(s, nil)
	}
	var f spec.Faults
	require.ErrorAs(t, err, &f)
	assert.True(t, spec.IsFault(err))
	assert.LessOrEqual(t, len(f), 201, "a document that is no spec is given up")
	assert.Less(t, len(err.Error()), 64<<10)
	return f
}

// Any bad input gives a clear fault with a position.
func TestBadInput(t *testing.T) {
	t.Parallel()
	random := make([]byte, 1<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	letters := bytes.Map(func(r rune) rune { return 'a' + r%26 }, random[:1<<18])
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"1 MB of bytes":      {random, "not UTF-8 from here on"},
		"1 MB of letters":    {letters, "must be a mapping"},
		"1 MB of brackets":   {bytes.Repeat([]byte("["), 1<<20), "YAML"},
		"1 MB of braces":     {bytes.Repeat([]byte(`{"a":`), 1<<18), "nested more than 64 levels"},
		"1 MB of keys":       {bytes.Repeat([]byte("a: b\n"), 1<<18), "written twice, first at line 1"},
		"too large":          {make([]byte, spec.MaxFileSize+1), "the file has more than"},
		"spaces":             {bytes.Repeat([]byte(" \n"), 1000), "the file is empty"},
		"control characters": {[]byte("version: 1\nname: \x01"), "control characters"},
		"many faults":        {[]byte("version: 1\nname: x\ntasks:\n" + strings.Repeat("  - {id: a, x: 1}\n", 5000)), "more faults are not shown"},
		"too many instances": {[]byte("version: 1\nname: x\ntasks: [{id: a, noop: true, matrix: {" + axes(6) + "}}]"), "fans out into more than"},
		"too many edges":     {[]byte("version: 1\nname: x\ntasks: [{id: a, noop: true, matrix: {" + axes(4) + "}}, {id: b, noop: true, needs: a, matrix: {" + axes(4) + "}}]"), "dependencies"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Contains(t, faults(t, c.data).Error(), c.want)
		})
	}
}

func axes(n int) string {
	var parts []string
	for k := range n {
		parts = append(parts, fmt.Sprintf("k%d: [0,1,2,3,4,5,6,7,8,9]", k))
	}
	return strings.Join(parts, ", ")
}

// TestFaultsNameTheirLine checks the place of a fault deep in a long document.
func TestFaultsNameTheirLine(t *testing.T) {
	t.Parallel()
	data := bytes.Replace(chain(2_000), []byte("needs: [t001776]"), []byte("needs: [t01776x]"), 1)
	f := faults(t, data)
	require.Len(t, f, 1)
	assert.Equal(t, 1777+4, f[0].Line)
	assert.Contains(t, f[0].Message, `"t01776x"`)

	closed := bytes.Replace(chain(2_000), []byte("{id: t000000, noop: true"), []byte("{id: t000000, noop: true, needs: t001999"), 1)
	f = faults(t, closed)
	require.Len(t, f, 1)
	assert.Contains(t, f[0].Message, "circle")
	assert.Equal(t, 4, f[0].Line)
}

// TestFaultsCostNoMoreThanTheirDocument: twice the document is twice the work, counted in
// allocations.
func TestFaultsCostNoMoreThanTheirDocument(t *testing.T) {
	for name, document := range map[string]func(n int) []byte{
		"keys": func(n int) []byte { return bytes.Repeat([]byte("a: b\n"), n) },
		"faults": func(n int) []byte {
			return []byte("version: 1\nname: x\ntasks:\n" + strings.Repeat("  - {id: a, x: 1}\n", n))
		},
		"unknown": func(n int) []byte {
			return bytes.Replace(chain(n), fmt.Appendf(nil, "needs: [t%06d]", n-2), []byte("needs: [nobody]"), 1)
		},
		"circle": func(n int) []byte {
			return bytes.Replace(chain(n), []byte("{id: t000000, noop: true"), fmt.Appendf(nil, "{id: t000000, noop: true, needs: t%06d", n-1), 1)
		},
		"instances": func(n int) []byte {
			return fmt.Appendf(nil, "version: 1\nname: x\ntasks: [{id: a, noop: true, matrix: {%s}}]", axes(6+n/4000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			small, large := document(2_000), document(4_000)
			few := testing.AllocsPerRun(1, func() { _ = faults(t, small) })
			many := testing.AllocsPerRun(1, func() { _ = faults(t, large) })
			t.Logf("%.0f allocations, then %.0f", few, many)
			assert.Less(t, many, 2.5*few)
		})
	}
}

// TestLongChain: 100,000 tasks deep is no fault, in YAML and in JSON.
func TestLongChain(t *testing.T) {
	t.Parallel()
	s, err := spec.Load("chain.yaml", chain(100_000))
	require.NoError(t, err)
	c, err := spec.Compile(s, nil)
	require.NoError(t, err)
	assert.Equal(t, 100_000, c.Graph.Len())
	assert.Less(t, len(c.Graph.Encode()), 1_000_000)

	type task struct {
		ID    string   `json:"id"`
		Noop  bool     `json:"noop"`
		Needs []string `json:"needs,omitempty"`
	}
	var tasks []task
	for i := range 100_000 {
		x := task{ID: fmt.Sprintf("t%06d", i), Noop: true}
		if i > 0 {
			x.Needs = []string{tasks[i-1].ID}
		}
		tasks = append(tasks, x)
	}
	data, err := json.MarshalIndent(map[string]any{"version": 1, "name": "chain", "tasks": tasks}, "", "\t")
	require.NoError(t, err)
	s, err = spec.Load("chain.json", data)
	require.NoError(t, err)
	same, err := spec.Compile(s, nil)
	require.NoError(t, err)
	assert.Equal(t, c.Graph.Hash(), same.Graph.Hash(), "YAML and JSON say the same")
}

// roundTrip is R8.1.
func roundTrip(t require.TestingT, data []byte, files spec.Files) {
	s, err := spec.Load("in.yaml", data)
	if err != nil {
		require.True(t, spec.IsFault(err))
		return
	}
	c, err := spec.Compile(s, files)
	if err != nil {
		require.True(t, spec.IsFault(err))
	}
	text, err := spec.Marshal(s)
	require.NoError(t, err)
	again, err := spec.Load("in.yaml", text)
	require.NoError(t, err, "%s", text)
	second, err := spec.Marshal(again)
	require.NoError(t, err)
	require.Equal(t, string(text), string(second))
	if c != nil {
		same, err := spec.Compile(again, files)
		require.NoError(t, err)
		require.Equal(t, c.Graph.Encode(), same.Graph.Encode(), "%s", text)
	}
}

const everything = `
version: 1
name: all
concurrency: 7
deadline: 1d
on_failure: stop
hold_on_failure: 5m
params: {a: 1.50, b: [true, null, "x: y\nz "], c: {d: 0x10, "e f": "", "": "!"}}
tasks:
  - {id: A_1, command: [p, "", "-", " x ", "{{.Params.a}}", "null", "#", "a\tb\u2028c"], timeout: 1h, heartbeat_timeout: 90s}
  - id: b-2
    needs: [A_1]
    when: |
      {{eq .Needs.A_1.State "completed"}}
    trigger_rule: always
    priority: -3
    retries: {limit: 3, backoff: 1ms, max_backoff: 1m}
    labels: {zone: "1", "x y": "{{.Matrix.os}}"}
    resources: {db: 2}
    exclusive: ["volume/{{.Matrix.n}}"]
    shared: [rack/1]
    not_before: 2026-12-01T22:00:00Z
    expires_at: 2026-12-02T04:00:00Z
    on_worker_loss: hold
    params: {k: ["{{.Matrix.n}}"], t: "yes", n: 1e400x, big: 123456789012345678901234567890}
    matrix: {os: [linux, "a b"], n: [1, 2.5, null]}
    job_type: scrub
  - {id: c, for_each: [{x: 1}, [2], "3", 3, true], sleep: 1m30s, needs: b-2}
  - {id: d, approval: {prompt: "", timeout: 1h}}
  - {id: e, dag: sub.yaml, node: n1, needs: [c, d]}
`

func TestMarshalRoundTrip(t *testing.T) {
	t.Parallel()
	files := memory{"sub.yaml": "version: 1\nname: sub\ntasks: [{id: a, noop: true}]"}
	s, err := spec.Load("in.yaml", []byte(everything))
	require.NoError(t, err)
	_, err = spec.Compile(s, files)
	require.NoError(t, err)
	roundTrip(t, []byte(everything), files)
}

// FuzzLoad checks that any document gives faults or a spec that survives its canonical form, without a
// panic.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(`{"version": 1, "name": "x", "tasks": [{"id": "a", "noop": true, "when": "{{eq 1 2}}"}]}`))
	f.Add([]byte("version: 1\nname: x\nparams: &a {x: [1]}\ntasks: [{id: a, noop: true, params: *a}]"))
	f.Fuzz(func(t *testing.T, data []byte) { roundTrip(t, data, nil) })
}

// FuzzTemplate checks that a template gives a fault, an error or text, in bounded time and space.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		`{{.Params.n}}`, `{{range .Params.l}}{{range $.Params.l}}{{.}}{{end}}{{end}}`, `{{printf "%1000000d" 1}}`,
		`{{index .Params "l" 0}}`, `{{with $x := .Params.l}}{{len $x}}{{end}}`, `{{if and .Params.n (not .Params.s)}}a{{else}}b{{end}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := json.Marshal(map[string]any{"version": 1, "name": "x", "tasks": []any{map[string]any{
			"id": "a", "command": []string{"x", text}, "params": map[string]any{"n": 3, "l": []int{1, 2, 3, 4}, "s": "t"},
		}}})
		require.NoError(t, err)
		s, err := spec.Load("in.json", doc)
		if err != nil {
			return
		}
		c, err := spec.Compile(s, nil)
		if err != nil {
			require.True(t, spec.IsFault(err))
			return
		}
		p, err := spec.Open(dag.NewRun(c.Graph, c.Header.Options()))
		require.NoError(t, err)
		if r, err := p.Render(0, func(dag.Index) []byte { return nil }); err == nil {
			require.LessOrEqual(t, len(r.Command[1]), max(gotemplate.MaxOutput, len(text)))
		}
	})
}

// TestTemplatesAreBounded checks that loops and output are limited.
func TestTemplatesAreBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		strings.Repeat("{{range $.Params.l}}", 12) + strings.Repeat("{{end}}", 12): "steps in all",
		`{{$n := 1000000000}}{{range $n}}{{end}}`:                                  "range works on lists",
		`{{range .Params.n}}{{end}}`:                                               "range works on lists",
		`{{printf "%900000d" 1}}`:                                                  "more than",
		`{{range .Params.l}}{{printf "%200000d" 1}}{{end}}`:                        "more than",
	} {
		s, err := spec.Load("in.yaml", []byte("version: 1\nname: x\ntasks:\n  - id: a\n    params: {n: 1000000000, l: [1,2,3,4,5,6,7,8]}\n    command:\n      - x\n      - >-\n        "+text))
		require.NoError(t, err)
		c, err := spec.Compile(s, nil)
		require.NoError(t, err, text)
		p, err := spec.Open(dag.NewRun(c.Graph, dag.Options{}))
		require.NoError(t, err)
		_, err = p.Render(0, func(dag.Index) []byte { return nil })
		require.ErrorContains(t, err, want, text)
	}
}

// TestReferrers checks the users of a result, by entry and by instance.
func TestReferrers(t *testing.T) {
	t.Parallel()
	s, err := spec.Load("in.yaml", []byte(`
version: 1
name: x
tasks:
  - {id: a, noop: true}
  - {id: b, noop: true, for_each: [1, 2]}
  - {id: c, needs: [a, b], command: [x, "{{range .Needs.b}}{{.State}}{{end}}"]}
  - {id: d, needs: [a, c], command: [x, "{{(index .Needs \"a\").Result.k}}"]}
`))
	require.NoError(t, err)
	c, err := spec.Compile(s, nil)
	require.NoError(t, err)
	run := dag.NewRun(c.Graph, dag.Options{})
	p, err := spec.Open(run)
	require.NoError(t, err)
	names := func(list []dag.Index, err error) string {
		require.NoError(t, err)
		var ids []string
		for _, i := range list {
			ids = append(ids, run.ID(i))
		}
		return strings.Join(ids, " ")
	}
	at := func(id string) dag.Index {
		i, ok := run.Lookup(id)
		require.True(t, ok)
		return i
	}
	assert.Equal(t, "d", names(p.Referrers(at("a"))))
	assert.Equal(t, "c", names(p.Referrers(at("b.1"))))
	assert.Empty(t, names(p.Referrers(at("c"))))
	assert.Equal(t, "b.1 b.2", names(p.Referred(at("c"))))
}

// BenchmarkLoad measures the wait before 100,000 tasks start.
func BenchmarkLoad(b *testing.B) {
	data := chain(100_000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s, err := spec.Load("in.yaml", data)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := spec.Compile(s, nil); err != nil {
			b.Fatal(err)
		}
	}
}
