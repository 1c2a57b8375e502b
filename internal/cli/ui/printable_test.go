package ui

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"
)

// hostile is a possible text of a job, an operator or a file.
const hostile = "a\x1b]52;c;x\ab\u009b2Jc\u202ed\u200be\u2066f\u2028g"

// TestNothingControlsTheTerminal: tables, lines, messages, JSON, YAML and names show hostile text
// and never act on it; JSON and YAML still carry it exactly.
func TestNothingControlsTheTerminal(t *testing.T) {
	t.Parallel()
	var out, complaints strings.Builder
	c := &Program{Env: Env{Stdout: &out, Stderr: &complaints}}
	listed := NewTable("NAME")
	listed.Add(Text(hostile))
	c.PrintTable(listed, "")
	shown := &Fields{}
	shown.Add("note", Text(hostile))
	shown.Write(&out, false)
	c.Print("two\n\tlines %s", hostile)
	c.Note(errors.New(hostile))
	c.Complain("%s", hostile)
	require.NoError(t, c.Done(cli.NewContext(nil, nil, nil), nil, "%s", hostile))
	assert.Equal(t, ExitFailed, c.Env.Finish(t.Context(), errors.New(hostile)))
	for _, format := range []string{OutputJSON, OutputYAML, OutputName} {
		require.NoError(t, c.answer(format, map[string]string{"note": hostile, hostile: ""}, "  ", "", []string{hostile}))
	}

	for _, r := range out.String() + complaints.String() {
		assert.False(t, unsafe(r) && r != '\n' && r != '\t', "%U", r)
	}
	assert.Contains(t, out.String(), "two\n\tlines a ]52")

	out.Reset()
	require.NoError(t, c.answer(OutputJSON, hostile, "", "", nil))
	var back string
	require.NoError(t, json.Unmarshal([]byte(out.String()), &back))
	assert.Equal(t, hostile, back)
	out.Reset()
	require.NoError(t, c.answer(OutputYAML, []string{hostile}, "", "", nil))
	var list []string
	require.NoError(t, yaml.Unmarshal([]byte(out.String()), &list), out.String())
	assert.Equal(t, []string{hostile}, list)
	assert.Equal(t, "e\u0301 👩\u200d🔧 \u05d0", Printable("e\u0301 👩\u200d🔧 \u05d0"), "letters stay")
}
