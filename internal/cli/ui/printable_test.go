package ui

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

// hostile is what a job, an operator or a file may call itself.
const hostile = "a\x1b]52;c;x\ab\u009b2Jc\u202ed\u200be\u2066f\u2028g"

// TestNothingControlsTheTerminal: tables, lines, messages and JSON show hostile text
// and never act on it; JSON still carries it exactly.
func TestNothingControlsTheTerminal(t *testing.T) {
	t.Parallel()
	var out, complaints strings.Builder
	c := &Program{Env: Env{Stdout: &out, Stderr: &complaints}}
	listed := NewTable("NAME")
	listed.Add(Text(hostile))
	listed.Write(&out, false, "")
	shown := &Fields{}
	shown.Add("note", Text(hostile))
	shown.Write(&out, false)
	c.Print("two\n\tlines %s", hostile)
	c.Note(errors.New(hostile))
	c.Complain("%s", hostile)
	require.NoError(t, c.Done(cli.NewContext(nil, nil, nil), nil, "%s", hostile))
	assert.Equal(t, ExitFailed, c.Env.Finish(t.Context(), errors.New(hostile)))
	require.NoError(t, PrintJSON(&out, map[string]string{"note": hostile}))
	require.NoError(t, PrintJSONLine(&out, hostile))

	for _, r := range out.String() + complaints.String() {
		assert.False(t, unsafe(r) && r != '\n' && r != '\t', "%U", r)
	}
	assert.Contains(t, out.String(), "two\n\tlines a ]52")

	out.Reset()
	require.NoError(t, PrintJSONLine(&out, hostile))
	var back string
	require.NoError(t, json.Unmarshal([]byte(out.String()), &back))
	assert.Equal(t, hostile, back)
	assert.Equal(t, "e\u0301 👩\u200d🔧 \u05d0", Printable("e\u0301 👩\u200d🔧 \u05d0"), "letters stay")
}
