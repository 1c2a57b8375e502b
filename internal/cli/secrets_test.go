package cli

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/roundsman/roundsman/testsuite"
)

// leaky has jobs and a DAG whose programs print a secret as output, progress, error and proposal. PLAIN is no
// secret: it proves that the test finds printed words.
func leaky(dir string) string {
	text := `version: 1
defaults:
  env: {TOKEN: {file: DIR/secret}, BY_COMMAND: {command: [sh, -c, 'tr a-z n-za-m < DIR/rot']}, PLAIN: printed-in-clear}
job_types:
  leaky:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: [sh, -c, 'echo "one $TOKEN $PLAIN"; echo "$BY_COMMAND" >&2']}
    execute:
      command: [sh, -c, 'echo "::progress 50 stage $TOKEN"; echo "$TOKEN $BY_COMMAND $PLAIN"; echo "failed $TOKEN $PLAIN" >&2; exit 3']
    policy: {retry_limit: 1, retry_backoff: 1s}
  tasks: {dag: leaky-dag.yaml, schedule: {every: 365d, first_run: scheduled}}
`
	return strings.ReplaceAll(text, "DIR", dir)
}

const leakyDAG = `version: 1
name: leaky-dag
defaults: {env: {TOKEN: {file: DIR/secret}}}
tasks:
  - {id: a, command: [sh, -c, 'echo "{\"token\": \"$TOKEN\"}"; echo "task $TOKEN"']}
  - {id: b, needs: a, command: [sh, -c, 'echo "$TOKEN" >&2; exit 4']}
`

// TestASecretIsStoredNowhere greps every answer of commands and of the API, the histories,
// the logs of the processes and the database of the server for the secret.
func TestASecretIsStoredNowhere(t *testing.T) {
	t.Parallel()
	secret, byCommand := "hunter2-"+strings.Repeat("sesame", 2), "rotated-open-sesame"
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte(secret+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rot"), []byte("ebgngrq-bcra-frfnzr"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "leaky-dag.yaml"), []byte(strings.ReplaceAll(leakyDAG, "DIR", dir)), 0o600))
	configuration := filepath.Join(dir, "roundsman.yaml")
	require.NoError(t, os.WriteFile(configuration, []byte(leaky(dir)), 0o600))

	file := testsuite.TempFile(t)
	server := testsuite.StartServer(t, testsuite.WithFile(file))
	h := offline(t).at(server.Address())
	address := freeAddress(t)
	h.background("server", "--log-level", "debug", "--http", address)
	data := t.TempDir()
	h.background("worker", "--id", "node-a", "--data-dir", data, "--log-level", "debug", "--drain-timeout", "0s")
	h.eventually("node-a", "workers", "-s", "online")

	var answers strings.Builder
	keep := func(args ...string) string {
		o := h.run(args...)
		answers.WriteString(o.Stdout + o.Stderr)
		return o.Stdout + o.Stderr
	}
	keep("validate", "-c", configuration, "-o", "yaml")
	keep("plan", "-c", configuration)
	h.run("apply", "-c", configuration).OK()
	keep("plan", "-c", configuration)
	keep("start", "leaky", "--dry-run")
	keep("start", "leaky", "--wait")
	keep("start", "tasks", "--wait")
	assert.Contains(t, keep("logs", "leaky/job-00001"), "*** *** printed-in-clear")
	for _, args := range [][]string{
		{"jobs", "leaky", "-o", "json"},
		{"show", "leaky/job-00001", "-o", "json"},
		{"show", "leaky/job-00001"},
		{"runs", "-o", "json"},
		{"show", "leaky@", "-o", "json"},
		{"show", "tasks@", "-o", "json"},
		{"explain", "leaky"},
		{"show", "jobtype/leaky", "-o", "json"},
		{"show", "jobtype/tasks", "-o", "json"},
		{"audit", "-o", "json"},
		{"status"},
		{"show", "node-a", "-o", "json"},
	} {
		keep(args...)
	}
	run := "runs/" + url.PathEscape(regexp.MustCompile(`group/leaky-[0-9TZ:-]+`).FindString(answers.String()))
	for _, path := range []string{"runs", "job-types", "job-types/leaky", "job-types/tasks", "audit", "ledger", run, run + "/items", run + "/items/job-00001", run + "/items/job-00001/output"} {
		answers.WriteString(fetched(t, "http://"+address+"/api/v1/"+path))
	}
	histories := exported(t, server)
	assert.Contains(t, histories, "printed-in-clear", "histories are searched in clear text")
	database := contentOf(t, filepath.Dir(file))
	assert.Contains(t, database, "printed-in-clear", "the database is searched in clear text")
	places := map[string]string{"answers": answers.String(), "histories": histories, "the database": database, "the worker's files": contentOf(t, data)}
	for place, text := range places {
		for _, word := range []string{secret, byCommand} {
			assert.Zero(t, strings.Count(text, word), "%s has the secret", place)
		}
	}
}

func fetched(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	response, err := (&http.Client{}).Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", address, text)
	return string(text)
}

// exported returns the events of all workflows as they are stored.
func exported(t *testing.T, server *testsuite.Server) string {
	t.Helper()
	c := server.Client(t)
	listed, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000})
	require.NoError(t, err)
	var text strings.Builder
	for _, execution := range listed.GetExecutions() {
		events := c.GetWorkflowHistory(t.Context(), execution.GetExecution().GetWorkflowId(), execution.GetExecution().GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(t, err)
			encoded, err := proto.Marshal(event)
			require.NoError(t, err)
			text.Write(encoded)
		}
	}
	return text.String()
}

// contentOf returns all files below a directory.
func contentOf(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		text.Write(data)
		return err
	}))
	return text.String()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
