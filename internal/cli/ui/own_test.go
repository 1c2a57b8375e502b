package ui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRenaming(t *testing.T) {
	t.Parallel()
	own := NewRenaming("acme", []string{"resume", "runs"})
	assert.Equal(t, "acme", own.Name())
	assert.Equal(t, "`acme resume scrub`, acme --help; roundsman is the project, /etc/roundsman runs, roundsman resumes",
		own.Text("`roundsman resume scrub`, roundsman --help; roundsman is the project, /etc/roundsman runs, roundsman resumes"))
	none := NewRenaming(ProgramName, []string{"runs"})
	assert.Nil(t, none)
	assert.Equal(t, "roundsman runs", none.Text("roundsman runs"))
	assert.Equal(t, ProgramName, none.Name())
	assert.Equal(t, "it ran roundsman runs: `acme resume scrub`, `acme runs`", own.Code("it ran roundsman runs: `roundsman resume scrub`, `roundsman runs`"))
	assert.Equal(t, "`roundsman runs`", none.Code("`roundsman runs`"))
	assert.Equal(t, "update `x\n    settings.command: `roundsman runs -o json`\nonly with `acme runs`", own.Code("update `x\n    settings.command: `roundsman runs -o json`\nonly with `roundsman runs`"))
}

// TestTextsOfUsersAreNotRenamed: a cron command may be a line of roundsman.
func TestTextsOfUsersAreNotRenamed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &Program{Env: Env{Stdout: &out, Stderr: &out, Own: NewRenaming("acme", []string{"start"})}}
	table := NewTable("COMMAND")
	table.Add(Text("roundsman start x"))
	c.PrintTable(table, "")
	var fields Fields
	fields.Add("execute", Text("roundsman start x"))
	c.PrintFields(&fields)
	c.Print("set: %s", "roundsman start x")
	require.NoError(t, c.answer(OutputJSON, map[string]string{"command": "roundsman start x"}, "", "", nil))
	require.NoError(t, c.answer(OutputYAML, map[string]string{"command": "roundsman start x"}, "", "", nil))
	assert.NotContains(t, out.String(), "acme")
	assert.Equal(t, 5, strings.Count(out.String(), "roundsman start x"))
	c.Complain("see `roundsman start %s`", "x")
	assert.Contains(t, out.String(), "see `acme start x`")
}
