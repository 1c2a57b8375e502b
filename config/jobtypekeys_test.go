package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
)

func TestKeysOfProgramsHaveAHint(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"hooks: {}":     "r.yaml:5:5: job_types.check.hooks: belongs to a program: write it in execute",
		"finally: [x]":  "job_types.check.finally: belongs to a program: write it in execute.hooks",
		"user: nobody":  "job_types.check.user: belongs to a program: write it in execute or detect",
		"command: [ls]": "job_types.check.command: belongs to a program: write it in execute or detect",
		"usr: nobody":   "job_types.check.usr: unknown key",
	} {
		text := "version: 1\njob_types:\n  check:\n    handler: command\n    " + key + "\n"
		_, err := config.Load(config.Options{Sources: []config.Source{{Name: "r.yaml", Data: []byte(text)}}, AllowUnregistered: true})
		require.ErrorContains(t, err, want)
	}
}
