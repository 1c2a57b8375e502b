package spec_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag/spec"
)

// TestJobTypesOfAllTasks: of plain tasks, of both kinds of fan-outs and of sub-DAGs in sub-DAGs.
func TestJobTypesOfAllTasks(t *testing.T) {
	t.Parallel()
	const text = `
version: 1
name: all
tasks:
  - {id: plain, job_type: a}
  - {id: listed, job_type: b, for_each: [x, y]}
  - {id: found, command: [find]}
  - {id: late, needs: [found], job_type: c, for_each: "{{.Needs.found.Result.names}}"}
  - {id: sub, dag: sub.yaml}
`
	compiled, err := spec.CompileText("all", text, map[string]string{
		"sub.yaml":  "version: 1\nname: sub\ntasks: [{id: t, job_type: d}, {id: more, dag: deep.yaml}]\n",
		"deep.yaml": "version: 1\nname: deep\ntasks: [{id: t, job_type: e}, {id: again, job_type: a}]\n",
	}, json.RawMessage(nil))
	require.NoError(t, err)
	names, err := spec.JobTypes(compiled.Graph)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c", "d", "e"}, names)
}
