package ui

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRenaming(t *testing.T) {
	t.Parallel()
	own := NewRenaming("acme", []string{"resume", "runs"})
	assert.Equal(t, "acme", own.Name())
	assert.Equal(t, "`acme resume scrub`, acme --help; roundsman is the project, /etc/roundsman runs, roundsman resumes",
		own.Text("`roundsman resume scrub`, roundsman --help; roundsman is the project, /etc/roundsman runs, roundsman resumes"))
	assert.JSONEq(t, `{"command": "acme resume x", "note": "I typed roundsman runs", "fix": "see `+"`acme runs`"+`"}`,
		string(own.Data([]byte(`{"command": "roundsman resume x", "note": "I typed roundsman runs", "fix": "see `+"`roundsman runs`"+`"}`))))
	none := NewRenaming(ProgramName, []string{"runs"})
	assert.Nil(t, none)
	assert.Equal(t, "roundsman runs", none.Text("roundsman runs"))
	assert.Equal(t, ProgramName, none.Name())
}
