package consolee2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/edge/console"
)

// TestInBrowser runs web/test: every page by axe-core and under its policy in both
// themes, journeys by keyboard compared through the audit log with the lines for a
// shell, and a control plane and a server that are killed.
func TestInBrowser(t *testing.T) {
	t.Parallel()
	top, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	node, err := exec.LookPath("node")
	if err != nil || !console.Built() {
		t.Skip("skipped: the console is not built (no Node.js 20 or newer, or no make web)")
	}
	if _, err := os.Stat(filepath.Join(top, "web", "node_modules", "puppeteer-core")); err != nil {
		t.Skip("skipped: web/node_modules has no driver for the browser: run make web")
	}
	_, full := exec.LookPath("chromium")
	_, headless := exec.LookPath("chromium-headless-shell")
	if full != nil && headless != nil && os.Getenv("CHROMIUM") == "" {
		t.Skip("skipped: no Chromium: install Debian's chromium-headless-shell, or name one with CHROMIUM")
	}
	files, err := filepath.Glob(filepath.Join(top, "web", "test", "*.test.mjs"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	run := exec.CommandContext(t.Context(), node, append([]string{"--test", "--test-concurrency=2", "--test-reporter=spec"}, files...)...)
	run.Dir = filepath.Join(top, "web")
	output, err := run.CombinedOutput()
	t.Logf("%s", output)
	require.NoError(t, err)
}
