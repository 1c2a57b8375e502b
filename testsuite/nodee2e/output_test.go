package nodee2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// talker prints 3,000 lines and a secret, then stays in its first attempt.
const talker = `i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo "attempt $ROUNDSMAN_ATTEMPT line $i of many, $SECRET"; done
[ "$ROUNDSMAN_ATTEMPT" = 1 ] || exit 0
: > %s; exec sleep 1000`

// TestOutputSurvivesItsWorker: the worker is killed in the middle of an attempt. The whole output of this
// attempt and of its retry is read while the worker is away, as far as it can be, and after its restart.
func TestOutputSurvivesItsWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, secret := filepath.Join(s.Dir, "begun"), filepath.Join(s.Dir, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("correct-horse"), 0o600))
	s.Apply(fmt.Sprintf(`version: 1
job_types:
  talk:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    policy: {heartbeat_timeout: 3s}
    detect: {command: [echo, one]}
    execute: {command: [sh, -c, %q], kill_grace: 1s, env: {SECRET: {file: %s}}, output: {max: 64KiB, keep: 1d}}
`, fmt.Sprintf(talker, begun), secret))
	victim := s.worker("node-a")
	s.AwaitFresh("node-a")
	ref := s.Begin("talk")
	testsuite.WaitFor(t, time.Minute, "all is printed", func() bool { _, err := os.Stat(begun); return err == nil })
	job := ref.WorkflowID + "/job-00001"
	first := s.output(job, 1)
	victim.Kill()
	away := s.Start("logs", job, "--attempt", "1")
	require.Equal(t, 0, away.Code(t, time.Minute))
	assert.Contains(t, away.Stderr.String(), "node-a")
	assert.Empty(t, away.Stdout.String())

	s.worker("node-a")
	assert.Equal(t, 1, s.Result(ref).Counts.Completed)
	for attempt, whole := range []string{first, s.output(job, 2)} {
		assert.True(t, strings.HasPrefix(whole, fmt.Sprintf("attempt %d line 1 of many, ***\n", attempt+1)), "%.100s", whole)
		assert.True(t, strings.HasSuffix(whole, fmt.Sprintf("attempt %d line 3000 of many, ***\n", attempt+1)))
		assert.NotContains(t, whole, "horse")
		assert.Greater(t, len(whole), 60<<10)
		assert.Equal(t, whole, s.output(job, attempt+1), "the same after the restart")
	}
	cut := s.Start("logs", job, "--attempt", "1")
	require.Equal(t, 0, cut.Code(t, time.Minute))
	assert.Regexp(t, `note: \d+ bytes before this are not kept \(output.max, or a full disk\)`, cut.Stderr.String())
	assert.Equal(t, "attempt 1 line 2999 of many, ***\nattempt 1 line 3000 of many, ***\n", s.Command("logs", job, "--attempt", "1", "--tail", "2"))
	s.downloads(job)
	kept, err := filepath.Glob(filepath.Join(s.Dir, "node-a", "workers", "node-a.outputs", "*", "*", "*"))
	require.NoError(t, err)
	for _, path := range kept {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "horse", path)
	}
}

// downloads reads the output by the API of another control plane.
func (s *site) downloads(job string) {
	s.T.Helper()
	listen := sites.FreeAddress(s.T)
	s.Start("server", "--http", listen)
	run, item := filepath.Split(strings.TrimPrefix(job, "group/"))
	address := "http://" + listen + "/api/v1/runs/" + strings.TrimSuffix(run, "/") + "/items/" + item + "/output/text?attempt=1"
	var text string
	testsuite.WaitFor(s.T, time.Minute, "the API answers", func() bool {
		answer, err := http.Get(address) //nolint:gosec // an address of this test
		if err != nil {
			return false
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		require.NoError(s.T, err)
		require.Equal(s.T, http.StatusOK, answer.StatusCode, "%s", body)
		text = string(body)
		return true
	})
	assert.True(s.T, strings.HasPrefix(text, "attempt 1 line 1 of many, ***\n"))
	assert.True(s.T, strings.HasSuffix(text, "attempt 1 line 3000 of many, ***\n"))
	assert.Regexp(s.T, `\n\[\d+ bytes are not kept: output.max, or a full disk\]\n`, text)
}

// output returns the output of an attempt.
func (s *site) output(job string, attempt int) string {
	s.T.Helper()
	return s.Command("logs", job, "--attempt", fmt.Sprint(attempt))
}

// TestAFailedJobKeepsItsOutput: a job that fails keeps as much of its output in the history as one that
// completes, on the real server, however much it prints.
func TestAFailedJobKeepsItsOutput(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	config := "version: 1\njob_types:\n"
	for _, code := range []int{0, 1} {
		config += fmt.Sprintf("  exits-%d:\n    handler: command\n    schedule: {every: 365d, first_run: scheduled}\n    policy: {retry_limit: 0}\n"+
			"    detect: {command: [echo, one]}\n    execute: {command: [sh, -c, 'seq 60000; exit %d']}\n", code, code)
	}
	s.Apply(config)
	for _, code := range []int{0, 1} {
		ref := s.Begin(fmt.Sprintf("exits-%d", code))
		assert.Equal(t, code, s.Result(ref).Counts.Failed)
		item, err := s.Client.Runs().Item(t.Context(), starter.ItemRef{Run: ref, ID: "job-00001"})
		require.NoError(t, err)
		history, err := s.Client.Runs().History(t.Context(), item)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(history.Result.Output), jobtype.MaxOutputBytes)
		assert.Greater(t, len(history.Result.Output), jobtype.MaxOutputBytes*9/10, "exit code %d", code)
		assert.True(t, strings.HasSuffix(history.Result.Output, "59999\n60000\n"))
	}
}
