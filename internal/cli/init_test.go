package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// TestInitWritesWhatIsValid: both files pass their own check, without a warning.
func TestInitWritesWhatIsValid(t *testing.T) {
	t.Parallel()
	h, dir := offline(t), t.TempDir()
	file, graph := filepath.Join(dir, "r.yaml"), filepath.Join(dir, "d.yaml")
	h.run("init", file).OK()
	h.run("init", "--dag", graph).OK()
	validated := h.run("validate", "--config", file)
	assert.Equal(t, ui.ExitOK, validated.Code, validated.Stderr)
	assert.Empty(t, validated.Stderr)
	assert.Equal(t, ui.ExitOK, h.run("validate", graph).Code)
}

func TestInitNeverOverwrites(t *testing.T) {
	t.Parallel()
	h := offline(t)
	file := filepath.Join(t.TempDir(), "r.yaml")
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
	again := h.run("init", file)
	assert.Equal(t, ui.ExitFailed, again.Code)
	assert.Contains(t, again.Stderr, "exists and is left as it is")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(text))
}

// TestManualPages: each command has its page, and a formatter takes it, if there is one.
func TestManualPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	offline(t).run("man", dir).OK()
	files, err := filepath.Glob(filepath.Join(dir, "*.1"))
	require.NoError(t, err)
	assert.Greater(t, len(files), 35)
	page, err := os.ReadFile(filepath.Join(dir, "roundsman-runs.1"))
	require.NoError(t, err)
	for _, want := range []string{".TH ROUNDSMAN\\-RUNS 1", ".SH SYNOPSIS\n.B roundsman runs [REF] [flags]", ".SH EXAMPLES\n.nf\n", "\\-\\-state"} {
		assert.Contains(t, string(page), want)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "\n'", file)
		assert.Equal(t, strings.Count(string(text), "\n.nf"), strings.Count(string(text), "\n.fi"), file)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		return
	}
	warned, err := exec.CommandContext(t.Context(), groff, append([]string{"-man", "-Kutf8", "-Tutf8", "-ww", "-z"}, files...)...).CombinedOutput()
	require.NoError(t, err, string(warned))
	assert.Empty(t, string(warned))
}
