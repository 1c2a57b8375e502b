package consolee2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/edge/console"
)

// longest are the files that take longest. They begin first, in this order.
var longest = []string{"whole", "timeline", "still", "why", "journeys", "live", "handover", "pages", "record", "sizes", "small", "forms", "tables", "graph", "typed", "cancel", "codes"}

// atOnce files run at once. Each has a control plane, a server, two workers and a browser.
const atOnce = 2

// TestInBrowser runs web/test: every page by axe-core and under its policy in both
// themes, journeys by keyboard compared through the audit log with the lines for a
// shell, and a control plane and a server that are killed. Each file is a subtest that
// needs no other: `go test ./testsuite/consolee2e -run /live`.
func TestInBrowser(t *testing.T) {
	t.Parallel()
	web, err := filepath.Abs(filepath.Join("..", "..", "web"))
	require.NoError(t, err)
	node, err := exec.LookPath("node")
	if err != nil || !console.Built() {
		t.Skip("skipped: the console is not built (no Node.js 20 or newer, or no make web)")
	}
	if _, err := os.Stat(filepath.Join(web, "node_modules", "puppeteer-core")); err != nil {
		t.Skip("skipped: web/node_modules has no driver for the browser: run make web")
	}
	_, full := exec.LookPath("chromium")
	_, headless := exec.LookPath("chromium-headless-shell")
	if full != nil && headless != nil && os.Getenv("CHROMIUM") == "" {
		t.Skip("skipped: no Chromium: install Debian's chromium-headless-shell, or name one with CHROMIUM")
	}
	names := files(t, web)
	queue := make(chan string)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for name := range queue {
				t.Run(name, func(t *testing.T) {
					run := exec.CommandContext(t.Context(), node, "--test", "--test-reporter=spec", filepath.Join("test", name+suffix))
					run.Dir = web
					output, err := run.CombinedOutput()
					t.Logf("%s", output)
					require.NoError(t, err)
				})
			}
		})
	}
	for _, name := range names {
		queue <- name
	}
	close(queue)
	workers.Wait()
}

const suffix = ".test.mjs"

// files lists all files of tests without their suffix, the longest first.
func files(t *testing.T, web string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(web, "test", "*"+suffix))
	require.NoError(t, err)
	names := slices.Clone(longest)
	for _, file := range found {
		if name := strings.TrimSuffix(filepath.Base(file), suffix); !slices.Contains(longest, name) {
			names = append(names, name)
		}
	}
	require.Len(t, names, len(found), "a file of the list is not in web/test")
	return names
}
