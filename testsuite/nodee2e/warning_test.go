package nodee2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
)

// backups are programs that end with a warning after a backup of dir: a source is missing, or
// cannot be read.
func backups(t *testing.T, dir string) map[string]string {
	t.Helper()
	programs := map[string]string{"plain": "exit_codes: {warning: [7]}, command: [sh, -c, 'echo one file changed >&2; exit 7']"}
	run := func(line ...string) {
		command := exec.CommandContext(t.Context(), line[0], line[1:]...)
		command.Env = append(os.Environ(), "BORG_BASE_DIR="+dir, "RESTIC_PASSWORD=x", "RESTIC_CACHE_DIR="+dir)
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	if _, err := exec.LookPath("borg"); err == nil {
		run("borg", "init", "-e", "none", dir+"/borg")
		programs["borg"] = "exit_codes: {warning: [1]}, env: {BORG_BASE_DIR: DIR, BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK: 'yes'}, command: [borg, create, 'DIR/borg::now', DIR/source, DIR/missing]"
	}
	if _, err := exec.LookPath("restic"); err == nil {
		run("restic", "init", "-q", "-r", dir+"/restic")
		programs["restic"] = "exit_codes: {warning: [3]}, env: {RESTIC_PASSWORD: x, RESTIC_CACHE_DIR: DIR}, command: [restic, backup, -q, -r, DIR/restic, DIR/source, /proc/self/mem]"
	}
	return programs
}

// Of borg and restic those are run that are installed.
func TestAProgramThatWarns(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	require.NoError(t, os.Mkdir(filepath.Join(s.Dir, "source"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "source", "a"), []byte("kept"), 0o600))
	programs := backups(t, s.Dir)
	text := "version: 1\njob_types:\n"
	for name, keys := range programs {
		text += "  " + name + ": {handler: command, each_worker: true, schedule: {every: 24h, first_run: scheduled}, policy: {retry_limit: 3}, execute: {" + strings.ReplaceAll(keys, "DIR", s.Dir) + "}}\n"
	}
	s.Apply(text)
	for name := range programs {
		result := s.Result(s.Begin(name))
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%s: %+v", name, result)
		assert.Equal(t, 1, result.Counts.Warning, "%s: %+v", name, result)
		assert.Zero(t, result.Counts.Completed, name)
		listed := s.Command("jobs", name, "--state", "warning")
		assert.Contains(t, listed, "exited with status", name)
	}
	for _, program := range []string{"borg", "restic"} {
		if programs[program] == "" {
			continue
		}
		out := filepath.Join(s.Dir, "restored-"+program)
		require.NoError(t, os.Mkdir(out, 0o700))
		line := exec.CommandContext(t.Context(), "restic", "-r", s.Dir+"/restic", "restore", "latest", "--target", out)
		if program == "borg" {
			line = exec.CommandContext(t.Context(), "borg", "extract", s.Dir+"/borg::now")
		}
		line.Dir, line.Env = out, append(os.Environ(), "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes", "BORG_BASE_DIR="+s.Dir, "RESTIC_PASSWORD=x", "RESTIC_CACHE_DIR="+s.Dir)
		said, err := line.CombinedOutput()
		require.NoError(t, err, "%s: %s", program, said)
		restored, err := os.ReadFile(filepath.Join(out, s.Dir, "source", "a"))
		require.NoError(t, err, program)
		assert.Equal(t, "kept", string(restored), program)
	}
	waited := s.Start("start", "plain", "--wait")
	assert.Equal(t, ui.ExitWarning, waited.Code(t, time.Minute), "%s%s", waited.Stdout.Last(), waited.Stderr.Last())

	spec := filepath.Join(s.Dir, "two.yaml")
	require.NoError(t, os.WriteFile(spec, []byte("version: 1\nname: two\ntasks:\n  - {id: a, command: [sh, -c, 'exit 7'], exit_codes: {warning: [7]}}\n  - {id: b, command: [\"true\"], needs: [a]}\n"), 0o600))
	waited = s.Start("start", spec, "--watch")
	assert.Equal(t, ui.ExitWarning, waited.Code(t, time.Minute), "%s%s", waited.Stdout.Last(), waited.Stderr.Last())
	assert.Contains(t, waited.Stdout.String(), "1 completed, 1 warning")
}
