package nodee2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	found := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(found)
	return found
}

// TestBackfilledRunsHaveTheirTimes in the environment and the templates of detections, jobs, and tasks of a DAG.
func TestBackfilledRunsHaveTheirTimes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.worker("node-a", "--labels", "site=x1,disk-type=ssd")
	s.AwaitFresh("node-a")
	require.NoError(t, os.Mkdir(filepath.Join(s.Dir, "x1"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "days.yaml"), fmt.Appendf(nil, `version: 1
name: days
tasks:
  - id: task
    command: [sh, -c, 'echo "$0 $ROUNDSMAN_SCHEDULED_AT" >> %s/tasks', '{{.Schedule.Time.Format "2006-01-02"}} {{.Run.JobType}}']
`, s.Dir), 0o600))
	s.Apply(fmt.Sprintf(`version: 1
lanes: {free: {exclusive: false}}
job_types:
  export:
    handler: command
    lane: free
    schedule: {cron: "0 0 * * *", first_run: scheduled}
    detect: {shell: 'echo "$ROUNDSMAN_SCHEDULED_AT {{.Schedule.Time}}" >> %[1]s/detections; echo one'}
    execute:
      dir: '%[1]s/{{.Worker.Labels.site}}'
      env: {DAY: '{{.Schedule.Time.Format "2006-01-02"}}', RUN: '{{.Run.ID}} {{.Run.JobType}}'}
      shell: echo "$DAY $ROUNDSMAN_SCHEDULED_AT $RUN $ROUNDSMAN_WORKER_LABEL_DISK_TYPE" >> jobs
  days:
    dag: days.yaml
    lane: free
    schedule: {cron: "0 0 * * *", first_run: scheduled}
`, s.Dir))
	for _, name := range []string{"export", "days"} {
		s.Command("start", name, "--backfill", "2026-01-01T00:00:00Z..2026-01-02T00:00:00Z")
	}
	for _, name := range []string{"export", "days"} {
		for _, day := range []string{"2026-01-01", "2026-01-02"} {
			ref := starter.RunRef{WorkflowID: contract.GroupWorkflowID(name) + "-" + day + "T00:00:00Z"}
			testsuite.WaitFor(t, time.Minute, ref.WorkflowID+" has begun", func() bool {
				_, err := s.Client.Runs().Describe(t.Context(), ref)
				return err == nil
			})
			result := s.Result(ref)
			require.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
		}
	}
	assert.Equal(t, []string{"2026-01-01T00:00:00Z 2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z 2026-01-02T00:00:00Z"}, lines(t, filepath.Join(s.Dir, "detections")))
	assert.Equal(t, []string{
		"2026-01-01 2026-01-01T00:00:00Z group/export-2026-01-01T00:00:00Z export ssd",
		"2026-01-02 2026-01-02T00:00:00Z group/export-2026-01-02T00:00:00Z export ssd",
	}, lines(t, filepath.Join(s.Dir, "x1", "jobs")))
	assert.Equal(t, []string{"2026-01-01 days 2026-01-01T00:00:00Z", "2026-01-02 days 2026-01-02T00:00:00Z"}, lines(t, filepath.Join(s.Dir, "tasks")))
}

// TestNumbersOfPrograms: the last line of JSON is the data of the job, and its numbers are a metric and a trend.
func TestNumbersOfPrograms(t *testing.T) {
	t.Parallel()
	s := &site{Site: sites.New(t)}
	address := sites.FreeAddress(t)
	control := s.Start("server", "--health-addr", address)
	s.worker("node-a")
	s.AwaitFresh("node-a")
	s.Apply(fmt.Sprintf(`version: 1
job_types:
  dump:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: [echo, 'shop "1"']}
    execute:
      shell: |
        echo x >> %[1]s/runs
        echo "{\"bytes\": $(wc -l < %[1]s/runs)00, \"path\": \"/srv\", \"ratio\": 0.5}"
`, s.Dir))
	var last starter.RunRef
	for range 3 {
		last = s.Begin("dump")
		result := s.Result(last)
		require.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	}
	shown := s.Command("show", last.WorkflowID)
	assert.Regexp(t, `shop "1" +bytes +300 +100\.0% +▁▄█`, shown)
	assert.Regexp(t, `shop "1" +ratio +0\.5 +0\.0% +`, shown)
	job := s.Command("show", last.WorkflowID+"/job-00001")
	assert.Contains(t, job, `"bytes":300,"exit_code":0,"path":"/srv","ratio":0.5`)
	assert.Contains(t, s.Command("jobs", last.WorkflowID, "--output", "json"), `"bytes"`)

	metrics, err := scrape(t, address)
	require.NoError(t, err)
	want := "\nroundsman_job_value{job_type=\"dump\",key=\"shop \\\"1\\\"\",name=\"bytes\"} 300\n"
	assert.Contains(t, metrics, want)
	assert.Contains(t, metrics, "\nroundsman_job_values_dropped{job_type=\"dump\"} 0\n")
	if promtool, err := exec.LookPath("promtool"); err == nil {
		check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		check.Stdin = strings.NewReader(metrics)
		said, err := check.CombinedOutput()
		for line := range strings.Lines(string(said)) {
			assert.NotContains(t, line, "roundsman_job_value")
		}
		t.Logf("promtool: %v\n%s", err, said)
	}

	control.Kill()
	address = sites.FreeAddress(t)
	s.Start("server", "--health-addr", address)
	testsuite.WaitFor(t, time.Minute, "a control plane that was started later knows the value", func() bool {
		metrics, err := scrape(t, address)
		return err == nil && strings.Contains(metrics, want)
	})
}

func scrape(t *testing.T, address string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	require.NoError(t, err)
	response, err := (&http.Client{}).Do(request)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text), response.Body.Close()
}
