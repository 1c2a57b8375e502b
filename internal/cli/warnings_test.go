package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite/clitest"
)

// `validate` warns of literal secrets and of commands that are probably not meant; the file stays valid.
func TestValidateWarnsOfSecretsAndCommands(t *testing.T) {
	t.Parallel()
	h := offline(t)
	file := h.write(`version: 1
job_types:
  dump:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: ["psql -l"]}
    execute:
      command: [sh, -c, 'pg_dump "$1" | gzip > "$1.gz"', sh, "{{.Params.item}}"]
      env: {PGPASSWORD: s3cret, PGUSER: backup, RESTIC_PASSWORD_FILE: /etc/restic.key}
`)
	out := h.run("validate", "--config", file).OK().Says("valid: 1 job type").Complains(
		"warning: "+file+":6:24: job_types.dump.detect.command[0]: a whole command line in one element",
		"warning: "+file+":8:25: job_types.dump.execute.command[2]: only the last program of the pipeline",
		"warning: "+file+":9:25: job_types.dump.execute.env.PGPASSWORD: PGPASSWORD is a literal secret")
	assert.NotContains(t, out.Stderr, "s3cret")
	assert.NotContains(t, out.Stderr, "RESTIC")
	data := clitest.Decode[struct {
		Warnings []any `json:"warnings"`
	}](h.run("validate", "--config", file, "--output", "json").OK())
	assert.Len(t, data.Warnings, 3)
}

func TestDAGValidateWarnsOfSecretsAndCommands(t *testing.T) {
	t.Parallel()
	h := offline(t)
	file := h.writeSpec("version: 1\nname: night\ntasks:\n  - {id: dump, command: [mysqldump, -ps3cret, shop]}\n  - {id: safe, command: [psql, -p, 5432, -c, 'select 1']}\n")
	out := h.run("validate", file).OK().Says("DAG night is valid").Complains("warning: " + file + ":4:37: command[1]: -p… is a literal secret")
	assert.NotContains(t, out.Stderr, "s3cret")
	report := clitest.Decode[struct {
		Files []struct {
			Warnings []struct {
				Line int `json:"line"`
			} `json:"warnings"`
		} `json:"files"`
	}](h.run("validate", file, "-o", "json").OK())
	require.Len(t, report.Files[0].Warnings, 1)
	assert.Equal(t, 4, report.Files[0].Warnings[0].Line)
}
