package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
)

// TestKeysOfProgramsHaveAHint: a hint names a block that the job type can have.
func TestKeysOfProgramsHaveAHint(t *testing.T) {
	t.Parallel()
	const hint = "belongs to a program"
	for lines, want := range map[string]string{
		"handler: command\n    hooks: {}":     "r.yaml:5:5: job_types.check.hooks: belongs to a program: write it in execute",
		"handler: command\n    finally: [x]":  "job_types.check.finally: belongs to a program: write it in execute.hooks",
		"handler: command\n    user: nobody":  "job_types.check.user: belongs to a program: write it in execute or detect",
		"handler: command\n    command: [ls]": "job_types.check.command: belongs to a program: write it in execute or detect",
		"command: [ls]":                       "job_types.check.command: belongs to a program: write it in execute or detect",
		"handler: command\n    usr: nobody":   "job_types.check.usr: unknown key",
		"handler: scrub\n    user: nobody":    "job_types.check.user: unknown key",
		"handler: mine\n    command: [ls]":    "job_types.check.command: unknown key",
		"handler: [command]\n    shell: ls":   "job_types.check.shell: unknown key",
		"dag: d.yaml\n    hooks: {}":          "job_types.check.hooks: unknown key",
	} {
		text := "version: 1\njob_types:\n  check:\n    " + lines + "\n"
		_, err := config.Load(config.Options{Sources: []config.Source{{Name: "r.yaml", Data: []byte(text)}}, AllowUnregistered: true})
		require.ErrorContains(t, err, want, lines)
		if want[len(want)-len("unknown key"):] == "unknown key" {
			assert.NotContains(t, err.Error(), hint, lines)
		}
	}
}
