package cli

import (
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/dag"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// example is a file of examples/dag.
func example(t *testing.T, name string) string {
	t.Helper()
	root, err := testsuite.ModuleRoot()
	require.NoError(t, err)
	return filepath.Join(root, "examples", "dag", name)
}

// writeSpec puts a spec into a file of its own.
func (h *harness) writeSpec(text string) string {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), "spec.yaml")
	require.NoError(h.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const faultySpec = `version: 1
name: broken
tasks:
  - id: a
    needs: [b]
    noop: true
  - id: b
    needs: [a, ghost]
    noop: true
  - id: b
    comand: ["true"]
`

func TestDAGValidate(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.run("validate", example(t, "nine.yaml"), example(t, "rolling.yaml"), example(t, "rebalance.yaml")).OK().
		Says("DAG nine is valid: 9 tasks, 11 dependencies, 3 tasks deep", "DAG rolling-maintenance is valid: 19 tasks", "DAG rebalance is valid")

	path := h.writeSpec(faultySpec)
	o := h.run("validate", path).Exits(ui.ExitUsage)
	assert.Empty(t, o.Stdout)
	o.Complains(path+":11:5: ", "comand", "fault")
	for line := range strings.SplitSeq(strings.TrimSpace(o.Stderr), "\n") {
		assert.True(t, strings.HasPrefix(line, path+":"), "an editor can follow every line: %s", line)
	}
	fixed := h.writeSpec(strings.Replace(faultySpec, `id: b
    comand`, `id: c
    command`, 1))
	h.run("validate", fixed).Exits(ui.ExitUsage).Complains(fixed+":8:", "ghost")

	reports := clitest.Decode[struct {
		Valid bool             `json:"valid"`
		Files []dag.SpecReport `json:"files"`
	}](h.run("show", "-o", "json", example(t, "nine.yaml"), path).Exits(ui.ExitUsage))
	assert.False(t, reports.Valid)
	require.Len(t, reports.Files, 2)
	assert.Equal(t, dag.SpecReport{File: example(t, "nine.yaml"), Valid: true, DAG: "nine", Tasks: 9, Edges: 11, Depth: 3, Bytes: reports.Files[0].Bytes, Faults: nil}, withoutEmpty(reports.Files[0]))
	assert.False(t, reports.Files[1].Valid)
	assert.Equal(t, 11, reports.Files[1].Faults[len(reports.Files[1].Faults)-1].Line)
}

func withoutEmpty(report dag.SpecReport) dag.SpecReport {
	if len(report.Faults) == 0 {
		report.Faults = nil
	}
	if len(report.Warnings) == 0 {
		report.Warnings = nil
	}
	return report
}

func TestDAGValidateOfFilesThatAreNone(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.run("validate", "/nonexistent.yaml").Exits(ui.ExitUsage).Complains("/nonexistent.yaml", "no such file")
	h.run("validate", h.writeSpec("")).Exits(ui.ExitUsage).Complains("spec.yaml")
	h.env.Stdin = strings.NewReader(`{"version": 1, "name": "piped", "tasks": [{"id": "a", "noop": true}]}`)
	h.run("validate", "-").OK().Says("DAG piped is valid: 1 task, 0 dependencies, 1 task deep")
	h.env.Stdin = strings.NewReader(strings.Repeat("\x00garbage", 1<<17))
	h.run("validate", "-").Exits(ui.ExitUsage).Complains("stdin:1:1: not valid YAML")
}

func TestSubDAGsStayInTheirTree(t *testing.T) {
	t.Parallel()
	h := offline(t)
	outside := h.writeSpec("version: 1\nname: outside\ntasks: [{id: a, noop: true}]\n")
	dir := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link.yaml")))
	path := filepath.Join(dir, "top.yaml")
	require.NoError(t, os.WriteFile(path, []byte("version: 1\nname: top\ntasks: [{id: a, dag: link.yaml}]\n"), 0o600))
	h.run("validate", path).Exits(ui.ExitUsage).Complains(path+":3:", "link.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub.yaml"), []byte("version: 1\nname: sub\ntasks: [{id: a, nop: true}]\n"), 0o600))
	require.NoError(t, os.WriteFile(path, []byte("version: 1\nname: top\ntasks: [{id: a, dag: sub.yaml}]\n"), 0o600))
	h.run("validate", path).Exits(ui.ExitUsage).Complains(filepath.Join(dir, "sub.yaml")+":3:", `"noop"`)
}

