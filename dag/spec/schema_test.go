package spec

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/lib/launch"
)

// TestTheSchemaHasEachKey compares the keys of a task with those that the reader reads.
func TestTheSchemaHasEachKey(t *testing.T) {
	t.Parallel()
	encoded, err := Schema()
	require.NoError(t, err)
	var document struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(encoded, &document))
	names, task := launch.Keys(), &Task{Settings: &Settings{}}
	for _, f := range slices.Concat(reader{}.orderFields(task), reader{}.placeFields(task), reader{}.actionFields(task)) {
		names = append(names, f.name)
	}
	slices.Sort(names)
	rule, _ := document.Defs["task"].Properties["trigger_rule"].(map[string]any)
	for v := dag.AllSuccess; v <= dag.Always; v++ {
		assert.Contains(t, rule["enum"], v.String())
	}
	assert.Equal(t, slices.Compact(names), slices.Sorted(maps.Keys(document.Defs["task"].Properties)))
}

// TestTheSchemaTakesEachExample: what Load takes, an editor takes.
func TestTheSchemaTakesEachExample(t *testing.T) {
	t.Parallel()
	encoded, err := Schema()
	require.NoError(t, err)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("dag.json", parsed))
	schema, err := compiler.Compile("dag.json")
	require.NoError(t, err)
	files, err := filepath.Glob("../../examples/*/*.yaml")
	require.NoError(t, err)
	checked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if _, err := Load(file, text); err != nil {
			continue // A configuration.
		}
		var value any
		require.NoError(t, yaml.Unmarshal(text, &value))
		assert.NoError(t, schema.Validate(value), file)
		checked++
	}
	assert.GreaterOrEqual(t, checked, 4)
	for _, wrong := range []string{"{version: 1, name: x}", "{version: 1, name: x, tasks: [{id: a, comand: [x]}]}", "{version: 1, name: x, tasks: [{id: a, timeout: 5}]}"} {
		var value any
		require.NoError(t, yaml.Unmarshal([]byte(wrong), &value))
		assert.Error(t, schema.Validate(value), wrong)
	}
}
