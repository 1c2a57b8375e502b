package spec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
)

func TestShellOfATask(t *testing.T) {
	t.Parallel()
	compiled, err := spec.CompileText("in.yaml", `version: 1
name: s
params: {db: shop}
defaults: {env: {A: "1"}, user: postgres}
tasks:
  - id: a
    for_each: [x, y]
    shell: |
      docker ps --format '{{"{{"}}.Names}}'
      pg_dump {{.Params.db}} | gzip > "/srv/{{.Item}}.gz"
    env: {B: "{{.Item}}"}
`, nil, []byte(`{"db": "x; rm -rf /"}`))
	require.NoError(t, err)
	run := dag.NewRun(compiled.Graph, compiled.Header.Options())
	program, err := spec.Open(run)
	require.NoError(t, err)
	rendered, err := program.Render(0, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"bash", "-euo", "pipefail", "-c", "docker ps --format '{{.Names}}'\npg_dump \"${ROUNDSMAN_VALUE_1}\" | gzip > \"/srv/${ROUNDSMAN_VALUE_2}.gz\"\n", "shell"}, rendered.Command)
	assert.Equal(t, map[string]any{"env": map[string]any{"A": "1", "B": "x", "ROUNDSMAN_VALUE_1": "x; rm -rf /", "ROUNDSMAN_VALUE_2": "x"}, "user": "postgres"}, rendered.Launch)
}

func TestFaultsOfAShellHaveTheirLine(t *testing.T) {
	t.Parallel()
	text := "version: 1\nname: s\ntasks:\n  - id: a\n    shell: |\n      echo ok\n      SCRIPT\n"
	for script, want := range map[string]string{
		"echo '{{.Item}}'":                "in.yaml:7:1: shell: a value is not inserted between",
		"echo {{.Params.no}}":             "in.yaml:7:1: task \"a\": unknown parameter \"no\"",
		"((x={{.Item}}))":                 "in.yaml:7:1: shell: bash would execute the value as arithmetic",
		"echo {{.Needs.b.Result.x}}":      "in.yaml:7:1: task \"a\": it refers to",
		"echo ok\n    command: [ls]":      "command",
		"if true\n    dir: /tmp":          "bash would not read it",
		"echo 'open\n    umask: \"0022\"": "in.yaml:7:1: shell: bash would not read it",
	} {
		s, err := spec.Load("in.yaml", []byte(replace(text, script)))
		if err == nil {
			_, err = spec.Compile(s, nil)
		}
		require.ErrorContains(t, err, want, script)
	}
}

func replace(text, script string) string {
	return text[:len(text)-len("SCRIPT\n")] + script + "\n"
}