func TestDAGThatCannotTravelIsRefusedWithItsSize(t *testing.T) {
	t.Parallel()
	h := offline(t)
	var text strings.Builder
	text.WriteString("version: 1\nname: huge\ntasks:\n")
	// Random text does not compress.
	noise := rand.NewChaCha8([32]byte{})
	for i := range 6500 {
		var word [256]byte
		_, _ = noise.Read(word[:])
		fmt.Fprintf(&text, "  - {id: t%d, command: [a, \"%x\"]}\n", i, word)
	}
	path := h.writeSpec(text.String())
	h.run("validate", path).Exits(ui.ExitUsage).Complains("6500 tasks", "bytes compressed, the limit is 1572864", "for_each")
	h.run("start", "--dev", path).Exits(ui.ExitUsage).Complains("bytes compressed")
}

func TestDAGParams(t *testing.T) {
	t.Parallel()
	h := offline(t)
	spec := h.writeSpec("version: 1\nname: p\nparams: {text: a, n: 3, list: [1], any: null}\ntasks: [{id: a, when: '{{eq .Params.n 3}}', command: [echo, \"{{.Params.text}}\", \"{{.Params.list}}\"]}]\n")
	size := func(args ...string) int {
		reports := clitest.Decode[struct {
			Files []dag.SpecReport `json:"files"`
		}](h.run(append([]string{"start", spec, "--dry-run", "-o", "json"}, args...)...).OK())
		return reports.Files[0].Bytes
	}
	assert.NotEqual(t, size(), size("--param", "text=b,c=d and more", "--param", "n=4", "--param", "list=[1,2]"))
	h.run("start", spec, "--dry-run", "--param", "any=a text").OK()
	for arg, says := range map[string]string{
		"txet=b":     `did you mean "text"`,
		"nothing=1":  "known here: any, list, n, text",
		"n=three":    "is not a number, which the spec declares",
		"n=1 2":      "is not a number, which the spec declares",
		`n="3"`:      "it is text, but the spec declares a number",
		"text":       "write KEY=VALUE",
		"=x":         "write KEY=VALUE",
		`list="[1"]`: "is not a list, which the spec declares",
	} {
		h.run("start", spec, "--dry-run", "--param", arg).Exits(ui.ExitUsage).Complains(says)
	}
}

func TestADryRunPrintsTheCommandLinesOfADAG(t *testing.T) {
	t.Parallel()
	h := offline(t)
	path := h.writeSpec(`version: 1
name: x
params: {host: web-1, hosts: [a, b]}
tasks:
  - {id: plan, command: [echo, "{{.Params.host}}"]}
  - {id: move, needs: plan, for_each: "{{.Params.hosts}}", node: "{{.Item}}", user: backup, command: [sh, -c, "it's {{.Item}} {{.Needs.plan.Result.disk.name}}"]}
  - {id: late, needs: plan, for_each: "{{.Needs.plan.Result.nodes}}", command: [echo, "{{.Item}}"]}
  - {id: sum, needs: move, command: [echo, "{{range .Needs.move}}{{.Result.bytes}} {{end}}"]}
  - {id: never, when: "{{eq .Params.host \"other\"}}", command: ["true"]}
  - {id: gate, needs: sum, approval: {prompt: "go {{.Params.host}}?"}}
`)
	o := h.run("start", path, "--dry-run", "--param", "host=web-9").OK()
	for _, line := range []string{
		`plan +echo web-9`, `move\.a +a +backup +sh -c 'it'\\''s a <plan\.disk\.name>'`, `move\.b +b +backup +sh -c 'it'\\''s b <plan\.disk\.name>'`,
		`late +fan_out`, `sum +echo '<move\.a\.bytes> <move\.b\.bytes> '`, `never +command skipped unless`, `gate +approval go web-9\?`,
	} {
		assert.Regexp(t, line, o.Stdout)
	}
	report := clitest.Decode[struct{ Files []dag.SpecReport }](h.run("start", path, "--dry-run", "-o", "json", "--config", "other.yaml").OK())
	require.Len(t, report.Files[0].Commands, 7)
	assert.Equal(t, []string{"echo", "web-1"}, report.Files[0].Commands[0].Command)
	for _, flag := range []string{"--address=127.0.0.1:1", "--namespace=prod", "--as=x", "--ignore-window", "--backfill=1h.."} {
		name, _, _ := strings.Cut(flag, "=")
		h.run("start", path, "--dry-run", flag).Exits(ui.ExitUsage).Complains(name + " has no effect")
	}
	assert.NotContains(t, h.run("validate", path).OK().Stdout, "COMMAND")
}

