package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// TestAnAuthorsBinaryHasItsOwnName: help, errors, hints and completion print the name of the binary.
func TestAnAuthorsBinaryHasItsOwnName(t *testing.T) {
	t.Parallel()
	h := offline(t)
	h.env.Name = "acme-ops"
	for _, line := range [][]string{{"--help"}, {"start", "--help"}, {"help", "refs"}, {"validate", "--help"}, {"init", "--dag", t.TempDir() + "/x.yaml"}} {
		ran := h.run(line...).OK().Says("acme-ops ")
		assert.NotRegexp(t, "(?m)^roundsman|[ `]roundsman [a-z-]", ran.Stdout, line)
	}
	assert.Regexp(t, "^acme-ops - maintenance jobs", h.run("--help").OK().Stdout)
	h.run("run", "scrub").Exits(ui.ExitUsage).Complains("acme-ops: unknown command", "to start: acme-ops start scrub")
	h.run("stat").Exits(ui.ExitUsage).Complains("see acme-ops --help")
	h.run("completion", "bash").OK().Says("complete -F _acme_ops acme-ops")
	h.run("completion", "fish").OK().Says("    acme-ops __complete", "complete -c acme-ops ")
	h.env.Name = ""
	h.run("--help").OK().Says("roundsman - maintenance jobs", "Usage: roundsman COMMAND")
}
