package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

var (
	tutorialFile = regexp.MustCompile("(?ms)^<!-- file: (\\S+) -->\n```yaml\n(.*?)^```")
	tutorialLine = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
)

// TestTutorial types the commands of docs/tutorial.md in order against a real server. Each command succeeds as
// soon as it is typed.
func TestTutorial(t *testing.T) {
	root, err := testsuite.ModuleRoot()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "tutorial.md"))
	require.NoError(t, err)
	h := alone(t)
	t.Chdir(t.TempDir())
	files := tutorialFile.FindAllSubmatch(text, -1)
	require.Len(t, files, 2)
	for _, file := range files {
		require.NoError(t, os.WriteFile(string(file[1]), file[2], 0o600))
	}
	commands := 0
	for _, block := range tutorialLine.FindAllSubmatch(text, -1) {
		for line := range strings.SplitSeq(strings.TrimSpace(string(block[1])), "\n") {
			commands++
			h.typed(line)
		}
	}
	assert.Greater(t, commands, 15)
	left, err := filepath.Glob("scratch/*.tmp")
	require.NoError(t, err)
	assert.Empty(t, left, "the job type did its work")
	picture, err := os.ReadFile("release.svg")
	require.NoError(t, err)
	assert.Contains(t, string(picture), "<svg")
}

// typed runs one line of the tutorial.
func (h *harness) typed(line string) {
	h.t.Helper()
	args := words(line)
	if args[0] != ui.ProgramName {
		output, err := exec.CommandContext(h.t.Context(), "sh", "-c", line).CombinedOutput()
		require.NoError(h.t, err, string(output))
		return
	}
	if args = args[1:]; args[0] == "dev" {
		h.inBackground(append(args, "--address", strings.TrimPrefix(h.env.Environ[0], "TEMPORAL_ADDRESS=")))
		return
	}
	var last clitest.Outcome
	testsuite.WaitFor(h.t, time.Minute, line, func() bool {
		last = h.run(args...)
		return last.Code == ui.ExitOK
	})
	if _, file, redirected := strings.Cut(line, " > "); redirected {
		require.NoError(h.t, os.WriteFile(file, []byte(last.Stdout), 0o600))
	}
}

// inBackground is the reader's second terminal, until the test ends.
func (h *harness) inBackground(args []string) {
	h.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(h.t.Context()))
	ended := make(chan clitest.Outcome, 1)
	go func() { ended <- h.runContext(ctx, args...) }()
	h.t.Cleanup(func() {
		stop()
		if o := <-ended; h.t.Failed() {
			h.t.Logf("dev said: %s%s", o.Stdout, o.Stderr)
		}
	})
}
