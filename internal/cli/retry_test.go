package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/rerun"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

const dumpType = `version: 1
job_types:
  dump:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    policy: {global_execution_concurrency: 4, per_worker_execution_concurrency: 4, retry_limit: 0}
    detect: {command: [cat, %[1]s/found], format: json}
    execute: {command: [sh, -c, 'echo "$ROUNDSMAN_DEDUPE_KEY {{.Params.path}}" >> %[1]s/ran; test -e %[1]s/repaired || ! grep -qx "$ROUNDSMAN_DEDUPE_KEY" %[1]s/broken']}
`

// dumps are twelve proposals: three fail until a file appears, two wait for a node that is absent.
func dumps(t *testing.T, dir string) (failed, missed []string) {
	var found, broken strings.Builder
	for n := 1; n <= 12; n++ {
		key, node := fmt.Sprintf("db-%02d", n), ""
		switch n {
		case 2, 5, 9:
			key = strings.Replace(key, "-09", ",09", 1)
			failed = append(failed, key)
			fmt.Fprintln(&broken, key)
		case 4, 11:
			missed, node = append(missed, key), `, "node": "node-z"`
		}
		fmt.Fprintf(&found, `{"dedupe_key": %q, "params": {"path": "/srv/%s"}%s}`+"\n", key, key, node)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "found"), []byte(found.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken"), []byte(broken.String()), 0o600))
	return failed, missed
}

func keysOf(list []rerun.Again) (keys []string) {
	for _, one := range list {
		keys = append(keys, one.DedupeKey)
	}
	return keys
}

// ran lists the executions since the last call, sorted.
func ran(t *testing.T, dir string) []string {
	data, err := os.ReadFile(filepath.Join(dir, "ran"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "ran")))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	slices.Sort(lines)
	return lines
}

// TestRetryOfARunOfAJobType: of twelve jobs three failed and two were missed. The preview names the jobs
// that a retry executes, and the retry executes them with their params and nodes, and no other.
func TestRetryOfARunOfAJobType(t *testing.T) {
	t.Parallel()
	h, dir := alone(t), t.TempDir()
	failed, missed := dumps(t, dir)
	h.background("server", "--log-level", "error")
	h.background("worker", "--id", "node-a", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s")
	h.eventually("node-a", "workers", "-s", "online")
	h.run("apply", "-c", h.write(fmt.Sprintf(dumpType, dir))).OK()
	first := clitest.Decode[starter.RunRef](h.run("start", "dump", "-o", "json").OK()).WorkflowID
	h.eventually("; 2 pending, 0 running", "show", first)
	h.run("retry", first, "--failed").Exits(ui.ExitFailed).Complains("the run is open")
	h.run("cancel", first, "-w").OK()
	require.Len(t, ran(t, dir), 10)

	preview := func(args ...string) rerun.Plan {
		return clitest.Decode[rerun.Plan](h.run(append([]string{"retry", first, "--dry-run", "-o", "json"}, args...)...).OK())
	}
	assert.Equal(t, append(slices.Clone(failed), missed...), sorted(keysOf(preview().Again), failed, missed))
	assert.ElementsMatch(t, missed, keysOf(preview("--missed").Again))
	plan := preview("--failed")
	assert.Equal(t, failed, keysOf(plan.Again))
	assert.Equal(t, failed, keysOf(preview("--item", "db-02", "--item", "5", "--item", "db,09").Again))
	assert.Equal(t, 7, plan.Done)
	require.Len(t, plan.Kept, 2)
	assert.Equal(t, contract.KeptNotChosen, plan.Kept[0].Why)
	h.run("retry", first, "--failed", "--dry-run").OK().Says("db-02", "db-04", "it is canceled, which was not chosen", "3 jobs again, 2 not, 7 done")
	assert.NoFileExists(t, filepath.Join(dir, "ran"), "a preview executes nothing")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "repaired"), nil, 0o600))
	started := clitest.Decode[rerun.Started](h.run("retry", first, "--failed", "-o", "json").OK())
	assert.Equal(t, plan.Again, started.Plan.Again)
	h.eventually("completed", "show", started.WorkflowID)
	assert.Equal(t, []string{"db,09 /srv/db,09", "db-02 /srv/db-02", "db-05 /srv/db-05"}, ran(t, dir))
	h.run("show", started.WorkflowID).OK().Says("resumes", first)
	h.eventually(started.WorkflowID, "show", first).Says("retried by")
	h.eventually("jobs.retry", "audit").Says(started.WorkflowID)
	h.run("retry", first, "--failed").Exits(ui.ExitFailed).Complains("nothing to execute again", "a retry did it: "+started.WorkflowID)
	h.run("retry", "dump:db-01").Exits(ui.ExitFailed).Complains("db-01: it was done")

	// The missed ones keep their node: the new run waits for it, and has their keys.
	again := clitest.Decode[rerun.Started](h.run("retry", first, "--missed", "-o", "json").OK())
	h.eventually("; 2 pending", "show", again.WorkflowID)
	claimed := preview()
	assert.Empty(t, claimed.Again)
	h.run("retry", first, "--dry-run").OK().Says("the same work is active in " + again.WorkflowID)
	h.background("worker", "--id", "node-z", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s")
	h.eventually("2 completed", "show", again.WorkflowID).Says("node-z")
	assert.Equal(t, []string{"db-04 /srv/db-04", "db-11 /srv/db-11"}, ran(t, dir))
}

func sorted(keys []string, parts ...[]string) []string {
	all := slices.Concat(parts...)
	slices.SortFunc(keys, func(a, b string) int { return slices.Index(all, a) - slices.Index(all, b) })
	return keys
}
