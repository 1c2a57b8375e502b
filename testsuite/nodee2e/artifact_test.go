package nodee2e

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestArtifactsSurviveTheirWorker: the first attempt is killed with its worker and leaves nothing, the
// next ones fail after they have written their reports. The report is read after another kill of the worker.
func TestArtifactsSurviveTheirWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	work, begun := filepath.Join(s.Dir, "work"), filepath.Join(s.Dir, "begun")
	require.NoError(t, os.MkdirAll(work, 0o755)) //nolint:gosec // a directory of this test
	script := `mkdir -p reports; seq 1 200000 > reports/r$ROUNDSMAN_ATTEMPT.txt; ln -sf /etc/hostname reports/link.txt
if [ $ROUNDSMAN_ATTEMPT = 1 ]; then : > ` + begun + `; exec sleep 1000; fi; echo done; exit 3`
	s.Apply(fmt.Sprintf(`version: 1
job_types:
  report:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    policy: {heartbeat_timeout: 3s, retry_limit: 1}
    detect: {command: [echo, one]}
    execute: {command: [sh, -c, %q], dir: %s, kill_grace: 1s, artifacts: ["reports/*.txt", "none-*"]}
`, script, work))
	victim := s.worker("node-a")
	s.AwaitFresh("node-a")
	ref := s.Begin("report")
	testsuite.WaitFor(t, time.Minute, "the first attempt has its report", func() bool { _, err := os.Stat(begun); return err == nil })
	job := ref.WorkflowID + "/job-00001"
	victim.Kill()
	second := s.worker("node-a")
	assert.Equal(t, 1, s.Result(ref).Counts.Failed)
	second.Kill()
	s.worker("node-a")

	var whole strings.Builder
	for i := 1; i <= 200000; i++ {
		_, _ = fmt.Fprintln(&whole, i)
	}
	var list string
	testsuite.WaitFor(t, time.Minute, "the third process of the worker answers", func() bool {
		asked := s.Start("logs", job, "--artifacts")
		code := asked.Code(t, time.Minute)
		list = asked.Stdout.String()
		return code == 0
	})
	assert.Contains(t, list, "reports/r3.txt")
	assert.Contains(t, list, "no file matches")
	assert.Regexp(t, `reports/link.txt +0.*path escapes from parent`, list, "no link leads out of the directory")
	assert.Equal(t, whole.String(), s.Command("logs", job, "--artifact", "reports/r3.txt"))
	missing := s.Start("logs", job, "--artifact", "reports/no.txt")
	assert.NotEqual(t, 0, missing.Code(t, time.Minute))
	assert.Contains(t, missing.Stderr.String(), "--artifacts")

	listen := sites.FreeAddress(t)
	s.Start("server", "--http", listen)
	run, item := filepath.Split(strings.TrimPrefix(job, "group/"))
	base := "http://" + listen + "/api/v1/runs/" + strings.TrimSuffix(run, "/") + "/items/" + item + "/artifacts"
	get := func(address string) (int, string) {
		answer, err := http.Get(address) //nolint:gosec // an address of this test
		if err != nil {
			return 0, ""
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(body)
	}
	testsuite.WaitFor(t, time.Minute, "the API answers", func() bool { code, _ := get(base); return code != 0 })
	code, body := get(base)
	assert.Equal(t, http.StatusOK, code, body)
	assert.Contains(t, body, `"reports/r3.txt"`)
	code, body = get(base + "/content?name=" + url.QueryEscape("reports/r3.txt"))
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, whole.String(), body)
	code, body = get(base + "/content?name=reports/link.txt")
	assert.Equal(t, http.StatusNotFound, code, body)
}
