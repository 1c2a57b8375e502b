package spec_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag/spec"
)

const travels = "version: 1\nname: rounds\nparams: {hosts: [a], level: 3, mode: quick}\ntasks:\n" +
	"  - {id: visit, for_each: '{{.Params.hosts}}', noop: true}\n  - {id: below, needs: [visit], dag: sub.yaml}\n"

// A text that travels with its files compiles with other params, including structural ones.
func TestCompileText(t *testing.T) {
	t.Parallel()
	files := map[string]string{"d/sub.yaml": "version: 1\nname: sub\ntasks: [{id: a, noop: true}]\n"}
	for params, tasks := range map[string]int{"": 2, `{"hosts":["x","y","z"]}`: 4, `{"hosts":"[\"x\",\"y\"]","level":"7","mode":"7"}`: 3} {
		compiled, err := spec.CompileText("d/rounds.yaml", travels, files, json.RawMessage(params))
		require.NoError(t, err, params)
		assert.Equal(t, tasks, compiled.Graph.Len(), params)
	}
	for params, want := range map[string]string{
		`{"level":"many"}`: "params.level", `{"mode":7}`: "params.mode: it is a number, but the spec declares text",
		`{"host":[]}`: `params.host: DAG rounds has no such param; did you mean "hosts"?`, `[]`: "the params of DAG rounds",
	} {
		_, err := spec.CompileText("d/rounds.yaml", travels, files, json.RawMessage(params))
		assert.ErrorContains(t, err, want)
	}
	_, err := spec.CompileText("d/rounds.yaml", travels, map[string]string{"other": ""}, nil)
	require.ErrorContains(t, err, "d/sub.yaml does not travel with the spec")
	_, err = spec.CompileText("d/rounds.yaml", travels, nil, nil)
	require.ErrorContains(t, err, "a sub-DAG file cannot be read here")
}

// A Spec filled in by a program lacks the findings of Load, such as the kind of each task.
func TestOnlyALoadedSpecIsCompiled(t *testing.T) {
	t.Parallel()
	for _, settings := range []*spec.Settings{nil, {}} {
		_, err := spec.Compile(&spec.Spec{Version: 1, Name: "x", Tasks: []spec.Task{{ID: "a", Command: []string{"true"}, Settings: settings}}}, nil)
		require.EqualError(t, err, "spec: a Spec is made by Load: write the DAG as YAML or JSON")
	}
}