func TestDAGPictures(t *testing.T) {
	t.Parallel()
	h := offline(t)
	nine := example(t, "nine.yaml")
	decoder := xml.NewDecoder(strings.NewReader(h.run("show", nine, "-o", "svg").OK().Stdout))
	var err error
	for err == nil {
		_, err = decoder.Token()
	}
	require.ErrorIs(t, err, io.EOF)
	h.run("show", nine, "-o", "mermaid").OK().Says("flowchart LR", "n0 --> n3")
	h.run("show", nine, "-o", "dot").OK().Says(`digraph "nine"`)
	h.run("show", nine, "-o", "gantt").Exits(ui.ExitUsage).Complains("has no times")
	h.run("show", nine, nine, "-o", "svg").Exits(ui.ExitUsage).Complains("a picture has one DAG")
	o := h.run("show", h.writeSpec(layeredSpec(10_000)), "-o", "svg").Exits(ui.ExitFailed).Complains("10000 boxes")
	assert.Empty(t, o.Stdout)
}

// layeredSpec has n tasks in ten layers, two dependencies each.
func layeredSpec(n int) string {
	var text strings.Builder
	text.WriteString("version: 1\nname: layers\ntasks:\n")
	width := n / 10
	for i := range n {
		if layer := i / width; layer == 0 {
			fmt.Fprintf(&text, "  - {id: t%d, noop: true}\n", i)
		} else {
			before := (layer - 1) * width
			fmt.Fprintf(&text, "  - {id: t%d, noop: true, needs: [t%d, t%d]}\n", i, before+i*7%width, before+(i*13+1)%width)
		}
	}
	return text.String()
}

func TestDAGWrongUsageExitsWithThree(t *testing.T) {
	t.Parallel()
	h := offline(t)
	nine := example(t, "nine.yaml")
	tests := []struct {
		args []string
		says string
	}{
		{[]string{"start"}, "NAME|FILE is missing"},
		{[]string{"start", nine, nine}, "unexpected argument"},
		{[]string{"start", nine, "--dev", "--address", "127.0.0.1:1"}, "--address does not go with --dev"},
		{[]string{"start", nine, "--workers", "a"}, "--workers is for --dev"},
		{[]string{"start", nine, "--dev", "--workers", "Node A"}, "--workers:"},
		{[]string{"start", nine, "--deadline", "soon"}, "--deadline soon"},
		{[]string{"start", "--output", "xml", nine}, "must be table, json or yaml"},
		{[]string{"start", "--dev", "/nonexistent.yaml"}, "/nonexistent.yaml"},
		{[]string{"start", nine, "--as", "Bad Name"}, `--as: run name "Bad Name"`},
		{[]string{"show", nine, "-o", "png"}, "must be table, wide, json, yaml, name, svg, dot, mermaid or gantt"},
		{[]string{"skip"}, "REF... is missing: see roundsman skip --help"},
		{[]string{"approve"}, "RUN/TASK... is missing: see roundsman approve --help"},
		{[]string{"retry", "x", "--as", "a/b"}, `--as: run name "a/b"`},
	}
	for _, tt := range tests {
		o := h.run(tt.args...).Exits(ui.ExitUsage).Complains("roundsman: ", tt.says)
		assert.Empty(t, o.Stdout, "%v", tt.args)
	}
}

func TestDAGWithoutAServer(t *testing.T) {
	t.Parallel()
	h := offline(t)
	for _, args := range [][]string{
		{"start", example(t, "nine.yaml")},
		{"show", "nine"},
		{"retry", "nine"},
		{"show", "nine@", "-o", "svg"},
	} {
		h.run(args...).Exits(ui.ExitFailed).Complains("no Temporal server answers at 127.0.0.1:1", "roundsman dev")
	}
}
