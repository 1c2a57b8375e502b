package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter/joblogs"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// chatty is a job type whose job fails once, then prints until the file exists, and one
// that prints nothing.
func chatty(dir string) string {
	script := `echo "attempt $ROUNDSMAN_ATTEMPT on stdout"; printf 'bell \007 rings\n' >&2; ` +
		`if [ "$ROUNDSMAN_ATTEMPT" = 1 ]; then exit 7; fi; touch ` + dir + `/begun; while [ ! -e ` + dir + `/go ]; do sleep 0.05; done; echo "the last line"`
	return `version: 1
job_types:
  chatty:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: [echo, only], format: lines}
    execute: {command: [sh, -c, '` + strings.ReplaceAll(script, "'", "''") + `']}
    policy: {retry_limit: 1, retry_backoff: 1s}
`
}

// TestJobsLogs: a job's output can be read while it runs and after it, followed to its end, and read for an
// earlier attempt. Without the worker it comes from the result.
func TestJobsLogs(t *testing.T) {
	t.Parallel()
	h, dir := alone(t), t.TempDir()
	h.background("server", "--log-level", "error")
	stop := h.background("worker", "--id", "node-a", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s")
	h.eventually("node-a", "workers", "-s", "online")
	h.run("apply", "-c", h.write(chatty(dir))).OK()
	h.run("start", "chatty").OK()
	h.eventually("attempt 2 on stdout", "logs", "chatty/job-00001")
	h.run("logs", "chatty/job-00001").OK().Says("bell   rings")
	assert.NotContains(t, h.run("logs", "chatty/job-00001").Stdout, "last line")
	h.run("logs", "chatty/job-00001", "--attempt", "1").OK().Says("attempt 1 on stdout")
	h.run("logs", "chatty/job-00001", "--attempt", "9").Exits(ui.ExitFailed).Complains("attempt 9 of job-00001 does not exist")

	followed := make(chan clitest.Outcome, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	go func() { followed <- h.runContext(ctx, "logs", "chatty/job-00001", "-f") }()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	answer := <-followed
	answer.OK().Says("attempt 2 on stdout", "the last line")

	one := clitest.Decode[joblogs.Part](h.run("logs", "chatty/job-00001", "-o", "json").OK())
	assert.Equal(t, joblogs.FromWorker, one.From)
	assert.Equal(t, 2, one.Attempt)
	assert.Equal(t, "node-a", one.Worker)
	stop()
	gone := clitest.Decode[joblogs.Part](h.run("logs", "chatty/job-00001", "-o", "json").OK())
	assert.Equal(t, joblogs.FromResult, gone.From)
	assert.Contains(t, gone.Text, "the last line")
}
