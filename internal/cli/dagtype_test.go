package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// writeTree writes files into one folder and returns the path of the first.
func writeTree(t *testing.T, files ...[2]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range files {
		path := filepath.Join(dir, file[0])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(file[1]), 0o600))
	}
	return filepath.Join(dir, files[0][0])
}

const nightlyTypes = `version: 1
job_types:
  nightly:
    dag: dags/nightly.yaml
    schedule: {cron: "0 2 1 1 *"}
    params: {hosts: [db1, db2], mode: full}
    retry_budget: {per_key: {count: 2}}
`

const nightlyDAG = `version: 1
name: rounds
params: {hosts: [none], mode: quick, limit: 3}
tasks:
  - {id: visit, for_each: "{{.Params.hosts}}", command: [sh, -c, 'test "$1" != db-bad', sh, "{{.Item}}"]}
  - {id: close, needs: [visit], dag: close.yaml, params: {mode: "{{.Params.mode}}"}}
`

const closeDAG = `version: 1
name: close
params: {mode: quick}
tasks:
  - {id: report, command: [echo, "mode {{.Params.mode}}"]}
`

// TestJobTypeOfADAG: a job type with a DAG and a sub-DAG runs by its Schedule, with the params of the job type
// or of one run. It has a record, a retry budget and a lane like any job type.
func TestJobTypeOfADAG(t *testing.T) {
	t.Parallel()
	h := startDAGCluster(t)
	file := writeTree(t, [2]string{"roundsman.yaml", nightlyTypes}, [2]string{"dags/nightly.yaml", nightlyDAG}, [2]string{"dags/close.yaml", closeDAG})
	h.run("apply", "-c", file).OK()
	h.run("plan", "-c", file).OK()
	h.run("jobtypes").OK().Says("nightly", "dag dags/nightly.yaml")
	h.run("show", "jobtype/nightly").OK().Says("rounds (dags/nightly.yaml)")

	h.run("start", "nightly", "--wait").OK().Says("nightly: completed in", "1 completed")
	runs := clitest.Decode[struct {
		Runs []starter.Run `json:"runs"`
	}](h.run("runs", "nightly", "-o", "json").OK()).Runs
	require.NotEmpty(t, runs)
	below := runs[len(runs)-1].WorkflowID + "/" + contract.JobID(1)
	h.run("show", below).OK().Says("visit.db1", "visit.db2", "close", "completed")
	h.run("explain", "nightly").OK()
	for _, command := range []string{"explain", "logs"} {
		h.run(command, below+"/visit").Exits(ui.ExitFailed).Complains("name one of its 2, such as visit.db1")
	}
	h.run("doctor").OK()

	h.run("start", "nightly", "--param", `hosts=["db9"]`, "--param", "mode=some", "--wait").OK().Says("nightly: completed in")
	h.run("start", "nightly", "--param", "limits=4").Exits(ui.ExitUsage).Complains(`params.limits: DAG rounds has no such param; did you mean "limit"?`)
	h.run("start", "nightly", "--param", "limit=many").Exits(ui.ExitUsage).Complains("params.limit", "is not a number, which the spec declares")
	h.run("start", "nightly", "--param", `hosts=["db-bad"]`, "--wait").Exits(ui.ExitFailed).Says("nightly: failed in", "DAG rounds failed: 1 of 2 tasks, first visit.db-bad")

	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "dags/close.yaml"), []byte(closeDAG+"  - {id: more, noop: true}\n"), 0o600))
	h.run("plan", "-c", file).Exits(ui.ExitDifference).Says("dag.files.dags/close.yaml", "lines, sha256")
	h.run("show", "jobtype/nightly", "-o", "json").OK().Says(`"name": "rounds"`)
	assert.NotContains(t, h.run("status").OK().Stdout, "NO_WORKER")
	h.waitsInside(file)
}

// waitsInside checks that the job type and the run wait for an approval two DAGs below the run.
func (h *harness) waitsInside(file string) {
	h.t.Helper()
	ask := closeDAG + "  - {id: ask, needs: [report], approval: {prompt: 'Close?'}}\n"
	require.NoError(h.t, os.WriteFile(filepath.Join(filepath.Dir(file), "dags/close.yaml"), []byte(ask), 0o600))
	h.run("apply", "-c", file).OK()
	h.run("start", "nightly").OK()
	h.eventually("AWAITING_APPROVAL(ask)", "explain", "nightly")
	h.run("explain", "nightly").OK().Says("job type nightly: running", "task ask: Close?", "roundsman approve group/nightly-")
	h.run("status").OK().Says("1 running; AWAITING_APPROVAL(ask) of group/nightly-")
	h.answersByName()
}

// answersByName checks that every command accepts the name of the job type, the run, and the path through
// sub-DAGs for a task two DAGs below the run.
func (h *harness) answersByName() {
	h.t.Helper()
	h.run("show", "nightly/close/ask").OK().Says("group/nightly-", "/job-00001/close/ask")
	h.run("explain", "nightly/close/ask").OK().Says("AWAITING_APPROVAL(ask)", "Close?")
	h.run("approve", "nightly/ask").Exits(ui.ExitFailed).Complains(`there is no task "ask"`)
	h.run("approve", "nightly/close/asks").Exits(ui.ExitFailed).Complains(`did you mean "ask"?`)
	h.run("approve", "nightly/close/ask").OK().Says("approved ask: group/nightly-", "/job-00001/close now has")
	h.run("watch", "nightly").OK()

	h.run("start", "nightly").OK()
	h.eventually("AWAITING_APPROVAL(ask)", "explain", "nightly")
	h.run("reject", "nightly/close/ask", "--note", "no").OK().Says("rejected ask: group/nightly-")
	h.eventually("rejected", "show", "nightly/close/ask").Says("tester", "no")
}
